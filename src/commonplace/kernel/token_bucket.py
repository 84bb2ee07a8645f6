"""Token buckets: a sustained rate with bursts, for any number of names."""

from __future__ import annotations

import time
from collections.abc import Callable

from commonplace.kernel.lru import LruCache

MAX_BUCKETS = 10_000  # the least recently used bucket is dropped, which refills it


class TokenBuckets:
    """Buckets by name: `rate` tokens a second are added, up to `burst`.

    A rate of 0 or less means no limit. Not for use by several threads at once.
    """

    def __init__(
        self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._clock = clock
        self._levels: LruCache[str, tuple[float, float]] = LruCache(MAX_BUCKETS)

    def wait(self, name: str) -> float:
        """Return the seconds until a token is available; 0 if one is. Takes nothing."""
        if self._rate <= 0:
            return 0.0
        tokens = self._tokens(name, self._clock())
        return 0.0 if tokens >= 1 else (1 - tokens) / self._rate

    def take(self, name: str) -> None:
        """Take a token, also if none is available: call `wait` first."""
        if self._rate > 0:
            now = self._clock()
            self._levels.put(name, (self._tokens(name, now) - 1, now))

    def try_take(self, name: str) -> float:
        """Take a token and return 0, or return the seconds until one is available."""
        wait = self.wait(name)
        if wait <= 0:
            self.take(name)
        return wait

    def _tokens(self, name: str, now: float) -> float:
        tokens, then = self._levels.peek(name) or (self._burst, now)
        return min(self._burst, tokens + (now - then) * self._rate)
