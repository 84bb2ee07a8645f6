"""How many file operations a tenant may make, as contract 003 wants them counted: per tenant,
whatever its keys.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from commonplace.files.errors import RATE_LIMITED
from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.shared_rates import RateBucket, RatesUnavailableError, SharedRates


@dataclass(slots=True)
class RateLimit:
    """A bucket of calls per tenant, refilled steadily.

    `per_second` 0 = no limit. With `shared` all processes take from it.
    """

    per_second: float = 0.0
    burst: int = 400
    clock: Callable[[], float] = time.monotonic
    shared: SharedRates | None = None
    _buckets: dict[str, tuple[float, float]] = field(default_factory=dict)

    async def admit(self, tenant: str) -> None:
        if self.per_second <= 0:
            return
        wait = await self._wait(tenant)
        if wait > 0:
            raise CommonplaceError(
                RATE_LIMITED,
                f"More than {self.per_second:g} file operations per second.",
                hint=f"Wait {wait:.2f} s and retry.",
                details={"retry_after_seconds": round(wait, 3)},
                retryable=True,
            )

    async def _wait(self, tenant: str) -> float:
        """0 where a token was taken."""
        if self.shared is not None:
            try:
                return await self.shared.take(
                    [RateBucket(f"files:{tenant}", self.per_second, self.burst)]
                )
            except RatesUnavailableError:
                pass  # each process counts for itself meanwhile
        now = self.clock()
        level, seen = self._buckets.get(tenant, (float(self.burst), now))
        level = min(float(self.burst), level + (now - seen) * self.per_second)
        if level < 1:
            return (1 - level) / self.per_second
        if len(self._buckets) > 10_000:  # tenants that came once do not stay for ever
            self._buckets = {
                name: bucket for name, bucket in self._buckets.items() if now - bucket[1] < 60
            }
        self._buckets[tenant] = (level - 1, now)
        return 0.0
