"""How alike two entries are by their words: the cosine of weighted stems.

Stands in for vectors where no model is installed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from commonplace.memory.engine.terms import telling_terms

TEXT_CHARACTERS = 20_000
# On the labelled pairs this separates as well as 0.75 does for vectors (see the memory benchmark).
LEXICAL_LINK = 0.55
LEXICAL_GENERALIZE = 0.60


def count_terms(text: str) -> Mapping[str, int]:
    """How often a text holds each of its telling terms; of a very long one, its beginning."""
    return Counter(telling_terms(text if len(text) <= TEXT_CHARACTERS else text[:TEXT_CHARACTERS]))


def term_weights(
    counts: Mapping[str, int], rarity: Mapping[str, float], usual: float
) -> dict[str, float]:
    """Unit vector of a text's terms: frequent ones count by the logarithm, and each by its
    rarity, `usual` where it is not known.
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
    """Cosine of two such vectors, 0 to 1."""
    if len(b) < len(a):
        a, b = b, a
    return min(1.0, sum([weight * b[term] for term, weight in a.items() if term in b]))


def shared_terms(a: Mapping[str, float], b: Mapping[str, float], limit: int = 5) -> tuple[str, ...]:
    """The terms that make two entries alike, strongest first."""
    common = sorted(
        ((a[term] * b[term], term) for term in a.keys() & b.keys()),
        key=lambda item: (-item[0], item[1]),
    )
    return tuple(term for _, term in common[:limit])
