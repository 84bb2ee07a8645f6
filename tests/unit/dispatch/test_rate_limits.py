"""Token buckets per key and per tenant."""

from __future__ import annotations

import pytest

from commonplace.dispatch.limiter import RateLimiter
from commonplace.kernel.auth import ALL_SCOPES, AuthContext, Tenant
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import LimitSettings


class Time:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def caller(tenant: str, key: str | None = None) -> AuthContext:
    return AuthContext(Tenant(tenant), ALL_SCOPES, "x", key_id=key)


def admitted(limiter: RateLimiter, auth: AuthContext, tries: int) -> int:
    refused: list[CommonplaceError] = []
    for _ in range(tries):
        try:
            limiter.admit(auth)
        except CommonplaceError as error:
            refused.append(error)
    assert all(error.code.name == "CALL_RATE_LIMITED" and error.retryable for error in refused)
    assert all(error.details["retry_after_seconds"] > 0 for error in refused)
    return tries - len(refused)


def test_by_default_nothing_is_limited() -> None:
    assert admitted(RateLimiter(LimitSettings()), caller("a"), 10_000) == 10_000


def test_a_key_may_use_its_burst_then_its_rate() -> None:
    time = Time()
    limiter = RateLimiter(LimitSettings(key_per_second=10.0, key_burst=5), time)
    assert admitted(limiter, caller("a", "k1"), 20) == 5
    time.now += 1.0
    assert admitted(limiter, caller("a", "k1"), 20) == 5  # the bucket holds no more than its burst
    time.now += 0.25
    assert admitted(limiter, caller("a", "k1"), 20) == 2
    assert admitted(limiter, caller("a", "k2"), 20) == 5


def test_keys_of_a_tenant_share_the_tenants_limit() -> None:
    time = Time()
    limiter = RateLimiter(LimitSettings(tenant_per_second=1.0, tenant_burst=6), time)
    assert admitted(limiter, caller("a", "k1"), 4) == 4
    assert admitted(limiter, caller("a", "k2"), 4) == 2
    assert admitted(limiter, caller("b", "k3"), 4) == 4


def test_a_refused_call_takes_from_neither_bucket() -> None:
    time = Time()
    limiter = RateLimiter(
        LimitSettings(key_per_second=1.0, key_burst=10, tenant_per_second=1.0, tenant_burst=1), time
    )
    assert admitted(limiter, caller("a", "k1"), 100) == 1
    time.now += 5.0
    assert admitted(limiter, caller("b", "k1"), 1) == 1


def test_a_call_after_the_stated_wait_is_admitted() -> None:
    time = Time()
    limiter = RateLimiter(LimitSettings(key_per_second=3.0, key_burst=1), time)
    limiter.admit(caller("a"))
    with pytest.raises(CommonplaceError) as caught:
        limiter.admit(caller("a"))
    time.now += caught.value.details["retry_after_seconds"] + 0.001
    limiter.admit(caller("a"))
