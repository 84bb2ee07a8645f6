"""An approximate index beside a large vector file, built in the background and mapped by readers.

Optional (`usearch`). Scores are exact: they come from the matrix. Rows added after the build are
scanned, so a search never waits for the index.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import threading
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from commonplace.search.semantic.vector_file import Vectors, VectorView

ANN_ROWS = 60_000  # below this an exact scan costs less than 10 ms
_CONNECTIVITY = 16
_EFFORT_BUILDING = 128
_EFFORT_SEARCHING = 192
_WIDER = 4  # candidates per wanted neighbour: some are dead, some misranked by quantisation
_BUILD_ROWS = 1_024  # rows added between two checks whether to stop
_REBUILD_SHARE = 0.2  # of rows outside of the index; above, it is rebuilt


class AnnBuild(Protocol):
    """Build an approximate index; return 0 early if asked to stop."""

    def __call__(self, view: VectorView, path: Path, *, stopping: threading.Event) -> int: ...


def available() -> bool:
    return importlib.util.find_spec("usearch") is not None


def build(
    view: VectorView, path: Path, threads: int = 1, stopping: threading.Event | None = None
) -> int:
    """Write the index of all live rows; return how many rows it covers, 0 if told to stop."""
    from usearch.index import Index

    rows = len(view.weights)
    index = Index(
        ndim=view.matrix.shape[1],
        metric="cos",
        dtype="i8",
        connectivity=_CONNECTIVITY,
        expansion_add=_EFFORT_BUILDING,
        multi=False,
    )
    for start in range(0, rows, _BUILD_ROWS):
        if stopping is not None and stopping.is_set():
            return 0
        keys = np.arange(start, min(start + _BUILD_ROWS, rows))
        living = keys[view.weights[keys] > 0]
        if len(living):
            index.add(
                living.astype(np.uint64), np.ascontiguousarray(view.matrix[living]), threads=threads
            )
    scratch = path.with_name(f"{path.name}.{os.getpid()}")
    index.save(str(scratch))
    covered = path.with_suffix(".covered")
    scratch_note = covered.with_name(f"{covered.name}.{os.getpid()}")
    scratch_note.write_text(str(rows), "ascii")
    scratch.replace(path)
    scratch_note.replace(covered)
    return rows


class AnnIndex:
    """A built index, mapped for reading."""

    def __init__(self, path: Path, dimensions: int) -> None:
        from usearch.index import Index

        self.rows = int(path.with_suffix(".covered").read_text("ascii"))
        self._index = Index(
            ndim=dimensions,
            metric="cos",
            dtype="i8",
            expansion_search=_EFFORT_SEARCHING,
            path=path,
            view=True,
        )

    def nearest(
        self, view: VectorView, query: Vectors, limit: int
    ) -> tuple[npt.NDArray[np.int64], Vectors]:
        """Return rows and exact cosines: neighbours in the index, and every row it lacks."""
        peak = float(np.abs(query).max()) or 1.0
        coarse = np.round(query * (127 / peak)).astype(np.int8)
        found = self._index.search(coarse, max(limit * _WIDER, 64))
        covered = min(self.rows, len(view.weights))
        known = found.keys.astype(np.int64)
        known = known[known < covered]
        late = view.similarities(
            query, covered
        )  # in blocks: gathering rows one by one would cost more than a whole scan
        rows = np.concatenate([known, np.arange(covered, len(view.weights), dtype=np.int64)])
        return rows, np.concatenate([view.similarities_of(known, query), late])


class AnnIndexes:
    """The indexes that a process has mapped, and those that it is building. Thread-safe."""

    def __init__(self, least_rows: int, build: AnnBuild) -> None:
        self._least_rows = least_rows
        self._run = build
        self._guard = threading.Lock()
        self._built: dict[Path, AnnIndex] = {}
        self._building: set[Path] = set()
        self._builders: list[threading.Thread] = []
        self._stopping = threading.Event()

    def find(self, path: Path, dimensions: int) -> AnnIndex | None:
        """Return the index in a file, None if it cannot be used now."""
        if not available() or not path.is_file():
            return None
        with self._guard:
            index = self._built.get(path)
            try:
                covered = int(path.with_suffix(".covered").read_text("ascii"))
                if index is None or index.rows != covered:
                    index = self._built[path] = AnnIndex(path, dimensions)
            except (OSError, ValueError, RuntimeError):  # being replaced: scan instead
                return None
            return index

    def build_if_worthwhile(self, path: Path, dimensions: int, view: VectorView) -> None:
        """Build an index in the background if there are many rows that no index covers."""
        rows = len(view.weights)
        if rows < self._least_rows or not available():
            return
        index = self.find(path, dimensions)
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

    def wait(self) -> None:
        """Wait for builds in progress."""
        for thread in self._builders:
            thread.join()

    def close(self) -> None:
        """Stop builds in progress; they start again on the next use of the index."""
        self._stopping.set()
        self.wait()

    def _build(self, path: Path, view: VectorView) -> None:
        try:
            self._run(view, path, stopping=self._stopping)
        finally:
            with self._guard:
                self._building.discard(path)
