"""Facade of context packs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from commonplace.context.engine.duplicates import merge_duplicates
from commonplace.context.engine.judging import drop_described, judge, keep_likeliest
from commonplace.context.engine.packing import fill_pack
from commonplace.context.engine.session import leave_out_known, remember
from commonplace.context.engine.task import TaskReading
from commonplace.context.errors import PACK_NOT_FOUND
from commonplace.context.model import (
    ContextCandidate,
    ContextPack,
    ContextQuestion,
    PackSection,
    StoredPack,
    UseWeight,
)
from commonplace.context.sources import ContextSource, SourceAnswer, TaskPreparer
from commonplace.context.store.protocol import PackStore
from commonplace.kernel.auth import AuthContext, Tenant
from commonplace.kernel.clock import Clock, utc_now
from commonplace.kernel.errors import CommonplaceError, Kind
from commonplace.kernel.hidden_characters import reveal

log = logging.getLogger("commonplace.context")
SHOWN_KINDS = frozenset({Kind.INVALID_ARGUMENT, Kind.PERMISSION, Kind.RATE, Kind.LIMIT})


@dataclass(frozen=True, slots=True)
class FeedbackResult:
    """What feedback about a pack changed."""

    counted: tuple[str, ...]
    repeated: tuple[str, ...]  # already counted for this pack
    unknown: tuple[str, ...]  # not in the pack


class ContextService:
    """Asks all sources at once and makes one pack of what they find."""

    def __init__(
        self,
        sources: Mapping[PackSection, ContextSource],
        packs: PackStore,
        preparer: TaskPreparer | None = None,
        clock: Clock = utc_now,
    ) -> None:
        self._sources = sources
        self._packs = packs
        self._preparer = preparer
        self._clock = clock

    async def context(
        self,
        caller: AuthContext,
        question: ContextQuestion,
        *,
        explain: bool = False,
        sections: Sequence[PackSection] = tuple(PackSection),
    ) -> ContextPack:
        """Return what matters for a task, within its budget, from some sections.

        Raises PACK_NOT_FOUND, and what sources say about arguments.
        """
        earlier = await self._find_pack(caller, question.since) if question.since else None
        task = TaskReading(question)
        answers = await self._ask(caller, task, sections)
        found = [candidate for answer in answers.values() for candidate in answer.candidates]
        weights = await self._weights(caller.tenant, found)
        likely = drop_described(judge(found, weights))
        shown = earlier.shown if earlier is not None else {}
        likely, beyond = keep_likeliest(likely, question.budget, len(shown))
        judged = merge_duplicates(map(_revealed, likely))
        parts = (leave_out_known(candidate, shown) for candidate in judged)
        new = [candidate for candidate in parts if candidate is not None]
        with_evidence = {candidate.section for candidate in judged}
        notes = dict.fromkeys(
            [f"{section}: excluded here" for section in PackSection if section not in sections]
        )
        notes |= dict.fromkeys(note for answer in answers.values() for note in answer.notes)
        pack = fill_pack(
            task,
            new,
            [section for section in sections if section not in with_evidence],
            list(notes),
            explain=explain,
            known=len(judged) - len(new),
            beyond=beyond,
        )
        await self._remember(caller, pack, shown)
        return pack

    async def feedback(
        self,
        caller: AuthContext,
        pack_id: str,
        used: Sequence[str],
        useless: Sequence[str] = (),
    ) -> FeedbackResult:
        """Count what was used of a pack and what was useless, each once. Raises PACK_NOT_FOUND."""
        pack = await self._find_pack(caller, pack_id)
        told = dict.fromkeys((*used, *useless))
        known = [ref for ref in told if ref in pack.sections]
        keys = {ref: _use_key(ref, pack.sections[ref]) for ref in known}
        counted = await self._packs.judge(
            caller.tenant,
            pack_id,
            {ref: keys[ref] for ref in known if ref in used},
            {ref: keys[ref] for ref in known if ref not in used},
        )
        if counted is None:
            raise _no_pack(pack_id)
        for ref in used:
            if ref in counted:
                await self._sources[PackSection(pack.sections[ref])].note_use(caller, ref)
        return FeedbackResult(
            tuple(ref for ref in known if ref in counted),
            tuple(ref for ref in known if ref not in counted),
            tuple(ref for ref in told if ref not in pack.sections),
        )

    async def uses(self, tenant: Tenant) -> Mapping[str, UseWeight]:
        """Return how often a tenant called items useful or useless, by their key."""
        return await self._packs.uses(tenant)

    async def delete_tenant(self, tenant: Tenant) -> None:
        """Forget the packs of a tenant and what it said about them."""
        await self._packs.delete_tenant(tenant)

    async def move_tenant(self, old: Tenant, new: Tenant) -> None:
        """Give the packs of a tenant to another name."""
        await self._packs.move_tenant(old, new)

    def close(self) -> None:
        """Close what context was opened with."""
        self._packs.close()

    async def _ask(
        self, caller: AuthContext, task: TaskReading, sections: Sequence[PackSection]
    ) -> dict[PackSection, SourceAnswer]:
        asked = [section for section in self._sources if section in sections]
        if self._preparer is not None and task.text:
            await self._preparer.prepare(task.text)
        answers = await asyncio.gather(*(self._find(section, caller, task) for section in asked))
        return dict(zip(asked, answers, strict=True))

    async def _find(
        self, section: PackSection, caller: AuthContext, task: TaskReading
    ) -> SourceAnswer:
        """Ask one source; a domain that cannot answer now leaves a note, not an error."""
        try:
            return await self._sources[section].find(caller, task)
        except CommonplaceError as error:
            if error.code.kind in SHOWN_KINDS:
                raise
            return SourceAnswer(notes=(f"{section}: {error.message}",))

    async def _weights(
        self, tenant: Tenant, candidates: Sequence[ContextCandidate]
    ) -> dict[str, UseWeight]:
        """Return what was said about candidates, which is stored by the keys that were shown."""
        names = {candidate.use_key: reveal(candidate.use_key) for candidate in candidates}
        weights = await self._packs.weights(tenant, set(names.values()))
        return {key: weights[name] for key, name in names.items() if name in weights}

    async def _find_pack(self, caller: AuthContext, pack_id: str) -> StoredPack:
        pack = await self._packs.get(caller.tenant, pack_id)
        if pack is None:
            raise _no_pack(pack_id)
        return pack

    async def _remember(
        self, caller: AuthContext, pack: ContextPack, shown: Mapping[str, str]
    ) -> None:
        """Keep what was shown. A full disk costs `since` and feedback, not the answer."""
        sections = {item.ref: item.candidate.section.value for item in pack.items}
        stored = StoredPack(
            pack.id, remember(shown, pack.items), sections, frozenset(), self._clock()
        )
        try:
            await self._packs.put(caller.tenant, stored)
        except CommonplaceError as error:
            log.warning("a context pack could not be remembered: %s", error.message)


def _revealed(candidate: ContextCandidate) -> ContextCandidate:
    """Show hidden characters of what others wrote."""
    written = (candidate.ref, candidate.title, candidate.text, candidate.why, *candidate.marks)
    joined = "\n".join(written)
    if reveal(joined) == joined:  # nearly always: a copy would cost more
        return candidate
    ref, title, text, why, *marks = map(reveal, written)
    return replace(candidate, ref=ref, title=title, text=text, why=why, marks=tuple(marks))


def _use_key(ref: str, section: str) -> str:
    return ref.partition("#")[0] if section == PackSection.FILES else ref


def _no_pack(pack_id: str) -> CommonplaceError:
    return CommonplaceError(
        PACK_NOT_FOUND,
        f"There is no context pack {pack_id[:64]!r}.",
        hint="Packs are kept for a week; ask context without since.",
        details={"pack_id": pack_id[:64]},
    )
