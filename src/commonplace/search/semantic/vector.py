"""Vector indexes of every partition: which vectors exist, and which are nearest to a query.

Derived data: `synchronise` gets the current passages and embeds only new text; `clear` and a
reindex rebuild it.
"""

from __future__ import annotations

import asyncio
import atexit
import hashlib
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Protocol

import numpy as np

from commonplace.search.model import Neighbours, Partition, Passage
from commonplace.search.semantic import vector_ann
from commonplace.search.semantic.embed import Embedder
from commonplace.search.semantic.vector_file import (
    VectorFile,
    VectorFileError,
    Vectors,
    VectorSnapshot,
    VectorView,
)
from commonplace.storage.disk.private_files import make_private_folder
from commonplace.storage.locks.file_lock import FileLock

_REBUILD_SHARE = 0.2  # of rows outside of the approximate index; above, it is rebuilt
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


class AnnBuild(Protocol):
    """Build an approximate index; return 0 early if asked to stop."""

    def __call__(self, view: VectorView, path: Path, *, stopping: threading.Event) -> int: ...


class VectorIndex:
    """Vectors below one folder, one subfolder per partition.

    Implements `PassageListener`; thread-safe.
    """

    def __init__(
        self,
        folder: Path,
        embedder: Embedder,
        ann_rows: int = vector_ann.ANN_ROWS,
        build: AnnBuild = vector_ann.build,
    ) -> None:
        self._folder = folder
        self._build_ann = build
        self._embedder = embedder
        self._ann_rows = ann_rows
        self._files: dict[Partition, VectorFile] = {}
        self._guard = threading.Lock()
        self._built: dict[Path, vector_ann.AnnIndex] = {}
        self._building: set[Path] = set()
        self._builders: list[threading.Thread] = []
        self._stopping = threading.Event()

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
        self._build_if_worthwhile(file, generation, view)
        return len(fresh), len(left)

    def search(
        self,
        partition: Partition,
        query: Vectors,
        limit: int,
        prefix: str = "",
        also: Iterable[str] = (),
    ) -> Neighbours:
        """Return the `limit` nearest keys below the prefix, and the cosines of the keys in `also`.

        Blocking. Raise StaleVectorsError if all vectors are of another model.
        """
        file = self._file(partition)
        snapshot = file.snapshot()
        if snapshot is None:
            return Neighbours({}, 0, True)
        if snapshot.identity != self._embedder.identity:
            raise StaleVectorsError
        return self._search(file, query, limit, prefix, also)

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
        self, file: VectorFile, query: Vectors, limit: int, prefix: str, also: Iterable[str]
    ) -> Neighbours:
        with file.lock:
            snapshot = file.snapshot()
            if snapshot is None:
                return Neighbours({}, 0, True)
            view = snapshot.view()
            below = snapshot.keys_with(prefix) if prefix else None
            chosen = (
                None
                if below is None
                else np.array([snapshot.rows[key] for key in below], dtype=np.int64)
            )
            asked = {key: snapshot.rows[key] for key in also if key in snapshot.rows}
        names = snapshot.names
        large = len(view.weights) >= self._ann_rows
        ann = self._ann(file, snapshot.generation, snapshot.dimensions) if large else None
        exact = True
        if chosen is not None and (ann is None or len(chosen) < self._ann_rows):
            rows, scores = chosen, view.similarities_of(chosen, query)
        elif ann is not None:
            rows, scores = ann.nearest(view, query, limit if chosen is None else limit * _WIDEN)
            exact = False
            if chosen is not None:
                inside = np.isin(rows, chosen)
                rows, scores = rows[inside], scores[inside]
        else:
            scores = view.similarities(query)
            rows = np.arange(len(scores))
        found: dict[str, int] = {}
        for at in _best(scores, limit):
            name = names[int(rows[at])]
            if name is not None and view.weights[int(rows[at])] > 0:
                found[name] = int(rows[at])
        found |= asked
        vectors = view.vectors_of(np.fromiter(found.values(), dtype=np.int64, count=len(found)))
        cosines = dict(zip(found, map(float, vectors @ query), strict=True))
        return Neighbours(
            cosines, len(snapshot.rows), exact, dict(zip(found, vectors, strict=True))
        )

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

    def build_now(self, partition: Partition, threads: int = 1) -> None:
        """Build the approximate index of a partition, whatever its size. Blocking."""
        file = self._file(partition)
        snapshot = file.snapshot()
        if snapshot is not None:
            vector_ann.build(snapshot.view(), file.ann_path(snapshot.generation), threads)

    def wait(self) -> None:
        """Wait for index builds in progress."""
        for thread in self._builders:
            thread.join()

    def close(self) -> None:
        """Stop index builds in progress; they start again on the next use of the index."""
        self._stopping.set()
        self.wait()

    def _file(self, partition: Partition) -> VectorFile:
        with self._guard:
            file = self._files.get(partition)
            if file is None:
                name = hashlib.sha256(
                    "\0".join((partition.tenant, partition.collection, partition.scope)).encode(
                        "utf-8", "surrogatepass"
                    )
                )
                file = self._files[partition] = VectorFile(self._folder / name.hexdigest()[:40])
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

    def _ann(
        self, file: VectorFile, generation: int, dimensions: int
    ) -> vector_ann.AnnIndex | None:
        path = file.ann_path(generation)
        if not vector_ann.available() or not path.is_file():
            return None
        with self._guard:
            index = self._built.get(path)
            try:
                covered = int(path.with_suffix(".covered").read_text("ascii"))
                if index is None or index.rows != covered:
                    index = self._built[path] = vector_ann.AnnIndex(path, dimensions)
            except (OSError, ValueError, RuntimeError):  # being replaced: scan instead
                return None
            return index

    def _build_if_worthwhile(self, file: VectorFile, generation: int, view: VectorView) -> None:
        rows = len(view.weights)
        if rows < self._ann_rows or not vector_ann.available():
            return
        path = file.ann_path(generation)
        index = self._ann(file, generation, self._embedder.dimensions)
        if index is not None and rows - index.rows < _REBUILD_SHARE * rows:
            return
        with self._guard:
            if path in self._building:
                return
            self._building.add(path)
        thread = threading.Thread(
            target=self._build, args=(path, view), name="build-ann", daemon=True
        )
        # a library thread that runs when the interpreter ends aborts the process
        if not self._builders:
            atexit.register(self.close)
        self._builders = [alive for alive in self._builders if alive.is_alive()] + [thread]
        thread.start()

    def _build(self, path: Path, view: VectorView) -> None:
        try:
            self._build_ann(view, path, stopping=self._stopping)
        finally:
            with self._guard:
                self._building.discard(path)


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


def _best(scores: Vectors, limit: int) -> list[int]:
    """Return the positions of the highest scores, best first; ties by position."""
    if len(scores) > limit:
        picked = np.argpartition(-scores, limit)[:limit]
        picked.sort()
    else:
        picked = np.arange(len(scores))
    return [int(at) for at in picked[np.argsort(-scores[picked], kind="stable")]]
