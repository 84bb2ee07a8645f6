"""Similarity of two entries by their words: the cosine of weighted stems.

Replaces vectors where no model is installed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from commonplace.memory.engine.terms import significant_terms

TEXT_CHARACTERS = 20_000
# Separates the labelled pairs as well as 0.75 does for vectors (benchmarks/memory_quality.py).
LEXICAL_LINK = 0.55
LEXICAL_GENERALIZE = 0.60


def count_terms(text: str) -> Mapping[str, int]:
    """Count the significant terms of a text, or of the beginning of a very long one."""
    return Counter(
        significant_terms(text if len(text) <= TEXT_CHARACTERS else text[:TEXT_CHARACTERS])
    )


def term_weights(
    counts: Mapping[str, int], rarity: Mapping[str, float], usual: float
) -> dict[str, float]:
    """Return the unit vector of a text's terms, weighted by log frequency and rarity.

    `usual` is the rarity of terms that are not in `rarity`.
    """
    weights = {
        term: usual if count == 1 else (1 + math.log(count)) * usual
        for term, count in counts.items()
    }
    for term in rarity.keys() & weights.keys():
        weights[term] = (1 + math.log(counts[term])) * rarity[term]
    length = math.sqrt(sum([weight * weight for weight in weights.values()]))
    return {term: weight / length for term, weight in weights.items()} if length else {}


def overlap(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    """Return the cosine of two such vectors, 0 to 1."""
    if len(b) < len(a):
        a, b = b, a
    return min(1.0, sum([weight * b[term] for term, weight in a.items() if term in b]))


def shared_terms(a: Mapping[str, float], b: Mapping[str, float], limit: int = 5) -> tuple[str, ...]:
    """Return the terms that contribute most to the similarity, strongest first."""
    common = sorted(
        ((a[term] * b[term], term) for term in a.keys() & b.keys()),
        key=lambda item: (-item[0], item[1]),
    )
    return tuple(term for _, term in common[:limit])
