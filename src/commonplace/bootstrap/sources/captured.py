"""Where accepted proposals of captures go: memory, and drafts of the instruction catalogue."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from commonplace.context.capture.books import KnownText
from commonplace.context.capture.model import (
    AcceptedProposal,
    LessonType,
    ProposalKind,
    ProposalText,
)
from commonplace.context.errors import PROPOSAL_REFUSED
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import JsonObject
from commonplace.kernel.ref import Ref, RefKind

if TYPE_CHECKING:
    from commonplace.bootstrap.services import Services
    from commonplace.context.capture.books import ProposalBook

COMPARED = 8  # entries that a proposal is compared with
CATEGORY = "captured"
SLUG_CHARACTERS = 48
CONFIDENCE = 3


def capture_books(services: Services) -> dict[ProposalKind, ProposalBook]:
    """Return where proposals of each kind go; a domain is opened when it is first needed."""
    return {
        ProposalKind.LESSON: CapturedLessons(services),
        ProposalKind.RULE: CapturedRules(services),
    }


class CapturedLessons:
    """Entries of the caller's memory."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def find_similar(self, caller: AuthContext, text: ProposalText) -> Sequence[KnownText]:
        from commonplace.memory.model import EntryFilter, EntryStatus

        answer = await self._services.memory.search(
            caller.tenant,
            f"{text.title} {text.content}"[:1_000],
            "",
            EntryFilter(status=EntryStatus.ACTIVE),
            COMPARED,
        )
        return [
            KnownText(_memory_ref(hit.entry.id), hit.entry.title, hit.entry.content)
            for hit in answer.hits
        ]

    async def add(self, caller: AuthContext, id_: str, text: ProposalText) -> AcceptedProposal:
        from commonplace.memory.model import EntryType, MemoryType

        memory = self._services.memory
        lasts = text.type in (LessonType.DECISION, LessonType.CONFIG, LessonType.REFERENCE)
        draft = memory.draft(
            EntryType(text.type.value),
            text.title,
            text.content,
            text.tags,
            "",
            text.project or None,
            CONFIDENCE,
            MemoryType.SEMANTIC if lasts else MemoryType.EPISODIC,
        )
        added = await memory.add(caller.tenant, draft)
        notes = [] if added.created else ["memory has exactly this text already"]
        if added.masked:
            notes.append(f"secrets were masked: {', '.join(added.masked)}")
        return AcceptedProposal(
            _memory_ref(added.entry.id),
            added.created,
            tuple(_memory_ref(near.entry.id) for near in added.similar),
            tuple(
                _memory_ref(other)
                for found in added.contradictions
                for other in found.entry_ids
                if other != added.entry.id
            ),
            tuple(notes),
        )


class CapturedRules:
    """Drafts of the instruction catalogue; a person approves them there."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def find_similar(self, caller: AuthContext, text: ProposalText) -> Sequence[KnownText]:
        instructions = self._services.instructions
        hits = await instructions.weigh(caller, text.content[:1_000])
        known = []
        for hit in hits[:COMPARED]:
            found = instructions.get(caller, hit.key)
            if found is not None:
                document = found.item
                known.append(
                    KnownText(
                        str(Ref(RefKind.INSTRUCTION, hit.key)),
                        str(document.get("title", "")),
                        str(document.get("body", "")),
                    )
                )
        return known

    async def add(self, caller: AuthContext, id_: str, text: ProposalText) -> AcceptedProposal:
        from commonplace.instructions.results.writing import EntryRefusal

        entry: JsonObject = {
            "id": f"{_slug(text.title)}-{id_[:6]}",
            "title": text.title,
            "body": text.content,
            "priority": 50,
            "audience": "all",
            "requirement": "recommended",
            "categories": [CATEGORY, *(tag for tag in map(_slug, text.tags) if tag != CATEGORY)][
                :8
            ],
            "status": "draft",
            "rationale": "Proposed by a capture of a session, accepted by a person.",
        }
        written = await self._services.instructions.add(caller, entry, lax=True)
        if isinstance(written, EntryRefusal):
            raise CommonplaceError(
                PROPOSAL_REFUSED,
                f"The catalogue refused the rule: {written.problem.error}.",
                hint=f"{written.problem.hint} Edit the proposal and accept it again.",
            )
        notes = [*written.warnings, "it is a draft until a person approves it"]
        ref = str(Ref(RefKind.INSTRUCTION, written.entry.id))
        return AcceptedProposal(ref, written.created, notes=tuple(notes))


def _memory_ref(id_: str) -> str:
    return str(Ref(RefKind.MEMORY, id_))


def _slug(title: str) -> str:
    """Return a title as an id: letters of the alphabet, digits and hyphens."""
    words = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    cut = words[:SLUG_CHARACTERS]
    return (cut[: cut.rfind("-")] if len(words) > SLUG_CHARACTERS and "-" in cut else cut) or "rule"
