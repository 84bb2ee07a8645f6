"""The vectors of entries: of what an entry says, and of the conversation it came from.

Both texts have a vector for each of their passages; an entry counts by the nearest one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from commonplace.kernel.auth import Tenant
from commonplace.kernel.errors import CommonplaceError
from commonplace.memory.engine.documents import (
    COLLECTION,
    admits,
    document_key,
    entry_id,
    key_prefix,
    may_crowd_out,
    project_prefix,
)
from commonplace.memory.engine.passages import (
    MARK,
    context_passages,
    passage_key,
    summary_passages,
)
from commonplace.memory.model import Entry, EntryFilter, VectorCoverage
from commonplace.memory.retrieval.embedder import CachedEmbedder
from commonplace.memory.retrieval.protocol import Vector
from commonplace.search.model import Neighbours, Partition, Passage
from commonplace.search.semantic.embed import EmbedderUnavailableError
from commonplace.search.semantic.vector import StaleVectorsError, partition_folder
from commonplace.search.semantic.vector_file import VectorFile, VectorFileError, erase_vectors

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
        *,
        beginnings: bool = False,
    ) -> Neighbours:
        """Return the nearest entries below a prefix, and the cosines of those in `also`.

        With `beginnings`, an entry counts by its first passage.
        """
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

    def digests_of(self, partition: Partition, keys: Iterable[str]) -> dict[str, str]:
        """Return the digests of those of the passages that have a vector of the model."""
        ...

    def count(self, partition: Partition) -> int:
        """Return how many vectors of the model there are."""
        ...

    def erase(self, partition: Partition, is_erased: Callable[[str], bool]) -> None:
        """Remove the vectors of some keys for good, whatever model made them."""
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
        """Return the cosines of the entries nearest to one, and of those in `also`.

        Up to `limit` of all projects, and as many of its own project if others crowd it out.
        Beginnings are compared, so the answer does not depend on passages that come later.
        """
        field = summaries(tenant)
        try:
            vector: Vector = self._embedder.embed([entry.text])[0]
            near = self.store.search(field, vector, limit + 1, "", also, beginnings=True).cosines
            if may_crowd_out(entry, near, limit):
                prefix = project_prefix(entry)
                near = {
                    **near,
                    **self.store.search(
                        field, vector, limit + 1, prefix, (), beginnings=True
                    ).cosines,
                }
        except (EmbedderUnavailableError, *_UNREADABLE):
            return {}
        near.pop(document_key(entry), None)
        return near

    def embed(self, tenant: Tenant, entries: Sequence[Entry]) -> frozenset[str]:
        """Add the vectors of the first passages; returns the ids of entries that have them now."""
        wanted = [(field, passages[:1]) for field, passages in self._passages(tenant, entries)]
        return self._add(wanted, entries)

    def embed_whole(self, tenant: Tenant, entries: Sequence[Entry]) -> frozenset[str]:
        """Add the vectors of all passages; returns the ids of entries that have them now."""
        return self._add(self._passages(tenant, entries), entries)

    def _add(
        self, wanted: Iterable[tuple[Partition, Sequence[Passage]]], entries: Sequence[Entry]
    ) -> frozenset[str]:
        by_field: dict[Partition, list[Passage]] = {}
        for field, passages in wanted:
            by_field.setdefault(field, []).extend(passages)
        try:
            for field, passages in by_field.items():
                if passages:
                    self.store.synchronise_now(field, NO_KEY, passages)
        except (EmbedderUnavailableError, CommonplaceError, OSError):
            return frozenset()
        return frozenset(entry.id for entry in entries)

    def _passages(
        self, tenant: Tenant, entries: Sequence[Entry]
    ) -> list[tuple[Partition, list[Passage]]]:
        """Return the passages of each entry, by field."""
        return [
            (field, [_passage(entry, number, text) for number, text in enumerate(texts)])
            for entry in entries
            for field, texts in _texts(tenant, entry)
        ]

    def forget(self, tenant: Tenant, entries: Sequence[Entry]) -> None:
        """Remove the vectors of entries."""
        for entry in entries:
            for field in (summaries(tenant), contexts(tenant)):
                try:
                    self.store.synchronise_now(field, document_key(entry), [])
                except (CommonplaceError, OSError):
                    continue  # a search checks what it finds against the entries

    def erase(self, tenant: Tenant, entry_ids: Collection[str]) -> None:
        """Remove the vectors of entries for good."""
        for field in (summaries(tenant), contexts(tenant)):
            self.store.erase(field, lambda key: passage_entry(key) in entry_ids)

    def clear(self, tenant: Tenant) -> None:
        """Remove all vectors of a tenant."""
        for field in (summaries(tenant), contexts(tenant)):
            self.store.clear(field)

    def coverage(self, tenant: Tenant, entry: Entry) -> VectorCoverage:
        """Return which vectors of an entry exist, and how many it has when complete."""
        present = self._present(tenant, [entry])
        counts = [
            (
                len(texts),
                sum(passage_key(document_key(entry), n) in found for n in range(len(texts))),
            )
            for (_, texts), found in zip(_texts(tenant, entry), present, strict=True)
        ]
        (_, summary), (_, context) = counts
        return VectorCoverage(
            summary > 0, context > 0, summary + context, sum(wanted for wanted, _ in counts)
        )

    def find_missing(self, tenant: Tenant, entries: Sequence[Entry]) -> list[Entry]:
        """Return the entries that lack the vector of a passage.

        Only long texts are compared with what was embedded: a short one is removed when it changes.
        """
        summary, context = self._present(tenant, entries)
        missing = []
        for entry in entries:
            key = document_key(entry)
            for (_, texts), found in zip(_texts(tenant, entry), (summary, context), strict=True):
                keys = [passage_key(key, number) for number in range(len(texts))]
                if any(
                    key not in found or (len(texts) > 1 and found[key] != _digest(text))
                    for key, text in zip(keys, texts, strict=True)
                ):
                    missing.append(entry)
                    break
        return missing

    def count(self, tenant: Tenant) -> int:
        """Return how many vectors a tenant has."""
        try:
            return sum(self.store.count(field) for field in (summaries(tenant), contexts(tenant)))
        except _UNREADABLE:
            return 0

    def _present(self, tenant: Tenant, entries: Sequence[Entry]) -> tuple[dict[str, str], ...]:
        """Return the digests of passages that have a vector, of texts and of conversations."""
        keys: tuple[list[str], list[str]] = ([], [])
        for entry in entries:
            for wanted, (_, texts) in zip(keys, _texts(tenant, entry), strict=True):
                wanted += (passage_key(document_key(entry), n) for n in range(len(texts)))
        fields = (summaries(tenant), contexts(tenant))
        try:
            return tuple(
                self.store.digests_of(field, wanted)
                for field, wanted in zip(fields, keys, strict=True)
            )
        except _UNREADABLE:
            return {}, {}


def _texts(tenant: Tenant, entry: Entry) -> tuple[tuple[Partition, tuple[str, ...]], ...]:
    return (
        (summaries(tenant), summary_passages(entry)),
        (contexts(tenant), context_passages(entry)),
    )


def _passage(entry: Entry, number: int, text: str) -> Passage:
    return Passage(passage_key(document_key(entry), number), text, _digest(text))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def erase_files(folder: Path, tenant: Tenant, entry_ids: Collection[str]) -> None:
    """Remove the vectors of entries from their files, without a model."""
    for field in (summaries(tenant), contexts(tenant)):
        file = VectorFile(partition_folder(folder, field))
        erase_vectors(file, lambda key: passage_entry(key) in entry_ids)


def passage_entry(key: str) -> str:
    """Return the id of the entry that a passage belongs to."""
    return entry_id(key.partition(MARK)[0])


def summaries(tenant: Tenant) -> Partition:
    """Return the partition of the vectors of entries."""
    return Partition(tenant, COLLECTION, "summary")


def contexts(tenant: Tenant) -> Partition:
    """Return the partition of the vectors of conversations."""
    return Partition(tenant, COLLECTION, "context")
