"""Meaning of whole texts: the vectors of their passages, and the nearest texts to a query.

A text is as near as its nearest passage. The vectors are files of the data folder that all
processes share; one process at a time embeds, the others read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from commonplace.search.model import Neighbours, Partition, Passage
from commonplace.search.profiles import parameters_of
from commonplace.search.semantic.embed import EmbedderUnavailableError, legibility
from commonplace.search.whole_texts.passages import SEPARATOR, name_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from commonplace.search.fusion import Parameters
    from commonplace.search.model import Vectors
    from commonplace.search.semantic.local import Semantics
    from commonplace.search.semantic.vector_file import VectorSnapshot

_NOWHERE = -2.0  # below every cosine


@dataclass(slots=True)
class _TextRows:
    """Which row of the matrix belongs to which text, for one state of the vectors."""

    generation: int
    rows: int
    journal_bytes: int
    names: list[str]
    places: dict[str, int]  # name -> position in `names`
    owners: npt.NDArray[np.int64]  # row -> position of its text; dead rows belong to position 0


class TextMeaning:
    """Vectors of the passages of one collection of texts. Blocking: call it from a thread."""

    def __init__(self, semantics: Semantics, partition: Partition) -> None:
        self._semantics = semantics
        self._partition = partition
        self._known: _TextRows | None = None

    @property
    def parameters(self) -> Parameters:
        """Return the parameters of fusion that were fitted to the model."""
        return parameters_of(self._semantics.embedder.identity)

    def embed_query(self, query: str) -> tuple[Vectors, float]:
        """Return the vector of a query and how well the model reads it.

        Raises EmbedderUnavailableError.
        """
        embedder = self._semantics.embedder
        return embedder.embed_query(query), legibility(embedder, query)

    def nearest(
        self,
        vector: Vectors,
        limit: int,
        also: Iterable[str] = (),
        allowed: Collection[str] | None = None,
    ) -> Neighbours:
        """Return the nearest texts among the allowed ones, and the cosines of those in `also`."""
        import numpy as np

        snapshot = self._snapshot()
        if snapshot is None or not snapshot.rows:
            return Neighbours({}, 0, exact=True)
        view = snapshot.view()
        known = self._rows(snapshot)
        rows = min(len(view.weights), len(known.owners))  # the files may grow meanwhile
        owners = known.owners[:rows]
        scores = np.where(view.weights > 0, view.similarities(vector), _NOWHERE)[:rows]
        best = np.full(len(known.names), _NOWHERE, dtype=np.float32)
        np.maximum.at(best, owners, scores)
        reachable = best
        if allowed is not None:
            reachable = np.full(len(best), _NOWHERE, dtype=np.float32)
            kept = [known.places[name] for name in allowed if name in known.places]
            reachable[kept] = best[kept]
        count = min(limit, len(best))
        nearest = np.argpartition(-reachable, count - 1)[:count]
        found = [int(at) for at in nearest if reachable[at] > _NOWHERE]
        found += [known.places[name] for name in also if name in known.places]
        places = [at for at in dict.fromkeys(found) if best[at] > _NOWHERE]
        cosines = {known.names[at]: float(best[at]) for at in places}
        picked = _nearest_rows(owners, scores, places)
        vectors = view.vectors_of(np.array(picked, dtype=np.int64))
        own = dict(zip([known.names[at] for at in places], vectors, strict=True))
        return Neighbours(cosines, len(known.names), exact=True, vectors=own)

    def compare(self, vector: Vectors, names: Sequence[str], most: int) -> Neighbours:
        """Return the cosines of the first passages of some texts, where they have a vector.

        `vectors` are those of the `most` nearest.
        """
        import numpy as np

        snapshot = self._snapshot()
        known = snapshot.rows if snapshot is not None else {}
        rows = {
            name: row for name in names if (row := known.get(f"{name}{SEPARATOR}0")) is not None
        }
        if snapshot is None or not rows:
            return Neighbours({}, 0, exact=True)
        present = list(rows)
        view = snapshot.view()
        places = np.array([rows[name] for name in present], dtype=np.int64)
        scores = view.similarities_of(places, vector)
        nearest = np.argsort(-scores, kind="stable")[:most]
        vectors = view.vectors_of(places[nearest])
        own = dict(zip((present[at] for at in nearest), vectors, strict=True))
        cosines = dict(zip(present, map(float, scores), strict=True))
        return Neighbours(cosines, len(present), exact=True, vectors=own)

    def synchronise(self, name: str, passages: Sequence[Passage], most: int | None = None) -> int:
        """Make the vectors of a text those of its passages; return how many are missing.

        Raises EmbedderUnavailableError.
        """
        return self._semantics.vectors.synchronise_with(
            self._partition, name + SEPARATOR, passages, self._semantics.embedder.embed, most
        )

    def is_current(self, name: str, passages: Sequence[Passage]) -> bool:
        """Tell whether the vectors of a text are those of its passages."""
        snapshot = self._snapshot()
        if snapshot is None:
            return not passages
        rows, digests = snapshot.rows, snapshot.row_digests
        following = f"{name}{SEPARATOR}{len(passages)}"  # numbered without gaps
        return following not in rows and all(
            (row := rows.get(passage.key)) is not None and digests[row] == passage.digest
            for passage in passages
        )

    def find_names(self) -> set[str]:
        """Return the names of the texts that have vectors."""
        snapshot = self._snapshot()
        return set() if snapshot is None else {name_of(key) for key in snapshot.rows}

    def embedding(self) -> AbstractContextManager[bool]:
        """Try to be the one process that embeds; the value says whether this one is."""
        return self._semantics.vectors.try_to_lead(self._partition)

    def _snapshot(self) -> VectorSnapshot | None:
        return self._semantics.vectors.snapshot(self._partition)

    def _rows(self, snapshot: VectorSnapshot) -> _TextRows:
        known = self._known
        state = (snapshot.generation, len(snapshot.names), snapshot.journal_bytes)
        if known is None or (known.generation, known.rows, known.journal_bytes) != state:
            known = self._known = _own_rows(snapshot, state)
        return known


def _nearest_rows(
    owners: npt.NDArray[np.int64], scores: Vectors, places: Sequence[int]
) -> list[int]:
    """Return the row of the nearest passage of each of some texts."""
    import numpy as np

    wanted = np.zeros(int(owners.max()) + 1, dtype=bool)
    wanted[places] = True
    rows = np.flatnonzero(wanted[owners])
    order = rows[np.argsort(scores[rows], kind="stable")]
    nearest = {int(owners[row]): int(row) for row in order}  # the last one is the best
    return [nearest[at] for at in places]


def _own_rows(snapshot: VectorSnapshot, state: tuple[int, int, int]) -> _TextRows:
    import numpy as np

    places: dict[str, int] = {}
    keys = list(snapshot.names)
    owners = np.zeros(len(keys), dtype=np.int64)
    for row, key in enumerate(keys):
        if key is not None:
            owners[row] = places.setdefault(name_of(key), len(places))
    generation, rows, journal_bytes = state
    return _TextRows(generation, rows, journal_bytes, list(places), places, owners)


class TextMeaningQuery:
    """`SemanticQuery` against the vectors of whole texts."""

    def __init__(
        self,
        meaning: TextMeaning,
        query: str,
        limit: int,
        allowed: Collection[str] | None,
    ) -> None:
        self._meaning = meaning
        self._query = query
        self._limit = limit
        self._allowed = allowed
        self._vector: Vectors | None = None

    @property
    def parameters(self) -> Parameters:
        return self._meaning.parameters

    async def embed(self) -> float:
        import asyncio

        self._vector, legible = await asyncio.to_thread(self._meaning.embed_query, self._query)
        return legible

    async def nearest(self, also: Sequence[str]) -> Neighbours:
        import asyncio

        assert self._vector is not None, "call embed first"
        try:
            return await asyncio.to_thread(
                self._meaning.nearest, self._vector, self._limit, also, self._allowed
            )
        except Exception as error:  # vectors that cannot be read: ranked by words
            raise EmbedderUnavailableError(f"the vectors cannot be read: {error}") from error
