"""Documents with several vectors: which rows belong to one, and which documents are nearest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from commonplace.search.semantic.vector_file import Vectors, VectorSnapshot, VectorView

Rows = npt.NDArray[np.int64]
_WIDEN = 4  # times as many rows are read while they belong to too few documents


@dataclass(frozen=True, slots=True)
class PartNames:
    """Keys of parts: that of the document, for the others followed by `mark` and a number."""

    mark: str | None = None

    def rows_of(
        self, snapshot: VectorSnapshot, documents: Iterable[str], beginnings: bool
    ) -> dict[str, list[int]]:
        """Return the rows of documents, without those that have none."""
        found: dict[str, list[int]] = {}
        for document in documents:
            keys = [document] if document in snapshot.rows else []
            if self.mark is not None and not beginnings:
                keys += snapshot.keys_with(document + self.mark)
            if keys:
                found[document] = [snapshot.rows[key] for key in keys]
        return found

    def nearest(
        self,
        names: Sequence[str | None],
        view: VectorView,
        rows: Rows,
        scores: Vectors,
        limit: int,
        beginnings: bool,
    ) -> dict[str, list[int]]:
        """Return the best row of each of the `limit` nearest documents."""
        size = limit
        while True:
            found: dict[str, list[int]] = {}
            for at in best_positions(scores, size):
                row = int(rows[at])
                name = names[row]
                if name is None or not view.weights[row] > 0:
                    continue
                document, mark, _ = name.partition(self.mark) if self.mark else (name, "", "")
                if not (mark and beginnings) and len(found) < limit:
                    found.setdefault(document, [row])
            if self.mark is None or len(found) >= limit or size >= len(scores):
                return found
            size *= _WIDEN


WHOLE_DOCUMENTS = PartNames()  # every key is a document


def best_parts(
    view: VectorView, found: Mapping[str, Sequence[int]], query: Vectors
) -> tuple[dict[str, float], dict[str, Vectors]]:
    """Return the cosine and the vector of the nearest row of each document."""
    owners = [document for document, rows in found.items() for _ in rows]
    flat = np.array([row for rows in found.values() for row in rows], dtype=np.int64)
    vectors = view.vectors_of(flat)
    cosines: dict[str, float] = {}
    nearest: dict[str, Vectors] = {}
    for at, (document, cosine) in enumerate(zip(owners, map(float, vectors @ query), strict=True)):
        if document not in cosines or cosine > cosines[document]:
            cosines[document], nearest[document] = cosine, vectors[at]
    return cosines, nearest


def best_positions(scores: Vectors, limit: int) -> list[int]:
    """Return the positions of the highest scores, best first; ties by position."""
    if len(scores) > limit:
        picked = np.argpartition(-scores, limit)[:limit]
        picked.sort()
    else:
        picked = np.arange(len(scores))
    return [int(at) for at in picked[np.argsort(-scores[picked], kind="stable")]]
