"""Rate limits of keys and tenants."""

from __future__ import annotations

import functools
import time
from collections.abc import Awaitable, Callable, Sequence

from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import CALL_RATE_LIMITED, CommonplaceError
from commonplace.kernel.settings import LimitSettings
from commonplace.kernel.token_bucket import TokenBuckets
from commonplace.storage.shared_rates import RateBucket, RatesUnavailableError, SharedRates

Admission = Callable[[], Awaitable[None]]


class RateLimiter:
    """Limits calls: each takes a token of its key and of its tenant, or of neither.

    With `shared` all processes take from the same buckets; while those cannot be reached, each
    process counts for itself.
    """

    def __init__(
        self,
        settings: LimitSettings,
        clock: Callable[[], float] = time.monotonic,
        shared: Callable[[], SharedRates | None] = lambda: None,
    ) -> None:
        self._settings = settings
        self._shared = shared
        self._keys = TokenBuckets(settings.key_per_second, settings.key_burst, clock)
        self._tenants = TokenBuckets(settings.tenant_per_second, settings.tenant_burst, clock)

    def admit(self, auth: AuthContext) -> Admission | None:
        """Take tokens now, or return how to await them where all processes share the buckets.

        Raises CALL_RATE_LIMITED.
        """
        key = auth.key_id or auth.tenant
        buckets = self._buckets(key, auth.tenant)
        if not buckets:
            return None
        shared = self._shared()
        if shared is not None:
            return functools.partial(self._admit_shared, shared, buckets, key, auth.tenant)
        self._admit_here(key, auth.tenant)
        return None

    async def _admit_shared(
        self, shared: SharedRates, buckets: Sequence[RateBucket], key: str, tenant: str
    ) -> None:
        try:
            wait = await shared.take(buckets)
        except RatesUnavailableError:
            self._admit_here(key, tenant)
            return
        if wait > 0:
            raise _too_many(wait)

    def _admit_here(self, key: str, tenant: str) -> None:
        wait = max(self._keys.wait(key), self._tenants.wait(tenant))
        if wait > 0:
            raise _too_many(wait)
        self._keys.take(key)
        self._tenants.take(tenant)

    def _buckets(self, key: str, tenant: str) -> list[RateBucket]:
        limits = self._settings
        wanted = (
            RateBucket(f"key:{key}", limits.key_per_second, limits.key_burst, tenant),
            RateBucket(
                f"tenant:{tenant}", limits.tenant_per_second, limits.tenant_burst, str(tenant)
            ),
        )
        return [bucket for bucket in wanted if bucket.per_second > 0]


def _too_many(wait: float) -> CommonplaceError:
    return CommonplaceError(
        CALL_RATE_LIMITED,
        "Too many calls.",
        hint=f"Wait {wait:.2f} seconds, then retry.",
        details={"retry_after_seconds": round(wait, 3)},
        retryable=True,
    )
