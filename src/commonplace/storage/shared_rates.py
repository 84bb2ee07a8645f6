"""Rates that several processes share: the interface of a common counter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class RatesUnavailableError(Exception):
    """The common counter cannot be reached: each process must count for itself."""


@dataclass(frozen=True, slots=True)
class RateBucket:
    """A named token bucket: `per_second` tokens are added, up to `burst`.

    Buckets that are taken together must have the same group, which never changes for a name.
    """

    name: str
    per_second: float
    burst: int
    group: str = ""


class SharedRates(Protocol):
    """Token buckets that several processes take from."""

    async def take(self, buckets: Sequence[RateBucket]) -> float:
        """Take a token from every bucket and return 0, or take none and return the seconds to wait.

        Raises RatesUnavailableError.
        """
        ...
