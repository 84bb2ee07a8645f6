"""Posting lists of frequent terms as arrays in memory, and BM25 over them: what SQLite's ranking statement gives, many times faster.

The tables stay the truth. Lists only grow at their end, because document ids are never reused: a cached list is brought up to date by
reading what lies behind its last id. A removed document stays in a list until it turns up in an answer; then the lists are read anew."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import orjson

from commonplace.storage.sqlite import Connection

if TYPE_CHECKING:
    import numpy as np

    Integers = np.ndarray[Any, np.dtype[np.int64 | np.int32]]
    Smalls = np.ndarray[Any, np.dtype[np.uint16]]
    Floats = np.ndarray[Any, np.dtype[np.float64]]

BUDGET_BYTES = 48 << 20  # six million postings
SAMPLED = 8  # one score in so many gives a bound that nearly all others stay below
DENSE_SLACK = 1_000_000  # ids between the first and the last that may be without a posting, before sums are kept sparsely
LENGTH_BITS = 16
FREQUENCY_BITS = 15
ID_SHIFT = LENGTH_BITS + FREQUENCY_BITS


@dataclass(frozen=True, slots=True)
class WeightedTerm:
    """A term of a query: its id, what BM25 makes of frequency f and length l (gain * f / (f + base + slope * l)), and who holds it."""

    term_id: int
    gain: float
    base: float
    slope: float
    documents: int


@dataclass(slots=True)
class _List:
    ids: Integers
    frequencies: Smalls
    lengths: Smalls

    @property
    def size(self) -> int:
        return int(self.ids.nbytes + self.frequencies.nbytes + self.lengths.nbytes)


class PostingCache:
    """Shared by the threads of a process. Needs numpy; `available` says whether it is there."""

    def __init__(self, tail_query: str, budget_bytes: int = BUDGET_BYTES) -> None:
        self._tail_query = tail_query
        self._budget_bytes = budget_bytes
        self._lists: OrderedDict[int, _List] = OrderedDict()
        self._held_bytes = 0
        self._guard = threading.Lock()

    @staticmethod
    def available() -> bool:
        return find_spec("numpy") is not None

    def ranked(self, connection: Connection, terms: Sequence[WeightedTerm], first: int) -> Iterator[tuple[int, float]]:
        """(document id, score), best first (equal scores by id). The first `first` are cheap; going on sorts the rest."""
        import numpy as np

        lists = [(term, self._list(connection, term.term_id)) for term in terms]
        lists = [(term, found) for term, found in lists if len(found.ids)]
        if not lists:
            return
        ids, scores = _summed(lists)
        edge = 0.0
        if len(scores) > first:
            edge = _edge(scores, first)
            if edge > 0:
                yield from _ordered(ids, scores, np.flatnonzero(scores >= edge))
        yield from _ordered(ids, scores, np.flatnonzero((scores > 0) & (scores < edge) if edge > 0 else scores > 0))

    def held(self) -> dict[str, int]:
        with self._guard:
            return {"entries": len(self._lists), "bytes": self._held_bytes, "most_bytes": self._budget_bytes}

    def forget(self, terms: Sequence[WeightedTerm]) -> None:
        """Read these lists anew next time."""
        with self._guard:
            for term in terms:
                dropped = self._lists.pop(term.term_id, None)
                self._held_bytes -= dropped.size if dropped else 0

    def _list(self, connection: Connection, term_id: int) -> _List:
        import numpy as np

        with self._guard:
            known = self._lists.get(term_id)
        last = int(known.ids[-1]) if known is not None and len(known.ids) else 0
        row = connection.execute(self._tail_query, {"term": term_id, "after": last, "shift": 1 << ID_SHIFT}).fetchone()
        fresh = np.array(orjson.loads(row[0]) if row else [], dtype=np.int64)
        if known is not None and not len(fresh):
            with self._guard:
                if term_id in self._lists:
                    self._lists.move_to_end(term_id)
            return known
        ids = fresh >> ID_SHIFT
        ids = ids.astype(np.int32) if not len(ids) or ids[-1] < 1 << 31 else ids
        made = _List(ids, (fresh >> LENGTH_BITS & ((1 << FREQUENCY_BITS) - 1)).astype(np.uint16), (fresh & 0xFFFF).astype(np.uint16))
        if known is not None:
            made = _List(
                np.concatenate((known.ids, made.ids)),
                np.concatenate((known.frequencies, made.frequencies)),
                np.concatenate((known.lengths, made.lengths)),
            )
        return self._keep(term_id, made)

    def _keep(self, term_id: int, made: _List) -> _List:
        with self._guard:
            old = self._lists.pop(term_id, None)
            self._held_bytes += made.size - (old.size if old else 0)
            self._lists[term_id] = made
            while self._held_bytes > self._budget_bytes and len(self._lists) > 1:
                _, dropped = self._lists.popitem(last=False)
                self._held_bytes -= dropped.size
        return made


def _summed(lists: Sequence[tuple[WeightedTerm, _List]]) -> tuple[Integers | int, Floats]:
    """Scores, and whose they are: an array of document ids, or the id of the first where they lie side by side (0 = no such one)."""
    import numpy as np

    ids = np.concatenate([found.ids for _, found in lists])
    parts = []
    for term, found in lists:
        frequency = found.frequencies.astype(np.float64)
        parts.append(term.gain * frequency / (frequency + term.base + term.slope * found.lengths))
    scores = np.concatenate(parts)
    low, high = int(ids.min()), int(ids.max())
    if high - low > len(ids) + DENSE_SLACK:
        documents, places = np.unique(ids, return_inverse=True)
        return documents, np.bincount(places, scores).astype(np.float64, copy=False)
    return low, np.bincount(ids - low, scores).astype(np.float64, copy=False)


def _edge(scores: Floats, first: int) -> float:
    """The score of the `first`-th best. That of a sample cannot be higher, so only what reaches it has to be looked at."""
    import numpy as np

    sample = scores[::SAMPLED]
    if len(sample) > SAMPLED * first:
        bound = np.partition(sample, len(sample) - first)[len(sample) - first]
        scores = scores[scores >= bound]
    return float(np.partition(scores, len(scores) - first)[len(scores) - first])


def _ordered(ids: Integers | int, scores: Floats, places: Any) -> Iterator[tuple[int, float]]:
    import numpy as np

    chosen = scores[places]
    for at in np.lexsort((places, -chosen)):
        place = int(places[at])
        yield place + ids if isinstance(ids, int) else int(ids[place]), float(chosen[at])
