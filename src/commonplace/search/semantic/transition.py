"""Search while one model replaces another: each passage counts by the vector that it has."""

from __future__ import annotations

import math
from collections.abc import Collection

from commonplace.search.fusion import PIVOT, Parameters, semantic_evidence
from commonplace.search.model import Neighbours


def translate_cosine(cosine: float, of: Parameters, to: Parameters) -> float:
    """Return the cosine of another model that says as much as this one, against the same words."""
    said = semantic_evidence(cosine, of) * to.lexical_weight / of.lexical_weight
    return PIVOT + math.log(max(said * to.sharpness, 1e-12)) / to.sharpness


def merge_models(
    current: Neighbours,
    earlier: Neighbours,
    limit: int,
    also: Collection[str],
    *,
    of: Parameters,
    to: Parameters,
    other_model: str,
) -> Neighbours:
    """Return the nearest by either model, and those in `also`; a passage has one vector.

    `of` are the parameters of the `other_model`, `to` those of the current one. Vectors are those
    of the current model alone: the two cannot be compared with each other.
    """
    cosines = {
        key: translate_cosine(cosine, of, to)
        for key, cosine in earlier.cosines.items()
        if key not in current.cosines
    }
    cosines |= current.cosines
    wanted = set(also)
    best = sorted(cosines, key=lambda key: (-cosines[key], key))
    kept = [key for at, key in enumerate(best) if at < limit or key in wanted]
    return Neighbours(
        {key: cosines[key] for key in kept},
        current.rows + earlier.rows,
        current.exact and earlier.exact,
        {key: vector for key, vector in current.vectors.items() if key in cosines},
        other_model,
    )
