"""Vector indexes of every partition: which vectors exist, and which are nearest to a query.

Derived data: `synchronise` gets the current passages and embeds only new text; `clear` and a
reindex rebuild it.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from commonplace.search.model import Neighbours, Partition, Passage
from commonplace.search.semantic import vector_ann
from commonplace.search.semantic.document_parts import (
    WHOLE_DOCUMENTS,
    PartNames,
    Rows,
    best_parts,
)
from commonplace.search.semantic.embed import Embedder
from commonplace.search.semantic.vector_file import (
    VectorFile,
    VectorFileError,
    Vectors,
    VectorSnapshot,
    VectorView,
    erase_vectors,
)
from commonplace.storage.disk.private_files import make_private_folder
from commonplace.storage.locks.file_lock import FileLock

_WIDEN = 8
Embed = Callable[[Sequence[str]], Vectors]


@dataclass(frozen=True, slots=True)
class VectorStatus:
    """What `doctor` says about the vectors of a partition."""

    rows: int
    dead: int
    generation: int
    identity: str
    stale: bool  # made by another model; replaced as documents are indexed again
    approximate: bool


class StaleVectorsError(Exception):
    """The vectors of the partition were made by another model."""


def partition_folder(folder: Path, partition: Partition) -> Path:
    """Return the folder of a partition's vectors."""
    name = "\0".join((partition.tenant, partition.collection, partition.scope))
    return folder / hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:40]


class VectorIndex:
    """Vectors below one folder, one subfolder per partition.

    Implements `PassageListener`; thread-safe.
    """

    def __init__(
        self,
        folder: Path,
        embedder: Embedder,
        ann_rows: int = vector_ann.ANN_ROWS,
        build: vector_ann.AnnBuild = vector_ann.build,
        parts: PartNames = WHOLE_DOCUMENTS,
    ) -> None:
        """`parts` says which keys are parts of one document; it counts by its nearest part."""
        self._folder = folder
        self._parts = parts
        self._embedder = embedder
        self._ann_rows = ann_rows
        self._files: dict[Partition, VectorFile] = {}
        self._guard = threading.Lock()
        self._approximate = vector_ann.AnnIndexes(ann_rows, build)

    async def synchronise(
        self,
        partition: Partition,
        prefix: str,
        passages: Sequence[Passage],
        *,
        most: int | None = None,
    ) -> int:
        return (
            await asyncio.to_thread(
                self._advance, partition, prefix, passages, self._embedder.embed, most
            )
        )[1]

    async def reuse(
        self,
        partition: Partition,
        prefix: str,
        passages: Sequence[Passage],
        others: Sequence[Partition],
    ) -> None:
        await asyncio.to_thread(self._reuse, partition, prefix, passages, others)

    def _reuse(
        self,
        partition: Partition,
        prefix: str,
        passages: Sequence[Passage],
        others: Sequence[Partition],
    ) -> None:
        snapshot = self._current(self._file(partition))
        known = snapshot.digests if snapshot is not None else {}
        texts = {p.digest: p.text for p in passages if p.digest not in known}
        found: dict[str, Vectors] = {}  # by text
        for other in others:
            if other.tenant != partition.tenant:
                raise ValueError("vectors are never shared between tenants")
            file = self._file(other)
            with file.lock:
                twin = self._current(file)
                shared = texts.keys() & twin.digests.keys() if twin is not None else ()
                for digest in shared:
                    assert twin is not None
                    found[texts.pop(digest)] = twin.vector(twin.digests[digest])
        if found:
            first = sorted(passages, key=lambda passage: passage.text not in found)
            self._advance(
                partition,
                prefix,
                first,
                lambda wanted: _take(found, wanted, self._embedder.embed),
                len(found),
            )

    def synchronise_now(
        self, partition: Partition, prefix: str, passages: Sequence[Passage]
    ) -> int:
        """Make the vectors below `prefix` those of `passages`; return how many were embedded."""
        return self._advance(partition, prefix, passages, self._embedder.embed, None)[0]

    def synchronise_with(
        self,
        partition: Partition,
        prefix: str,
        passages: Sequence[Passage],
        embed: Embed,
        most: int | None = None,
    ) -> int:
        """Do the same with another `embed`, for at most `most` texts.

        Return how many passages still lack a vector.
        """
        return self._advance(partition, prefix, passages, embed, most)[1]

    def _advance(
        self,
        partition: Partition,
        prefix: str,
        passages: Sequence[Passage],
        embed: Embed,
        most: int | None,
    ) -> tuple[int, int]:
        """Embed up to `most` new texts; return how many were embedded and how many are left."""
        file = self._file(partition)
        wanted = {passage.key: passage for passage in passages}
        with file.lock_for_writing():
            snapshot = self._current(file)
            if snapshot is None and not wanted:
                self._retire(file, prefix, wanted, set())
                return 0, 0
        # Embedding takes seconds and runs without the lock; what changed meanwhile is checked
        # again below.
        fresh = _embed_new(embed, snapshot, wanted, most)
        with file.lock_for_writing():
            snapshot = self._current(file)
            if snapshot is None:
                if not wanted:
                    return 0, 0
                if self._replaced(file) is not None:
                    file.set_aside()
                snapshot = file.begin(self._embedder.identity, self._embedder.dimensions)
            changed = [p for p in wanted.values() if not _holds(snapshot, p)]
            removed = [key for key in snapshot.keys_with(prefix) if key not in wanted]
            late = [
                p for p in changed if p.digest not in fresh and p.digest not in snapshot.digests
            ]
            if most is None:
                fresh |= _embed_texts(embed, {p.digest: p.text for p in late})
                late = []
            left = {p.key for p in late}
            ready = [p for p in changed if p.key not in left]
            rows = [
                fresh[p.digest]
                if p.digest in fresh
                else snapshot.vector(snapshot.digests[p.digest])
                for p in ready
            ]
            if ready or removed:
                vectors = (
                    np.stack(rows) if rows else np.zeros((0, snapshot.dimensions), dtype=np.float32)
                )
                file.append(snapshot, [(p.key, p.digest) for p in ready], vectors, removed)
                snapshot = file.compact_if_worthwhile(snapshot)
            self._retire(file, prefix, wanted, left)
            view = snapshot.view()
            generation = snapshot.generation
        path = file.ann_path(generation)
        self._approximate.build_if_worthwhile(path, self._embedder.dimensions, view)
        return len(fresh), len(left)

    def search(
        self,
        partition: Partition,
        query: Vectors,
        limit: int,
        prefix: str = "",
        also: Iterable[str] = (),
        *,
        beginnings: bool = False,
    ) -> Neighbours:
        """Return the `limit` nearest documents below the prefix, and the cosines of `also`.

        Blocking. With `beginnings`, a document counts by its first part. Raise StaleVectorsError
        if all vectors are of another model.
        """
        file = self._file(partition)
        snapshot = file.snapshot()
        if snapshot is None:
            return Neighbours({}, 0, True)
        if snapshot.identity != self._embedder.identity:
            raise StaleVectorsError
        return self._search(file, query, limit, prefix, also, beginnings)

    def digests_of(self, partition: Partition, keys: Iterable[str]) -> dict[str, str]:
        """Return the digests of those of the keys that have a vector of this model. Blocking."""
        snapshot = self._current(self._file(partition))
        if snapshot is None:
            return {}
        rows, digests = snapshot.rows, snapshot.row_digests
        return {key: digests[rows[key]] for key in keys if key in rows}

    def count(self, partition: Partition) -> int:
        """Return how many vectors of this model a partition has. Blocking."""
        snapshot = self._current(self._file(partition))
        return len(snapshot.rows) if snapshot is not None else 0

    def is_without(self, partition: Partition) -> bool:
        """Return whether a partition has no vectors of this model. Reads one line. Blocking."""
        return self._file(partition).read_identity() != self._embedder.identity

    def replaced_identity(self, partition: Partition) -> str | None:
        """Return the identity of another model whose vectors were not all replaced yet."""
        found = self._replaced(self._file(partition))
        return found[1].identity if found is not None else None

    def search_replaced(
        self,
        partition: Partition,
        query: Vectors,
        limit: int,
        prefix: str = "",
        also: Iterable[str] = (),
    ) -> Neighbours:
        """Do the same among the vectors of the other model, for a query that it embedded."""
        found = self._replaced(self._file(partition))
        if found is None:
            return Neighbours({}, 0, True)
        return self._search(found[0], query, limit, prefix, also)

    def _search(
        self,
        file: VectorFile,
        query: Vectors,
        limit: int,
        prefix: str,
        also: Iterable[str],
        beginnings: bool = False,
    ) -> Neighbours:
        with file.lock:
            snapshot = file.snapshot()
            if snapshot is None:
                return Neighbours({}, 0, True)
            view = snapshot.view()
            below = snapshot.keys_with(prefix) if prefix and limit else None
            chosen = (
                None
                if below is None
                else np.array([snapshot.rows[key] for key in below], dtype=np.int64)
            )
            asked = self._parts.rows_of(snapshot, also, beginnings)
        rows, scores, exact = self._score(file, snapshot, view, query, limit, chosen)
        found = self._parts.nearest(snapshot.names, view, rows, scores, limit, beginnings)
        cosines, vectors = best_parts(view, found | asked, query)
        return Neighbours(cosines, len(snapshot.rows), exact, vectors)

    def _score(
        self,
        file: VectorFile,
        snapshot: VectorSnapshot,
        view: VectorView,
        query: Vectors,
        limit: int,
        chosen: Rows | None,
    ) -> tuple[Rows, Vectors, bool]:
        """Return candidate rows, their cosines, and whether all rows were compared."""
        if not limit:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32), True
        large = len(view.weights) >= self._ann_rows
        path = file.ann_path(snapshot.generation)
        ann = self._approximate.find(path, snapshot.dimensions) if large else None
        if chosen is not None and (ann is None or len(chosen) < self._ann_rows):
            return chosen, view.similarities_of(chosen, query), True
        if ann is None:
            scores = view.similarities(query)
            return np.arange(len(scores)), scores, True
        wide = chosen is not None or self._parts.mark is not None
        rows, scores = ann.nearest(view, query, limit * _WIDEN if wide else limit)
        if chosen is not None:
            inside = np.isin(rows, chosen)
            rows, scores = rows[inside], scores[inside]
        return rows, scores, False

    def snapshot(self, partition: Partition) -> VectorSnapshot | None:
        """Return the present vectors of a partition, if the current model made them."""
        return self._current(self._file(partition))

    @contextmanager
    def try_to_lead(self, partition: Partition) -> Iterator[bool]:
        """Try to be the one process that embeds a partition; never waits."""
        folder = self._file(partition).folder
        make_private_folder(folder)
        lock = FileLock(folder / "embedding.lock")
        leads = lock.acquire(wait=False)
        try:
            yield leads
        finally:
            lock.release()

    def status(self, partition: Partition) -> VectorStatus | None:
        file = self._file(partition)
        snapshot = file.snapshot()
        if snapshot is None:
            return None
        stale = snapshot.identity != self._embedder.identity
        approximate = file.ann_path(snapshot.generation).is_file()
        return VectorStatus(
            len(snapshot.rows),
            snapshot.dead,
            snapshot.generation,
            snapshot.identity,
            stale,
            approximate,
        )

    def clear(self, partition: Partition) -> None:
        file = self._file(partition)
        with file.lock_for_writing():
            file.clear()

    def erase(self, partition: Partition, is_erased: Callable[[str], bool]) -> None:
        """Remove the vectors of some keys from the files, whatever model made them. Blocking."""
        file = self._file(partition)
        snapshot = erase_vectors(file, is_erased)
        if snapshot is not None:
            path = file.ann_path(snapshot.generation)
            self._approximate.build_if_worthwhile(path, snapshot.dimensions, snapshot.view())

    def build_now(self, partition: Partition, threads: int = 1) -> None:
        """Build the approximate index of a partition, whatever its size. Blocking."""
        file = self._file(partition)
        snapshot = file.snapshot()
        if snapshot is not None:
            vector_ann.build(snapshot.view(), file.ann_path(snapshot.generation), threads)

    def wait(self) -> None:
        """Wait for index builds in progress."""
        self._approximate.wait()

    def close(self) -> None:
        """Stop index builds in progress; they start again on the next use of the index."""
        self._approximate.close()

    def _file(self, partition: Partition) -> VectorFile:
        with self._guard:
            file = self._files.get(partition)
            if file is None:
                file = self._files[partition] = VectorFile(
                    partition_folder(self._folder, partition)
                )
            return file

    def _current(self, file: VectorFile) -> VectorSnapshot | None:
        """Return the snapshot to extend; None if there is none, or if it is stale or broken."""
        try:
            snapshot = file.snapshot()
        except VectorFileError:
            return None
        return (
            snapshot
            if snapshot is not None and snapshot.identity == self._embedder.identity
            else None
        )

    def _replaced(self, file: VectorFile) -> tuple[VectorFile, VectorSnapshot] | None:
        """Return what another model made: all vectors, or those that were set aside."""
        try:
            snapshot = file.snapshot()
            if snapshot is not None and snapshot.identity != self._embedder.identity:
                return file, snapshot
            file = file.earlier
            snapshot = file.snapshot()
        except VectorFileError:
            return None
        return (file, snapshot) if snapshot is not None and snapshot.rows else None

    def _retire(
        self, file: VectorFile, prefix: str, wanted: Collection[str], left: set[str]
    ) -> None:
        """Remove the other model's vectors of passages that have one now, or that are gone."""
        found = self._replaced(file)
        if found is None:
            return
        store, snapshot = found
        retired = [key for key in snapshot.keys_with(prefix) if key not in wanted]
        if store is not file:
            retired += [key for key in wanted if key in snapshot.rows and key not in left]
        if retired:
            none = np.zeros((0, snapshot.dimensions), dtype=np.float32)
            store.append(snapshot, [], none, retired)
        if store is not file and not snapshot.rows:
            store.clear()


def _take(found: dict[str, Vectors], texts: Sequence[str], embed: Embed) -> Vectors:
    """Return known vectors; embed a text that became new meanwhile."""
    return np.stack([found[text] if text in found else embed([text])[0] for text in texts])


def _embed_new(
    embed: Embed, snapshot: VectorSnapshot | None, wanted: dict[str, Passage], most: int | None
) -> dict[str, Vectors]:
    known = snapshot.digests if snapshot is not None else {}
    new = {p.digest: p.text for p in wanted.values() if p.digest not in known}
    return _embed_texts(embed, dict(islice(new.items(), most)))


def _embed_texts(embed: Embed, texts: dict[str, str]) -> dict[str, Vectors]:
    return dict(zip(texts, embed(list(texts.values())), strict=True)) if texts else {}


def _holds(snapshot: VectorSnapshot, passage: Passage) -> bool:
    row = snapshot.rows.get(passage.key)
    return row is not None and snapshot.row_digests[row] == passage.digest
