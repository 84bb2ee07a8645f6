"""Which lessons no longer hold: deleted, superseded, contradicted, rewritten, other code."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from commonplace.kernel.auth import Tenant
from commonplace.memory.model import Entry, EntryStatus, RelationType
from commonplace.memory.store.protocol import MemoryStore
from commonplace.memory.use_cases.anchoring import AnchorReview


@dataclass(frozen=True, slots=True)
class LessonDoubt:
    """Why a lesson no longer holds, and since when."""

    reason: str
    since: datetime


class LessonCheck(Protocol):
    """One more way in which lessons go stale, such as code that changed."""

    async def find_doubts(
        self, tenant: Tenant, entries: Sequence[Entry], now: datetime
    ) -> Mapping[str, LessonDoubt]:
        """Return the entries that no longer hold, by id."""
        ...


class AnchorCheck:
    """Doubts lessons whose code changed or is gone; when it did is not known."""

    def __init__(self, anchors: AnchorReview) -> None:
        self._anchors = anchors

    async def find_doubts(
        self, tenant: Tenant, entries: Sequence[Entry], now: datetime
    ) -> Mapping[str, LessonDoubt]:
        compared = await self._anchors.compare(tenant, entries, fresh=True)
        return {
            id_: LessonDoubt("code changed", now)
            for id_, verdicts in compared.items()
            if any(verdict.is_stale for verdict in verdicts)
        }


class StaleLessons:
    """Judges lessons by what memory knows of them, and by further checks."""

    def __init__(self, store: MemoryStore, checks: Sequence[LessonCheck] = ()) -> None:
        self._store = store
        self._checks = checks

    async def find_stale(
        self, tenant: Tenant, lessons: Mapping[str, str], now: datetime
    ) -> Mapping[str, LessonDoubt]:
        """Return the lessons that no longer hold, by id.

        `lessons` has the digest of each text when it was used, as hex; an empty one is not
        compared. A lesson that is not found at all was purged.
        """
        present = await self._store.get_all(tenant, lessons)
        doubts = await self._find_deleted(tenant, lessons.keys() - present.keys(), now)
        for check in self._checks:
            doubts |= await check.find_doubts(tenant, tuple(present.values()), now)
        for id_, digest in lessons.items():
            entry = present.get(id_)
            if entry is not None and digest and entry.digest.hex() != digest:
                doubts[id_] = LessonDoubt("changed", entry.updated_at)
        doubts |= await self._find_contradicted(tenant, present)
        for entry in present.values():
            if entry.superseded_by is not None or entry.status is EntryStatus.OBSOLETE:
                reason = "superseded" if entry.superseded_by is not None else "obsolete"
                doubts[entry.id] = LessonDoubt(reason, entry.updated_at)
        return doubts

    async def _find_deleted(
        self, tenant: Tenant, ids: Collection[str], now: datetime
    ) -> dict[str, LessonDoubt]:
        """Return lessons that are gone; a purged one since the last purge, which kept no times."""
        purged_at = await self._store.housekeeping.last_purge(tenant) if ids else None
        doubts = {}
        for id_ in ids:
            entry = await self._store.get(tenant, id_, deleted=True)
            since = purged_at if entry is None else entry.deleted_at
            doubts[id_] = LessonDoubt("deleted", since or now)
        return doubts

    async def _find_contradicted(
        self, tenant: Tenant, present: Mapping[str, Entry]
    ) -> Mapping[str, LessonDoubt]:
        moments: dict[str, datetime] = {}
        for suggestion in await self._store.pending_contradictions(tenant, present):
            for id_ in suggestion.entry_ids:
                moments[id_] = suggestion.created_at
        links = [
            link
            for link in await self._store.links_among(tenant, present)
            if link.relation is RelationType.CONTRADICTS
        ]
        ends = await self._store.get_all(tenant, {end for link in links for end in link.ends})
        for link in links:
            if _is_open([ends[id_] for id_ in link.ends if id_ in ends]):
                moments |= dict.fromkeys(link.ends, link.created_at)
        return {
            id_: LessonDoubt("contradicted", moment)
            for id_, moment in moments.items()
            if id_ in present
        }


def _is_open(ends: Sequence[Entry]) -> bool:
    """Say whether both ends of a contradiction are there and hold."""
    return len(ends) == 2 and all(entry.status is EntryStatus.ACTIVE for entry in ends)
