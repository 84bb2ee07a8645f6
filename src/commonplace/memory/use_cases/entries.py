"""Add, correct, delete and restore entries."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from commonplace.kernel.auth import Tenant
from commonplace.kernel.clock import Clock
from commonplace.memory.engine.suggest import Neighbour
from commonplace.memory.housekeeping import Merge
from commonplace.memory.model import (
    Draft,
    Entry,
    EntryChanges,
    EntryStatus,
    changed_fields,
    indexed_fields,
    merge_draft,
)
from commonplace.memory.policy import MemoryPolicy
from commonplace.memory.results import AddResult
from commonplace.memory.retrieval.protocol import EntryIndex
from commonplace.memory.store.protocol import MemoryStore
from commonplace.memory.ulid import Ulids
from commonplace.memory.use_cases.drafting import make_draft
from commonplace.memory.use_cases.lookup import EntryLookup
from commonplace.memory.use_cases.suggestions import Suggestions
from commonplace.memory.use_cases.vectors import VectorBackfill

SIMILAR_SHOWN = 5
SIMILAR_SHARE = 2 / 3  # of the link threshold: an entry nearer than this is named in the answer


class EntryWriter:
    """Writes entries, keeps their vectors up to date and proposes suggestions about them."""

    def __init__(
        self,
        store: MemoryStore,
        index: EntryIndex,
        lookup: EntryLookup,
        suggestions: Suggestions,
        vectors: VectorBackfill,
        policy: MemoryPolicy,
        ulids: Ulids,
        clock: Clock,
    ) -> None:
        self._store = store
        self._index = index
        self._lookup = lookup
        self._suggestions = suggestions
        self._vectors = vectors
        self._policy = policy
        self._ulids = ulids
        self._clock = clock

    async def add(self, tenant: Tenant, draft: Draft, stated: Collection[str]) -> AddResult:
        """Save a draft, or merge it into the active entry that has the same text."""
        moment = self._clock()
        entry = draft.entry(self._ulids.next(moment), moment)
        same = await self._store.add(tenant, entry)
        if same.active is not None:
            existing = await self._store.get(tenant, same.active) or entry
            return await self._merge(tenant, existing, draft, stated)
        embedded = bool(await self._index.embed(tenant, [entry]))
        neighbours = await self._suggestions.neighbours(tenant, entry)
        suggestions, contradictions = await self._suggestions.propose(tenant, entry, neighbours)
        if embedded:
            self._vectors.finish_later(tenant, entry)
        retired = await self._store.get(tenant, same.obsolete) if same.obsolete else None
        return AddResult(
            entry,
            created=True,
            embedded=embedded,
            similar=self._similar(neighbours),
            suggestions=suggestions,
            contradictions=contradictions,
            context_truncated=draft.context_truncated,
            masked=draft.masked,
            retired=retired,
            retired_for=await self._lookup.successor(tenant, retired) if retired else None,
        )

    async def _merge(
        self, tenant: Tenant, existing: Entry, draft: Draft, stated: Collection[str]
    ) -> AddResult:
        merged = merge_draft(existing, draft, stated)
        updated = changed_fields(existing, merged)
        if updated:
            merged = replace(merged, updated_at=self._clock())
            await self._change(tenant, existing, merged, "add again")
        embedded = (await self._index.coverage(tenant, merged)).summary
        return AddResult(
            merged,
            created=False,
            embedded=embedded,
            contradictions=await self._store.pending_contradictions(tenant, [merged.id]),
            context_truncated=draft.context_truncated,
            masked=draft.masked,
            updated=updated,
        )

    def _similar(self, neighbours: list[Neighbour]) -> tuple[Neighbour, ...]:
        thresholds = self._policy.thresholds
        return tuple(
            neighbour
            for neighbour in neighbours[:SIMILAR_SHOWN]
            if neighbour.score >= SIMILAR_SHARE * thresholds.link_at(neighbour.semantic)
        )

    async def update(
        self, tenant: Tenant, entry: Entry, changes: EntryChanges
    ) -> tuple[Entry, tuple[str, ...]]:
        """Correct an entry; returns it and the names of the fields that changed.

        The previous state goes to its history. If nothing changed, nothing is written.
        """
        given = changes.given()
        changed = self._apply_changes(entry, changes)
        names = tuple(name for name in given if getattr(changed, name) != getattr(entry, name))
        if changed == entry:
            return entry, names
        changed = replace(changed, updated_at=self._clock())
        await self._change(tenant, entry, changed, "update")
        return changed, names

    def _apply_changes(self, entry: Entry, changes: EntryChanges) -> Entry:
        draft = make_draft(
            entry.type if changes.type is None else changes.type,
            entry.title if changes.title is None else changes.title,
            entry.content if changes.content is None else changes.content,
            entry.tags if changes.tags is None else changes.tags,
            entry.context,
            entry.project if changes.project is None else changes.project,
            entry.confidence if changes.confidence is None else changes.confidence,
            entry.memory_type if changes.memory_type is None else changes.memory_type,
            entry.anchors if changes.anchors is None else changes.anchors,
            secrets=self._policy.secrets,
        )
        status = changes.status or entry.status
        reactivated = status is EntryStatus.ACTIVE and entry.status is EntryStatus.OBSOLETE
        return replace(
            draft.entry(entry.id, entry.created_at),
            updated_at=entry.updated_at,
            status=status,
            superseded_by=None if reactivated else entry.superseded_by,
        )

    async def _change(self, tenant: Tenant, before: Entry, after: Entry, action: str) -> None:
        """Write a changed entry; embed a changed text, and review what depends on the change."""
        await self._store.replace(tenant, after, action)
        text_changed = indexed_fields(before) != indexed_fields(after)
        if text_changed:
            await self._index.forget(tenant, [before])
            await self._embed(tenant, after)
        if text_changed or before.memory_type is not after.memory_type:
            await self._suggestions.review(tenant, after)
        elif before.status is not after.status is EntryStatus.ACTIVE:
            await self._suggestions.review(tenant, after, withdraw=False)

    async def merge(self, tenant: Tenant, suggestion_id: str) -> Merge | None:
        """Accept a duplicate and merge its entries; returns None if it is already decided."""
        moment = self._clock()
        merge = await self._store.housekeeping.merge(
            tenant, suggestion_id, lambda: self._ulids.next(moment), moment
        )
        if merge is not None:
            if indexed_fields(merge.before) != indexed_fields(merge.kept):
                await self._index.forget(tenant, [merge.before])
                await self._embed(tenant, merge.kept)
            await self._suggestions.review(tenant, merge.kept)
        return merge

    async def delete(self, tenant: Tenant, entry: Entry) -> Entry:
        """Hide an entry from searches, lists and links until it is restored."""
        moment = self._clock()
        deleted = replace(entry, deleted_at=moment, updated_at=moment)
        await self._store.replace(tenant, deleted, "delete")
        await self._index.forget(tenant, [entry])
        return entry

    async def restore(self, tenant: Tenant, entry: Entry) -> Entry:
        """Bring a deleted entry back."""
        if entry.deleted_at is None:
            return entry
        restored = replace(entry, deleted_at=None, updated_at=self._clock())
        await self._store.replace(tenant, restored, "restore")
        await self._embed(tenant, restored)
        await self._suggestions.review(tenant, restored, withdraw=False)
        return restored

    async def _embed(self, tenant: Tenant, entry: Entry) -> None:
        """Embed the beginnings of an entry now and the rest of a long one in the background."""
        if await self._index.embed(tenant, [entry]):
            self._vectors.finish_later(tenant, entry)
