"""Compute missing vectors, and rebuild what is derived from entries."""

from __future__ import annotations

import asyncio

from commonplace.kernel.auth import Tenant
from commonplace.memory.retrieval.protocol import EntryIndex
from commonplace.memory.store.protocol import MemoryStore
from commonplace.memory.use_cases.suggestions import Suggestions

BATCH_ENTRIES = 32


class VectorBackfill:
    """Embeds entries that were added without a model, once per process and tenant."""

    def __init__(self, store: MemoryStore, index: EntryIndex, suggestions: Suggestions) -> None:
        self._store = store
        self._index = index
        self._suggestions = suggestions
        self._complete: set[Tenant] = set()
        self._tasks: dict[Tenant, asyncio.Task[int]] = {}

    async def fill(self, tenant: Tenant) -> int:
        """Embed entries without vectors and propose suggestions; returns how many it embedded."""
        missing = await self._index.find_missing(tenant, await self._store.everything(tenant))
        count = 0
        for start in range(0, len(missing), BATCH_ENTRIES):
            batch = missing[start : start + BATCH_ENTRIES]
            embedded = await self._index.embed(tenant, batch)
            for entry in batch:
                if entry.id in embedded:
                    await self._suggestions.propose_for(tenant, entry)
            count += len(embedded)
            if len(embedded) < len(batch):  # the model went away; the next call starts again
                return count
        self._complete.add(tenant)
        return count

    def start(self, tenant: Tenant) -> asyncio.Task[int] | None:
        """Fill in the background, unless it is done or no model is ready."""
        if tenant in self._complete or not self._index.ready():
            return None
        task = self._tasks.get(tenant)
        if task is None or task.done():
            task = asyncio.create_task(self.fill(tenant), name="memory-vectors")
            self._tasks[tenant] = task
        return task

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
