"""Keep memory in order: reports of use, the timeline, and purges."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import timedelta

from commonplace.kernel.auth import Tenant
from commonplace.kernel.clock import Clock
from commonplace.memory.engine.strength import Reliability, rate_reliability
from commonplace.memory.housekeeping import (
    EntryTimeline,
    PurgeCounts,
    PurgeScope,
    TimelineFilter,
    UseOutcome,
    UseReport,
)
from commonplace.memory.model import Entry, EntryUsage, SecretHandling
from commonplace.memory.retrieval.protocol import EntryIndex
from commonplace.memory.store.protocol import MemoryStore
from commonplace.memory.text import clean_project, clean_text
from commonplace.memory.use_cases.drafting import SecretScreen
from commonplace.memory.use_cases.lookup import EntryLookup

NOTE_CHARACTERS = 500


class Housekeeping:
    """What people and the retention do about entries that are there."""

    def __init__(
        self,
        store: MemoryStore,
        index: EntryIndex,
        lookup: EntryLookup,
        new_id: Callable[[], str],
        clock: Clock,
        secrets: SecretHandling,
    ) -> None:
        self._store = store
        self._index = index
        self._lookup = lookup
        self._new_id = new_id
        self._clock = clock
        self._secrets = secrets

    async def report_use(
        self, tenant: Tenant, reference: str, outcome: UseOutcome, note: str
    ) -> tuple[Entry, EntryUsage, Reliability]:
        """Record that an entry helped, or that it was wrong; its confidence stays as given.

        Returns the entry, its counts and how far it can be relied on now.
        """
        entry = await self._lookup.find(tenant, reference)
        note = SecretScreen(self._secrets).apply(clean_text(note).strip()[:NOTE_CHARACTERS])
        moment = self._clock()
        report = UseReport(self._new_id(), entry.id, outcome, note, moment)
        usage = await self._store.housekeeping.report_use(tenant, report)
        return entry, usage, rate_reliability(entry, usage, moment)

    async def timeline(
        self, tenant: Tenant, wanted: TimelineFilter, limit: int, offset: int = 0
    ) -> EntryTimeline:
        """Return what happened, newest first, and how much of each kind on each day."""
        wanted = replace(wanted, project=clean_project(wanted.project))
        if wanted.entry_id is not None:
            entry = await self._lookup.find(tenant, wanted.entry_id, deleted=True)
            wanted = replace(wanted, entry_id=entry.id)
        return await self._store.housekeeping.timeline(tenant, wanted, limit, offset)

    async def purge(
        self,
        tenant: Tenant,
        references: Sequence[str] = (),
        days: int = 0,
        *,
        history: bool = True,
        dry_run: bool = False,
    ) -> PurgeCounts:
        """Remove the text of deleted entries, and of earlier states, for good.

        With references only of these entries; otherwise what was deleted or replaced more than
        `days` ago. An entry that is not deleted stays, without its earlier states. Vectors are
        removed first: a purge that was interrupted can be repeated.
        """
        scope = await self._scope(tenant, references, days, history)
        store = self._store.housekeeping
        if dry_run:
            return _with_kept(await store.count_purgeable(tenant, scope), scope)
        purged: list[str] = []
        revisions = 0
        while True:
            entries = await store.purgeable(tenant, scope)
            if entries:
                await self._index.erase(tenant, frozenset(entry.id for entry in entries))
            counts = await store.purge(tenant, entries, scope, self._new_id(), self._clock())
            await self._embed_restored(tenant, {e.id for e in entries} - {*counts.entry_ids})
            purged += counts.entry_ids
            revisions += counts.revisions
            if not counts.entry_ids or scope.entry_ids:
                break
        counts = _with_kept(PurgeCounts(tuple(purged), revisions), scope)
        if counts.is_empty:
            return counts
        return replace(counts, is_overwritten=await store.overwrite_freed_space())

    async def _embed_restored(self, tenant: Tenant, ids: Collection[str]) -> None:
        """Embed again what was restored between the removal of its vectors and that of its text."""
        if ids and (entries := await self._store.get_all(tenant, ids)):
            await self._index.embed_whole(tenant, [*entries.values()])

    async def _scope(
        self, tenant: Tenant, references: Sequence[str], days: int, history: bool
    ) -> PurgeScope:
        if not references:
            return PurgeScope(self._clock() - timedelta(days=days), history=history)
        found = [await self._lookup.find(tenant, name, deleted=True) for name in references]
        ids = tuple(dict.fromkeys(entry.id for entry in found))
        return PurgeScope(self._clock(), ids, history)


def _with_kept(counts: PurgeCounts, scope: PurgeScope) -> PurgeCounts:
    """Count the named entries that stay."""
    return replace(counts, kept=max(0, len(scope.entry_ids) - len(counts.entry_ids)))
