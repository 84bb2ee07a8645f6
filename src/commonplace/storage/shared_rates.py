"""Rates that several processes share: what a limiter needs of whoever counts for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class RatesUnavailableError(Exception):
    """Nobody counts for all at the moment: count for yourself."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """Tokens of one name: so many a second, at most `burst`."""

    name: str
    per_second: float
    burst: int


class SharedRates(Protocol):
    async def take(self, buckets: Sequence[Bucket]) -> float:
        """Take a token from every bucket, or from none and say how many seconds to wait."""
        ...
