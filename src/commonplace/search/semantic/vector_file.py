"""Vectors of one partition on disk: an append-only matrix and a journal that names its rows.

    current      the generation in force, replaced in one rename
    <g>.matrix   rows of int8, `dimensions` bytes each, mapped by every reader
    <g>.journal  JSON lines: a header, then `{k: key, d: digest, r: row, s: scale}` for a row
                 and `{k: key, gone: 1}` for a removal

The matrix is written before the journal, and a row exists once its journal line is complete: a
reader at any moment, and a machine that stopped at any moment, find a consistent prefix. Rows are
never changed in place; compaction writes the next generation.
"""

from __future__ import annotations

import mmap
import os
import shutil
import threading
from array import array
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from commonplace.kernel.durability import sync_file
from commonplace.storage.disk.private_files import make_private_folder
from commonplace.storage.locks.file_lock import exclusive_lock

FORMAT = 1
# Converted to float and multiplied at a time. Each step takes the interpreter's lock anew, so few
# are better; BLAS multiplies more rows with several threads, which costs more than it saves.
SCAN_ROWS = 1_024
_COMPACT_ROWS = 1_000  # fewer dead rows are not worth a rewrite
_MAX_JOURNAL_LINE = 65_536
_FEW = 64  # records up to which inserting in order is cheaper than sorting

Matrix = npt.NDArray[np.int8]
Vectors = npt.NDArray[np.float32]


class VectorFileError(Exception):
    """The files are inconsistent; `reindex` makes new ones."""


def quantise(vectors: Vectors) -> tuple[Matrix, Vectors]:
    """Return rows as int8 with one scale each: value = int8 * scale."""
    peaks = np.abs(vectors).max(axis=1)
    scales = np.where(peaks > 0, peaks / 127, 1.0).astype(np.float32)
    return np.round(vectors / scales[:, None]).astype(np.int8), scales


@dataclass(frozen=True, slots=True)
class VectorView:
    """A snapshot at one moment, for a scan that runs while the snapshot grows."""

    matrix: Matrix
    weights: npt.NDArray[np.float32]  # scale of each row, 0 where the row is dead

    def similarities(self, query: Vectors, first: int = 0) -> Vectors:
        """Return the cosine of every row from `first` on with a unit query; 0 for dead rows."""
        count = len(self.weights)
        scores = np.empty(max(0, count - first), dtype=np.float32)
        floats = np.empty((min(SCAN_ROWS, len(scores)), self.matrix.shape[1]), dtype=np.float32)
        for start in range(first, count, SCAN_ROWS):
            block = self.matrix[start : min(start + SCAN_ROWS, count)]
            # in place: each further operation would wait for the interpreter's lock once more
            np.copyto(floats[: len(block)], block)
            at = start - first
            np.matmul(floats[: len(block)], query, out=scores[at : at + len(block)])
        scores *= self.weights[first:]
        return scores

    def similarities_of(self, rows: npt.NDArray[np.int64], query: Vectors) -> Vectors:
        scores = np.empty(len(rows), dtype=np.float32)
        for start in range(0, len(rows), SCAN_ROWS):
            part = rows[start : start + SCAN_ROWS]
            scores[start : start + len(part)] = self.matrix[part].astype(np.float32) @ query
        scores *= self.weights[rows]
        return scores

    def vectors_of(self, rows: npt.NDArray[np.int64]) -> Vectors:
        vectors: Vectors = self.matrix[rows].astype(np.float32) * self.weights[rows][:, None]
        return vectors


@dataclass(slots=True)
class VectorSnapshot:
    """What one process knows of one generation: row names, scales and the mapped matrix.

    It grows as the journal grows.
    """

    generation: int
    identity: str
    dimensions: int
    matrix: Matrix
    rows: dict[str, int] = field(default_factory=dict)  # key -> row
    digests: dict[str, int] = field(default_factory=dict)  # digest -> a row that holds it
    names: list[str | None] = field(default_factory=list)  # row -> key; None = dead
    row_digests: list[str] = field(default_factory=list)
    scales: array[float] = field(default_factory=lambda: array("f"))
    alive: array[float] = field(
        default_factory=lambda: array("f")
    )  # the scale, or 0 for a dead row
    ordered: list[str] = field(default_factory=list)  # keys in order, for prefixes
    journal_bytes: int = 0
    _view: VectorView | None = None

    @property
    def dead(self) -> int:
        return len(self.names) - len(self.rows)

    def view(self) -> VectorView:
        if self._view is None:
            self._view = VectorView(self.matrix, np.array(self.alive, dtype=np.float32))
        return self._view

    def keys_with(self, prefix: str) -> list[str]:
        start = end = bisect_left(self.ordered, prefix)
        while end < len(self.ordered) and self.ordered[end].startswith(prefix):
            end += 1
        return self.ordered[start:end]

    def apply(self, records: Sequence[dict[str, Any]]) -> None:
        before = set(self.rows) if len(records) > _FEW else None
        for record in records:
            key = record["k"]
            old = self.rows.pop(key, None)
            if old is not None:
                self.names[old] = None
                self.alive[old] = 0.0
            if "gone" not in record:
                self._add(key, record["d"], record["r"], record["s"])
            if before is None:
                self._order(key, old is not None)
        if before is not None and before != self.rows.keys():
            self.ordered = sorted(self.rows)
        self._view = None

    def _add(self, key: str, digest: str, row: int, scale: float) -> None:
        if row != len(self.names):
            raise VectorFileError(f"journal names row {row} where {len(self.names)} comes next")
        self.rows[key] = self.digests[digest] = row
        self.names.append(key)
        self.row_digests.append(digest)
        self.scales.append(scale)
        self.alive.append(scale)

    def _order(self, key: str, was: bool) -> None:
        if was and key not in self.rows:
            del self.ordered[bisect_left(self.ordered, key)]
        elif not was and key in self.rows:
            insort(self.ordered, key)

    def vector(self, row: int) -> Vectors:
        vector: Vectors = self.matrix[row].astype(np.float32) * np.float32(self.scales[row])
        return vector


def erase_vectors(file: VectorFile, is_erased: Callable[[str], bool]) -> VectorSnapshot | None:
    """Remove the rows of some keys from the files of a partition and of its earlier model."""
    if not file.folder.exists():
        return None
    with file.lock_for_writing():
        if file.earlier.folder.exists():
            file.earlier.erase(is_erased)
        return file.erase(is_erased)


class VectorFile:
    """The folder of one partition. Readers call `snapshot`; the one writer holds `writing`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = (
            threading.RLock()
        )  # of this process's snapshot; held briefly, never during a scan
        self._known: VectorSnapshot | None = None
        self._stamp: tuple[int, int] | None = None

    @cached_property
    def earlier(self) -> VectorFile:
        """Return the vectors of an earlier model that this one's have not replaced yet."""
        return VectorFile(self.folder / "earlier")

    def set_aside(self) -> None:
        """Keep the current generation as `earlier` (inside `writing`); `begin` then starts anew."""
        generation = self._generation()
        if generation is None:
            return
        self.earlier.clear()
        make_private_folder(self.earlier.folder)
        for path in self.folder.glob(f"{generation}.*"):
            try:
                os.link(path, self.earlier.folder / path.name)
            except OSError:  # a file system without links
                shutil.copyfile(path, self.earlier.folder / path.name)
        (self.earlier.folder / "current").write_text(str(generation), "ascii")

    def snapshot(self) -> VectorSnapshot | None:
        """Return the current state, or None if there is nothing.

        Costs two stat calls if nothing changed.
        """
        with self.lock:
            return self._snapshot()

    def _snapshot(self) -> VectorSnapshot | None:
        try:
            status = (self.folder / "current").stat()
        except FileNotFoundError:
            self._known = None
            return None
        stamp = (status.st_ino, status.st_mtime_ns)
        if self._known is None or stamp != self._stamp:
            self._known, self._stamp = self._open(), stamp
        try:
            self._catch_up(self._known)
        except FileNotFoundError:  # compacted meanwhile
            self._known, self._stamp = self._open(), None
            self._catch_up(self._known)
        return self._known

    def read_identity(self) -> str | None:
        """Return which model made the vectors, without reading them; None if there are none."""
        try:
            generation = self._generation()
            if generation is None:
                return None
            with self._journal_path(generation).open("rb") as file:
                header = _decode(file.readline(_MAX_JOURNAL_LINE))
        except (OSError, VectorFileError):
            return None
        return str(header["identity"]) if header and "identity" in header else None

    @contextmanager
    def lock_for_writing(self) -> Iterator[None]:
        """Hold the exclusive lock among processes and threads."""
        make_private_folder(self.folder)
        with exclusive_lock(self.folder / "lock"):
            yield

    def begin(self, identity: str, dimensions: int) -> VectorSnapshot:
        """Start an empty next generation (inside `writing`)."""
        generation = 1 + max(
            (int(path.stem) for path in self.folder.glob("*.journal") if path.stem.isdecimal()),
            default=0,
        )
        header = {"format": FORMAT, "identity": identity, "dimensions": dimensions}
        self._matrix_path(generation).write_bytes(b"")
        self._journal_path(generation).write_bytes(orjson.dumps(header) + b"\n")
        self._install(generation)
        found = self.snapshot()
        assert found is not None
        return found

    def append(
        self,
        snapshot: VectorSnapshot,
        named: Sequence[tuple[str, str]],
        vectors: Vectors,
        gone: Sequence[str],
    ) -> None:
        """Add rows for (key, digest) and retire keys (inside `writing`).

        Visible once the journal line is written.
        """
        matrix, scales = (
            quantise(vectors)
            if len(named)
            else (np.zeros((0, snapshot.dimensions), np.int8), np.zeros(0, np.float32))
        )
        start = len(snapshot.names)
        if len(named):
            with self._matrix_path(snapshot.generation).open("r+b") as file:
                file.seek(start * snapshot.dimensions)
                file.truncate()  # left by a writer that crashed
                file.write(matrix.tobytes())
                file.flush()
                sync_file(file.fileno())
        lines = [orjson.dumps({"k": key, "gone": 1}) for key in gone]
        lines += [
            orjson.dumps({"k": key, "d": digest, "r": start + at, "s": float(scales[at])})
            for at, (key, digest) in enumerate(named)
        ]
        with self._journal_path(snapshot.generation).open("r+b") as file:
            file.seek(snapshot.journal_bytes)
            file.truncate()
            file.write(b"".join(line + b"\n" for line in lines))
        with self.lock:
            self._catch_up(snapshot)

    def compact_if_worthwhile(self, snapshot: VectorSnapshot) -> VectorSnapshot:
        """Write the live rows as the next generation once a third is dead (inside `writing`)."""
        if snapshot.dead < _COMPACT_ROWS or snapshot.dead * 3 < len(snapshot.names):
            return snapshot
        return self.compact(snapshot)

    def erase(self, is_erased: Callable[[str], bool]) -> VectorSnapshot | None:
        """Remove the rows of some keys, and all dead rows, from the files (inside `writing`).

        Files that cannot be read are removed whole: they are made anew.
        """
        try:
            snapshot = self.snapshot()
        except VectorFileError:
            self.clear()
            return None
        if snapshot is None:
            return None
        erased = [key for key in snapshot.rows if is_erased(key)]
        if erased:
            self.append(snapshot, [], np.zeros((0, snapshot.dimensions), np.float32), erased)
        return self.compact(snapshot) if snapshot.dead else snapshot

    def compact(self, snapshot: VectorSnapshot) -> VectorSnapshot:
        """Write the live rows as the next generation (inside `writing`)."""
        generation = snapshot.generation + 1
        header = {
            "format": FORMAT,
            "identity": snapshot.identity,
            "dimensions": snapshot.dimensions,
        }
        lines = [orjson.dumps(header)]
        with self._matrix_path(generation).open("wb") as file:
            for at, key in enumerate(snapshot.ordered):
                row = snapshot.rows[key]
                file.write(snapshot.matrix[row].tobytes())
                lines.append(
                    orjson.dumps(
                        {
                            "k": key,
                            "d": snapshot.row_digests[row],
                            "r": at,
                            "s": snapshot.scales[row],
                        }
                    )
                )
            file.flush()
            sync_file(file.fileno())
        self._journal_path(generation).write_bytes(b"".join(line + b"\n" for line in lines))
        self._install(generation)
        found = self.snapshot()
        assert found is not None
        return found

    def clear(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self._known = None

    def ann_path(self, generation: int) -> Path:
        return self.folder / f"{generation}.ann"

    def _matrix_path(self, generation: int) -> Path:
        return self.folder / f"{generation}.matrix"

    def _journal_path(self, generation: int) -> Path:
        return self.folder / f"{generation}.journal"

    def _generation(self) -> int | None:
        try:
            return int((self.folder / "current").read_text("ascii"))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise VectorFileError(
                f"{self.folder / 'current'} does not name a generation"
            ) from error

    def _install(self, generation: int) -> None:
        """Make a generation current and delete the others; readers keep what they have mapped."""
        scratch = self.folder / f"current.{os.getpid()}"
        with scratch.open("w", encoding="ascii") as file:
            file.write(str(generation))
            file.flush()
            sync_file(file.fileno())
        scratch.replace(self.folder / "current")
        for path in self.folder.iterdir():
            number = path.name.partition(".")[0]
            if number.isdecimal() and int(number) != generation:
                path.unlink(missing_ok=True)

    def _open(self) -> VectorSnapshot:
        for _ in range(5):  # a compaction may delete a generation meanwhile
            generation = self._generation()
            if generation is None:
                break
            try:
                with self._journal_path(generation).open("rb") as file:
                    first = file.readline(_MAX_JOURNAL_LINE)
            except FileNotFoundError:
                continue
            header = _decode(first)
            if header is None or header.get("format") != FORMAT:
                raise VectorFileError(
                    f"{self._journal_path(generation)} has no header of format {FORMAT}"
                )
            dimensions = int(header["dimensions"])
            empty = np.zeros((0, dimensions), dtype=np.int8)
            return VectorSnapshot(
                generation, str(header["identity"]), dimensions, empty, journal_bytes=len(first)
            )
        raise VectorFileError(f"{self.folder} names a generation that is not there")

    def _catch_up(self, snapshot: VectorSnapshot) -> None:
        path = self._journal_path(snapshot.generation)
        if path.stat().st_size <= snapshot.journal_bytes:
            return
        with path.open("rb") as file:
            file.seek(snapshot.journal_bytes)
            data = file.read()
        complete = data[: data.rfind(b"\n") + 1]
        records = [
            record for line in complete.splitlines() if (record := _decode(line)) is not None
        ]
        if len(records) != complete.count(b"\n"):
            raise VectorFileError(f"{path} has a line that is not JSON")
        snapshot.apply(records)
        snapshot.journal_bytes += len(complete)
        self._map(snapshot)

    def _map(self, snapshot: VectorSnapshot) -> None:
        needed = len(snapshot.names) * snapshot.dimensions
        if len(snapshot.matrix) >= len(snapshot.names):
            return
        with self._matrix_path(snapshot.generation).open("rb") as file:
            if os.fstat(file.fileno()).st_size < needed:
                raise VectorFileError(
                    f"{self._matrix_path(snapshot.generation)} is shorter than its journal says"
                )
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        rows = np.frombuffer(
            mapped, dtype=np.int8, count=len(mapped) // snapshot.dimensions * snapshot.dimensions
        )
        snapshot.matrix = rows.reshape(-1, snapshot.dimensions)


def _decode(line: bytes) -> dict[str, Any] | None:
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None
