"""Care of the whole catalogue: reload, groom, repair, enrich."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import orjson

from commonplace.instructions.engine.groom import GroomMode, GroomPlan, plan
from commonplace.instructions.engine.normalise import NotAnInstruction, completed, parse_time
from commonplace.instructions.model import UNOWNED, Actor, Instruction, Known, stored_form
from commonplace.instructions.service import Service
from commonplace.instructions.store.folder import Change
from commonplace.instructions.usecases.comparison import diff
from commonplace.instructions.usecases.writing import TOGETHER, Writing, expect
from commonplace.kernel.errors import CommonplaceError

GOVERNED = (
    "sourceHash",
    "createdAt",
    "updatedAt",
    "priorityTier",
    "semanticSummary",
    "owner",
    "version",
    "status",
    "changeLog",
    "nextReviewDue",
)


class Maintenance:
    """Use cases over every instruction at once."""

    def __init__(self, service: Service, writing: Writing) -> None:
        self._service = service
        self._writing = writing
        self._shelf = service.shelf

    def reload(self, expected_hash: str | None = None) -> dict[str, Any]:
        with self._shelf.lock:
            expect(expected_hash, None, self._shelf.fresh().hash)
        self._shelf.reload()
        with self._shelf.lock:
            catalogue = self._shelf.fresh()
            return {"reloaded": True, "hash": catalogue.hash, "count": len(catalogue)}

    def groom(self, mode: GroomMode, expected_hash: str | None, actor: Actor) -> dict[str, Any]:
        begun = time.perf_counter()
        if mode.dry_run:
            entries, previous = self._shelf.snapshot()
            expect(expected_hash, None, previous)
            groomed = self._plan(entries, mode)
            gone = set(groomed.removals)
            pruned = sum(
                1
                for id_, _ in self._service.usage.all()
                if id_ in gone or self._shelf.catalogue.get(id_) is None
            )
            return self._groomed(
                previous,
                previous,
                groomed,
                mode,
                0,
                pruned,
                [*_would(groomed), *groomed.notes()],
                begun,
            )
        with self._shelf.writing() as catalogue:
            self._shelf.compare()
            entries, previous = self._shelf.snapshot()
            expect(expected_hash, None, previous)
            groomed = self._plan(entries, mode)
            notes = groomed.notes()
            rewritten = self._commit_all(groomed.rewrites, "groom", actor, notes)
            notes += [
                f"delete-failed:{id_}"
                for id_ in self._writing.take_away(groomed.removals, "groom", actor)
            ]
            current = catalogue.hash
        unused = [
            id_ for id_, _ in self._service.usage.all() if self._shelf.catalogue.get(id_) is None
        ]
        pruned = 0
        with suppress(OSError):
            pruned = self._service.usage.prune(unused)
        return self._groomed(previous, current, groomed, mode, len(rewritten), pruned, notes, begun)

    def _plan(self, entries: Sequence[Instruction], mode: GroomMode) -> GroomPlan:
        return plan(entries, {entry.id: self._stored(entry.id) for entry in entries}, mode)

    def _stored(self, id_: str) -> Mapping[str, Any]:
        content = self._shelf.directory.read_bytes(id_)
        with suppress(orjson.JSONDecodeError):
            raw = orjson.loads((content or b"{}").removeprefix(b"\xef\xbb\xbf"))
            return raw if isinstance(raw, dict) else {}
        return {}

    @staticmethod
    def _groomed(
        previous: str,
        current: str,
        groomed: GroomPlan,
        mode: GroomMode,
        rewritten: int,
        pruned: int,
        notes: list[str],
        begun: float,
    ) -> dict[str, Any]:
        return {
            "previousHash": previous,
            "hash": current,
            "scanned": groomed.scanned,
            "repairedHashes": groomed.repaired_hashes,
            "normalizedCategories": groomed.normalized_categories,
            "deprecatedRemoved": groomed.deprecated_removed,
            "duplicatesMerged": groomed.duplicates_merged,
            "usagePruned": pruned,
            "filesRewritten": rewritten,
            "purgedScopes": groomed.purged_scopes,
            "dryRun": mode.dry_run,
            "notes": notes,
            "performanceMs": round((time.perf_counter() - begun) * 1000, 3),
        }

    def _commit_all(
        self, documents: Mapping[str, dict[str, Any]], action: str, actor: Actor, notes: list[str]
    ) -> list[str]:
        """Write many documents in chunks; a document that cannot be written is noted and the
        others go on.
        """
        now = self._service.now()
        done: list[str] = []
        changes: list[Change] = []
        for id_, document in documents.items():
            try:
                changes.append(self._as_written(id_, {**document, "updatedAt": now}, action))
            except (NotAnInstruction, CommonplaceError):
                notes.append(f"write-failed:{id_}")
        for start in range(0, len(changes), TOGETHER):
            chunk = changes[start : start + TOGETHER]
            failures = self._writing.commit(chunk, actor)
            done += [change.id for change in chunk if change.id not in failures]
            notes += [f"write-failed:{id_}" for id_ in failures]
        return done

    def _as_written(self, id_: str, document: Mapping[str, Any], action: str) -> Change:
        """Return a change that keeps whatever else the file says, also what could not be read."""
        instruction, content = self._shelf.directory.parse_as_written(id_, document)
        return Change(id_, instruction, content, action, as_written=True)

    def repair(
        self,
        client_hash: str | None,
        known: Sequence[Known] | None,
        expected_hash: str | None,
        actor: Actor,
    ) -> dict[str, Any]:
        """With a client's state: the difference, like `diff`.

        Without: hashes in the files that do not fit their bodies are mended.
        """
        if client_hash is not None or known is not None:
            return diff(self._service, client_hash, known)
        self._shelf.ensure_loaded()
        self._shelf.compare()
        with self._shelf.writing() as catalogue:
            entries, current = self._shelf.snapshot()
            expect(expected_hash, None, current)
            differing = [entry for entry in entries if entry.stored_hash != entry.source_hash]
            wrong = {
                entry.id: {**self._stored(entry.id), "sourceHash": entry.source_hash}
                for entry in differing
            }
            notes: list[str] = []
            updated = self._commit_all(wrong, "repair", actor, notes)
            answer: dict[str, Any] = {
                "repaired": len(updated),
                "updated": updated,
                "hash": catalogue.hash,
            }
        if notes:
            answer["notes"] = notes
        return answer

    def enrich(self, expected_hash: str | None, actor: Actor) -> dict[str, Any]:
        """Write governance fields into files that lack them; an owner rule replaces `unowned`."""
        with self._shelf.writing() as catalogue:
            self._shelf.compare()
            entries, current = self._shelf.snapshot()
            expect(expected_hash, None, current)
            documents: dict[str, dict[str, Any]] = {}
            for entry in entries:
                document = self._enriched(entry)
                if document is not None:
                    documents[entry.id] = document
            notes: list[str] = []
            updated = self._commit_all(documents, "enrich", actor, notes)
            answer: dict[str, Any] = {
                "enriched": len(updated),
                "updated": updated,
                "rewritten": len(updated),
                "skipped": [entry.id for entry in entries if entry.id not in documents],
                "hash": catalogue.hash,
            }
        if notes:
            answer["notes"] = notes
        return answer

    def _enriched(self, entry: Instruction) -> dict[str, Any] | None:
        stored = self._stored(entry.id)
        lacking = any(
            stored.get(name) in (None, "", []) for name in GOVERNED if name in entry.document
        )
        owner = (
            self._service.rules.owner_of(entry.id) if entry.document["owner"] == UNOWNED else None
        )
        if (
            not lacking
            and owner is None
            and all(parse_time(stored.get(name)) is not None for name in ("createdAt", "updatedAt"))
        ):
            return None
        dated = {
            **stored,
            "createdAt": entry.document["createdAt"],
            "updatedAt": entry.document["updatedAt"],
        }
        whole = stored_form(completed(dated, entry.id, 0.0, self._service.rules)[0])
        unreadable = set(entry.salvaged)
        document = {
            **{name: value for name, value in whole.items() if name not in unreadable},
            **_given(stored),
        }
        document["sourceHash"] = stored.get("sourceHash") or entry.source_hash
        if owner is not None:
            document["owner"] = owner
        return document


def _given(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a file that say something."""
    return {name: value for name, value in stored.items() if value not in (None, "", [])}


def _would(groomed: GroomPlan) -> list[str]:
    notes = []
    if groomed.rewrites:
        notes.append(f"would-rewrite:{len(groomed.rewrites)}")
    if groomed.removals:
        notes.append(f"would-remove:{len(groomed.removals)}")
    if groomed.purged_scopes:
        notes.append(f"would-purge:{groomed.purged_scopes}")
    return notes
