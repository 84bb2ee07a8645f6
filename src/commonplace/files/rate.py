"""The rate limit of file operations per tenant (docs/reference/contracts/files.md)."""

from __future__ import annotations

import time
from collections.abc import Callable

from commonplace.files.errors import RATE_LIMITED
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.token_bucket import TokenBuckets
from commonplace.storage.shared_rates import RateBucket, RatesUnavailableError, SharedRates


class RateLimit:
    """A token bucket per tenant; `per_second` 0 = no limit.

    With `shared` all processes take from the same bucket.
    """

    def __init__(
        self,
        per_second: float = 0.0,
        burst: int = 400,
        clock: Callable[[], float] = time.monotonic,
        shared: SharedRates | None = None,
    ) -> None:
        self.per_second = per_second
        self.burst = burst
        self.shared = shared
        self._buckets = TokenBuckets(per_second, burst, clock)

    async def admit(self, tenant: str) -> None:
        """Raise RATE_LIMITED if the tenant is over its rate."""
        if self.per_second <= 0:
            return
        wait = await self._take(tenant)
        if wait > 0:
            raise CommonplaceError(
                RATE_LIMITED,
                f"More than {self.per_second:g} file operations per second.",
                hint=f"Wait {wait:.2f} s and retry.",
                details={"retry_after_seconds": round(wait, 3)},
                retryable=True,
            )

    async def _take(self, tenant: str) -> float:
        """Take a token and return 0, or return the seconds to wait."""
        if self.shared is not None:
            bucket = RateBucket(f"files:{tenant}", self.per_second, self.burst, tenant)
            try:
                return await self.shared.take([bucket])
            except RatesUnavailableError:
                pass  # each process counts for itself in the meantime
        return self._buckets.try_take(tenant)
