"""Posting lists of frequent terms as arrays in memory, ranked many times faster than by SQL.

The tables stay authoritative. Lists only grow at their end, because document ids are never reused:
a list, cached or packed on disk (packing.py), is brought up to date by reading what comes after its
last id. A deleted document stays in a list and is skipped; when a search finds many of them, the
lists are read again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import orjson

from commonplace.kernel.lru import LruCache
from commonplace.search.lexical.bm25 import TermWeight
from commonplace.storage.relational import SqlConnection

if TYPE_CHECKING:
    import numpy as np

    Integers = np.ndarray[Any, np.dtype[np.int64 | np.int32]]
    Smalls = np.ndarray[Any, np.dtype[np.uint16]]
    Floats = np.ndarray[Any, np.dtype[np.float64]]

BUDGET_BYTES = 48 << 20  # six million postings
SAMPLED = 8  # one score in so many is sampled for a lower bound
# unused ids between the first and the last up to which sums are dense
DENSE_SLACK = 1_000_000
LENGTH_BITS = 16
FREQUENCY_BITS = 15
ID_SHIFT = LENGTH_BITS + FREQUENCY_BITS


@dataclass(slots=True)
class _List:
    """The postings of a term, as columns; complete for documents up to the id `upto`."""

    ids: Integers
    frequencies: Smalls
    lengths: Smalls
    upto: int = 0

    @property
    def columns(self) -> tuple[Any, Any, Any]:
        return self.ids, self.frequencies, self.lengths

    @property
    def size(self) -> int:
        return int(self.ids.nbytes + self.frequencies.nbytes + self.lengths.nbytes)


class PostingCache:
    """Shared by the threads of a process. Needs numpy; see `available`."""

    def __init__(self, queries: Mapping[str, str], budget_bytes: int = BUDGET_BYTES) -> None:
        self._queries = queries
        self._budget_bytes = budget_bytes
        self._lists: LruCache[int, _List] = LruCache(
            max_size=budget_bytes, size_of=attrgetter("size")
        )

    @staticmethod
    def available() -> bool:
        return find_spec("numpy") is not None

    def ranked(
        self,
        connection: SqlConnection,
        terms: Sequence[TermWeight],
        first: int,
        *,
        refresh: bool = False,
        buffered: bool = True,
    ) -> Iterator[tuple[int, float]]:
        """Yield (document id, score), best first, ties by id.

        The first `first` are cheap; going on sorts the rest. Deleted documents may be among them,
        unless `refresh` reads the lists from their rows again. `buffered`: some documents of the
        partition are in the write buffer, and will get postings behind later ids.
        """
        import numpy as np

        upto = 0 if buffered else self._last_document(connection)
        lists = [(term, self._list(connection, term.term_id, refresh, upto)) for term in terms]
        lists = [(term, found) for term, found in lists if len(found.ids)]
        if not lists:
            return
        ids, scores = _sum_scores(lists)
        edge = 0.0
        if len(scores) > first:
            edge = _edge(scores, first)
            if edge > 0:
                yield from _iterate_sorted(ids, scores, np.flatnonzero(scores >= edge))
        yield from _iterate_sorted(
            ids, scores, np.flatnonzero((scores > 0) & (scores < edge) if edge > 0 else scores > 0)
        )

    def matching(
        self, terms: Sequence[TermWeight], document_ids: Sequence[int]
    ) -> list[tuple[int, int]] | None:
        """Return which (document id, term id) belong together.

        None if a list is not in memory, or not complete up to the newest of the documents.
        """
        import numpy as np

        if not document_ids:
            return []
        wanted = np.array(sorted(document_ids), dtype=np.int64)
        pairs: list[tuple[int, int]] = []
        for term in terms:
            found = self._lists.peek(term.term_id)
            if found is None or found.upto < wanted[-1]:
                return None
            if len(found.ids):
                at = np.minimum(np.searchsorted(found.ids, wanted), len(found.ids) - 1)
                held = wanted[found.ids[at] == wanted]
                pairs += [(document_id, term.term_id) for document_id in held.tolist()]
        return pairs

    def size(self) -> dict[str, int]:
        return {
            "entries": len(self._lists),
            "bytes": self._lists.size,
            "most_bytes": self._budget_bytes,
        }

    def _list(self, connection: SqlConnection, term_id: int, refresh: bool, upto: int) -> _List:
        """Return a list that is complete up to a document id; 0: as far as the rows go."""
        import numpy as np

        known = self._lists.get(term_id) if not refresh else None
        if known is not None and 0 < upto <= known.upto:
            return known
        if known is None and not refresh:
            known = self._load_packed(connection, term_id)
        last = int(known.ids[-1]) if known is not None and len(known.ids) else 0
        fresh = read_postings(connection, self._queries, term_id, last)
        made = _unpack(fresh)
        if known is not None and not len(fresh):
            made = known
        elif known is not None:
            pairs = zip(known.columns, made.columns, strict=True)
            ids, frequencies, lengths = (np.concatenate(pair) for pair in pairs)
            made = _List(ids, frequencies, lengths)
        made.upto = max(made.upto, upto)
        self._lists.put(term_id, made)
        return made

    def _last_document(self, connection: SqlConnection) -> int:
        row = connection.execute(self._queries["last_document"]).fetchone()
        return int(row[0]) if row else 0

    def _load_packed(self, connection: SqlConnection, term_id: int) -> _List | None:
        import numpy as np

        row = connection.execute(self._queries["packed"], {"term": term_id}).fetchone()
        return _unpack(np.frombuffer(row[0], dtype="<i8")) if row else None


def read_postings(
    connection: SqlConnection, queries: Mapping[str, str], term_id: int, after: int
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the postings of a term after a document id, each in one number."""
    import numpy as np

    row = connection.execute(
        queries["postings_after"], {"term": term_id, "after": after, "shift": 1 << ID_SHIFT}
    ).fetchone()
    return np.array(orjson.loads(row[0]) if row else [], dtype=np.int64)


def _unpack(postings: Any) -> _List:
    import numpy as np

    ids = postings >> ID_SHIFT
    ids = ids.astype(np.int32) if not len(ids) or ids[-1] < 1 << 31 else ids
    return _List(
        ids,
        (postings >> LENGTH_BITS & ((1 << FREQUENCY_BITS) - 1)).astype(np.uint16),
        (postings & 0xFFFF).astype(np.uint16),
    )


def _sum_scores(lists: Sequence[tuple[TermWeight, _List]]) -> tuple[Integers | int, Floats]:
    """Return document ids and scores; instead of ids, the first id if they are dense."""
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
    """Return the score of the `first`-th best.

    The same rank of a sample cannot be higher, so only scores above it are partitioned.
    """
    import numpy as np

    sample = scores[::SAMPLED]
    if len(sample) > SAMPLED * first:
        bound = np.partition(sample, len(sample) - first)[len(sample) - first]
        scores = scores[scores >= bound]
    return float(np.partition(scores, len(scores) - first)[len(scores) - first])


def _iterate_sorted(
    ids: Integers | int, scores: Floats, places: Any
) -> Iterator[tuple[int, float]]:
    import numpy as np

    chosen = scores[places]
    for at in np.lexsort((places, -chosen)):
        place = int(places[at])
        yield place + ids if isinstance(ids, int) else int(ids[place]), float(chosen[at])
