"""The vectors of entries: one of what an entry says, one of the conversation it came from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from commonplace.kernel.auth import Tenant
from commonplace.kernel.errors import CommonplaceError
from commonplace.memory.engine.documents import COLLECTION, admits, document_key, key_prefix
from commonplace.memory.model import Entry, EntryFilter
from commonplace.memory.retrieval.embedder import CachedEmbedder
from commonplace.memory.retrieval.protocol import Vector
from commonplace.search.model import Neighbours, Partition, Passage
from commonplace.search.semantic.embed import EmbedderUnavailableError
from commonplace.search.semantic.vector import StaleVectorsError
from commonplace.search.semantic.vector_file import VectorFileError

WIDEN = 8  # times as many vectors are read while a filter leaves too few
NO_KEY = "\x1e"  # a prefix that no key has: vectors are added and none removed
# Vectors are derived data: a search does without them until they are rebuilt.
_UNREADABLE = (StaleVectorsError, VectorFileError, CommonplaceError, OSError)


_Search = Callable[[Partition, "Vector", int, str, Sequence[str]], Neighbours]


class VectorStore(Protocol):
    """Vectors in files beside SQLite's database, or in PostgreSQL. Its methods block."""

    def search(
        self,
        partition: Partition,
        query: Vector,
        limit: int,
        prefix: str = "",
        also: Iterable[str] = (),
    ) -> Neighbours:
        """Return the nearest below a prefix, and the cosines of the keys in `also`."""
        ...

    def replaced_identity(self, partition: Partition) -> str | None:
        """Return the identity of another model whose vectors were not all replaced yet."""
        ...

    def search_replaced(
        self,
        partition: Partition,
        query: Vector,
        limit: int,
        prefix: str = "",
        also: Iterable[str] = (),
    ) -> Neighbours:
        """Search the vectors of that model."""
        ...

    def synchronise_now(
        self, partition: Partition, prefix: str, passages: Sequence[Passage]
    ) -> int:
        """Replace the vectors below a prefix by those of the passages; embed only new texts."""
        ...

    def clear(self, partition: Partition) -> None: ...

    def close(self) -> None: ...


class EntryVectors:
    """The vectors of all tenants. Its methods block."""

    def __init__(self, store: VectorStore, embedder: CachedEmbedder) -> None:
        self.store = store
        self._embedder = embedder

    def replaced_identity(self, tenant: Tenant) -> str | None:
        """Return the identity of another model that made vectors of a tenant, if there are any."""
        try:
            return self.store.replaced_identity(summaries(tenant))
        except _UNREADABLE:
            return None

    def near_query(
        self,
        tenant: Tenant,
        query: Vector,
        wanted: EntryFilter,
        limit: int,
        also: Sequence[str],
        *,
        replaced: bool = False,
    ) -> Neighbours:
        """Return the entries nearest to a query, and those in `also`.

        An entry counts by its summary, raised where the conversation it came from is nearer. With
        `replaced`, the query is of another model and so are the vectors. Raises
        EmbedderUnavailableError if the vectors cannot be read.
        """
        search = self.store.search_replaced if replaced else self.store.search
        try:
            by_summary = self._nearest(search, summaries(tenant), query, wanted, limit, also)
            by_context = self._nearest(
                search, contexts(tenant), query, wanted, limit, [*also, *by_summary.cosines]
            )
            missing = [key for key in by_context.cosines if key not in by_summary.cosines]
            summary = dict(by_summary.cosines)
            if missing:
                summary |= search(summaries(tenant), query, 0, "", missing).cosines
        except _UNREADABLE as error:
            raise EmbedderUnavailableError("the vectors of memory cannot be read") from error
        cosines = {
            key: max(cosine, (cosine + by_context.cosines.get(key, cosine)) / 2)
            for key, cosine in summary.items()
        }
        return Neighbours(cosines, by_summary.rows, by_summary.exact)

    def _nearest(
        self,
        search: _Search,
        field: Partition,
        query: Vector,
        wanted: EntryFilter,
        limit: int,
        also: Sequence[str],
    ) -> Neighbours:
        """Return the nearest that a filter admits.

        Keys begin with the project, so a type without a project is filtered after the search:
        more are read until enough remain or there are no more.
        """
        prefix = key_prefix(wanted)
        if wanted.type is None or wanted.project is not None:
            return search(field, query, limit, prefix, also)
        size = limit * WIDEN
        while True:
            near = search(field, query, size, prefix, also)
            # Without those in `also` that are farther away.
            ranked = sorted(near.cosines, key=lambda key: -near.cosines[key])[:size]
            admitted = [key for key in ranked if admits(wanted, key)][:limit]
            if len(admitted) == limit or near.rows < size:
                kept = (key for key in (*admitted, *also) if key in near.cosines)
                return replace(near, cosines={key: near.cosines[key] for key in kept})
            size *= WIDEN

    def near_entry(
        self, tenant: Tenant, entry: Entry, limit: int, also: Sequence[str]
    ) -> dict[str, float]:
        """Return the cosines of the entries nearest to one, and of those in `also`."""
        try:
            vector: Vector = self._embedder.embed([entry.text])[0]
            near = self.store.search(summaries(tenant), vector, limit + 1, "", also).cosines
        except (EmbedderUnavailableError, *_UNREADABLE):
            return {}
        near.pop(document_key(entry), None)
        return near

    def embed(self, tenant: Tenant, entries: Sequence[Entry]) -> frozenset[str]:
        """Add the vectors of entries; returns the ids of those that have theirs now."""
        texts = {
            summaries(tenant): [(entry, entry.text) for entry in entries],
            contexts(tenant): [(entry, entry.context) for entry in entries],
        }
        try:
            for field, pairs in texts.items():
                passages = [_passage(entry, text) for entry, text in pairs if text.strip()]
                if passages:
                    self.store.synchronise_now(field, NO_KEY, passages)
        except (EmbedderUnavailableError, CommonplaceError, OSError):
            return frozenset()
        return frozenset(entry.id for entry in entries)

    def forget(self, tenant: Tenant, entries: Sequence[Entry]) -> None:
        """Remove the vectors of entries."""
        for entry in entries:
            for field in (summaries(tenant), contexts(tenant)):
                try:
                    self.store.synchronise_now(field, document_key(entry), [])
                except (CommonplaceError, OSError):
                    continue  # a search checks what it finds against the entries

    def clear(self, tenant: Tenant) -> None:
        """Remove all vectors of a tenant."""
        for field in (summaries(tenant), contexts(tenant)):
            self.store.clear(field)

    def present(self, field: Partition, keys: Sequence[str]) -> frozenset[str]:
        """Return those of the keys that have a vector."""
        import numpy as np

        # PostgreSQL has no cosine to a vector of zeros, so any direction is asked for.
        direction = np.zeros(self._embedder.dimensions, dtype=np.float32)
        direction[0] = 1.0
        try:
            return frozenset(self.store.search(field, direction, 0, "", keys).cosines)
        except _UNREADABLE:
            return frozenset()


def _passage(entry: Entry, text: str) -> Passage:
    return Passage(document_key(entry), text, hashlib.sha256(text.encode()).hexdigest())


def summaries(tenant: Tenant) -> Partition:
    """Return the partition of the vectors of entries."""
    return Partition(tenant, COLLECTION, "summary")


def contexts(tenant: Tenant) -> Partition:
    """Return the partition of the vectors of conversations."""
    return Partition(tenant, COLLECTION, "context")
