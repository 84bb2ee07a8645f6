"""Compute missing vectors, and rebuild what is derived from entries."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from commonplace.kernel.auth import Tenant
from commonplace.memory.engine.passages import context_passages, summary_passages
from commonplace.memory.model import Entry, indexed_fields
from commonplace.memory.retrieval.protocol import EntryIndex
from commonplace.memory.store.protocol import MemoryStore
from commonplace.memory.use_cases.suggestions import Suggestions

BATCH_ENTRIES = 32
LOADING_SECONDS = 60.0  # how long a fill waits for the model
MOST_WAITING = 1_000  # entries; more are found again by a later fill


class VectorBackfill:
    """Embeds what was not embedded when an entry was added.

    That is all of an entry if there was no model, which is looked for once per process and tenant,
    and the later passages of a long one.
    """

    def __init__(self, store: MemoryStore, index: EntryIndex, suggestions: Suggestions) -> None:
        self._store = store
        self._index = index
        self._suggestions = suggestions
        self._complete: set[Tenant] = set()
        self._tasks: dict[Tenant, asyncio.Task[int]] = {}
        # Entries in the order they came; each request is an object of its own.
        self._waiting: dict[tuple[Tenant, str], object] = {}
        self._finishing: asyncio.Task[None] | None = None

    async def fill(self, tenant: Tenant) -> int:
        """Embed entries without vectors and propose suggestions; returns how many it embedded."""
        missing = [
            entry
            for entry in await self._index.find_missing(
                tenant, await self._store.everything(tenant)
            )
            if (tenant, entry.id) not in self._waiting
        ]
        count = 0
        for start in range(0, len(missing), BATCH_ENTRIES):
            batch = missing[start : start + BATCH_ENTRIES]
            embedded = await self._embed_whole(tenant, batch)
            for entry in batch:
                if entry.id in embedded:
                    await self._suggestions.propose_for(tenant, entry)
            count += len(embedded)
            if len(embedded) < len(batch):  # the model went away; the next call starts again
                return count
        self._complete.add(tenant)
        return count

    async def _embed_whole(self, tenant: Tenant, batch: Sequence[Entry]) -> frozenset[str]:
        """Embed all passages of entries; returns the ids of those that have their vectors now.

        An entry that was changed or deleted meanwhile is corrected afterwards.
        """
        embedded = await self._index.embed_whole(tenant, batch)
        current = await self._store.get_all(tenant, [entry.id for entry in batch])
        for entry in batch:
            after = current.get(entry.id)
            if after is None or indexed_fields(after) != indexed_fields(entry):
                await self._index.forget(tenant, [entry])
                if after is not None:
                    self._add_waiting(tenant, entry.id)
        return embedded

    def finish_later(self, tenant: Tenant, entry: Entry) -> None:
        """Embed the later passages of an entry in the background, if it has any."""
        if len(summary_passages(entry)) < 2 and len(context_passages(entry)) < 2:
            return
        if len(self._waiting) >= MOST_WAITING:
            self.restart(tenant)
            return
        self._add_waiting(tenant, entry.id)

    def _add_waiting(self, tenant: Tenant, entry_id: str) -> None:
        self._waiting[tenant, entry_id] = object()
        if self._finishing is None or self._finishing.done():
            self._finishing = asyncio.create_task(self._finish(), name="memory-passages")

    async def _finish(self) -> None:
        """Embed the entries that wait, one after the other; a changed one waits again."""
        while self._waiting:
            (tenant, entry_id), request = next(iter(self._waiting.items()))
            entry = await self._store.get(tenant, entry_id)
            if entry is not None and not await self._embed_whole(tenant, [entry]):
                self.restart(tenant)  # the model went away
            if self._waiting.get((tenant, entry_id)) is request:
                del self._waiting[tenant, entry_id]

    async def settle(self) -> None:
        """Embed the later passages of all entries that wait for it."""
        if self._finishing is not None and not self._finishing.done():
            await asyncio.shield(self._finishing)
        await self._finish()

    def start(self, tenant: Tenant) -> asyncio.Task[int] | None:
        """Fill in the background, once the model is loaded, unless it is done or there is none."""
        if tenant in self._complete or not (self._index.ready() or self._index.loading):
            return None
        task = self._tasks.get(tenant)
        if task is None or task.done():
            task = asyncio.create_task(self._fill_when_ready(tenant), name="memory-vectors")
            self._tasks[tenant] = task
        return task

    async def _fill_when_ready(self, tenant: Tenant) -> int:
        reason = await self._index.prepare(LOADING_SECONDS)
        return 0 if reason else await self.fill(tenant)

    def mark_complete(self, tenant: Tenant) -> None:
        """Do not look for missing vectors of a tenant."""
        self._complete.add(tenant)

    def restart(self, tenant: Tenant) -> None:
        """Look again for missing vectors at the next opportunity."""
        self._complete.discard(tenant)

    async def fill_all(self) -> int:
        """Embed what every tenant lacks; raises EMBEDDINGS_DISABLED or MODEL_NOT_AVAILABLE."""
        self._index.require()
        return sum([await self.fill(tenant) for tenant in await self._store.tenants()])

    async def rebuild(self) -> tuple[int, int]:
        """Index the words of all entries again, and their vectors where a model is ready.

        Returns how many entries and vectors were indexed.
        """
        entries = vectors = 0
        for tenant in await self._store.tenants():
            entries += await self._store.reindex(tenant)
            if self._index.ready():
                await self._index.forget_all(tenant)
                vectors += await self.fill(tenant)
        return entries, vectors
