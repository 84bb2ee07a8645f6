"""How telling a word is: the one definition of inverse document frequency."""

from __future__ import annotations

import math


def idf(documents: int, holders: int) -> float:
    """Return the inverse document frequency, never negative."""
    return math.log(1 + (max(documents, holders) - holders + 0.5) / (holders + 0.5))
