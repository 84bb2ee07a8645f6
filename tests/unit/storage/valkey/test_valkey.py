"""Valkey on a real server: expiring envelopes, shared rates, and outages."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator

import pytest
import redis

from commonplace.dispatch.limiter import RateLimiter
from commonplace.files.rate import RateLimit
from commonplace.kernel.auth import ALL_SCOPES, AuthContext, Tenant
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import LimitSettings
from commonplace.storage.credentials.envelope import Keyring
from commonplace.storage.credentials.handover import (
    CredentialHandover,
    CredentialPurpose,
    CredentialsUnavailableError,
)
from commonplace.storage.network_loop import NetworkLoop
from commonplace.storage.shared_rates import RateBucket, RatesUnavailableError
from commonplace.storage.valkey.client import Valkey
from commonplace.storage.valkey.envelopes import ValkeyEnvelopeStore
from commonplace.storage.valkey.rates import ValkeyRates
from servers import Valkey as Server

KEY = "sk-caller-0123456789"
KEKS = {1: "a-secret-of-some-length"}


@pytest.fixture
def outbound() -> Iterator[NetworkLoop]:
    made = NetworkLoop()
    yield made
    made.close()


def test_only_the_envelope_is_stored_and_it_expires(valkey_url: str, outbound: NetworkLoop) -> None:
    handover = CredentialHandover(
        Keyring(KEKS), ValkeyEnvelopeStore(Valkey(valkey_url, outbound)), "mcp:files:cred", 300
    )
    purposes = [CredentialPurpose("t" * 64, "p", f"/{n}") for n in range(1200)]
    references = asyncio.run(handover.deposit(purposes, KEY))
    with redis.Redis.from_url(valkey_url) as client:
        assert client.dbsize() == 1200
        assert 290 <= client.ttl(references[0]) <= 300
        assert KEY.encode() not in client.get(references[0])
        assert KEKS[1].encode() not in client.get(references[0])
    assert asyncio.run(handover.collect(purposes[7], references[7])) == KEY
    assert asyncio.run(handover.collect(purposes[8], references[7])) is None
    asyncio.run(handover.discard(references))
    with redis.Redis.from_url(valkey_url) as client:
        assert client.dbsize() == 0


def test_two_keyrings_share_envelopes_while_a_key_is_rotated(
    valkey_url: str, outbound: NetworkLoop
) -> None:
    """The documented order: every process learns the new key, then it seals, then the old one
    goes when its envelopes are over.
    """
    store = ValkeyEnvelopeStore(Valkey(valkey_url, outbound))
    old, both, new = (
        {1: "first-secret-0123"},
        {1: "first-secret-0123", 2: "second-secret-012"},
        {2: "second-secret-012"},
    )
    here = CredentialPurpose("t", "p", "/a")

    def passed(sealing: dict[int, str], opening: dict[int, str]) -> str | None:
        (reference,) = asyncio.run(
            CredentialHandover(Keyring(sealing), store, "x", 300).deposit([here], KEY)
        )
        return asyncio.run(
            CredentialHandover(Keyring(opening), store, "x", 300).collect(here, reference)
        )

    assert passed(old, both) == KEY  # servers first or workers first: neither order loses a key
    assert passed(both, both) == KEY
    assert passed(both, new) == KEY
    assert passed(old, new) is None  # too early: the job waits for its tenant's next call
    assert passed(both, old) is None


def test_buckets_are_shared_by_all_processes(valkey_url: str) -> None:
    loops = [NetworkLoop() for _ in range(3)]
    rates = [ValkeyRates(Valkey(valkey_url, loop)) for loop in loops]
    bucket = RateBucket("tenant:a", 0.5, 30)

    async def storm() -> list[float]:
        return await asyncio.gather(*(rates[n % 3].take([bucket]) for n in range(90)))

    waits = asyncio.run(storm())
    assert sum(wait == 0 for wait in waits) in (30, 31)
    assert all(0 < wait <= 2 for wait in waits if wait)
    for loop in loops:
        loop.close()


def test_a_refused_call_takes_from_no_bucket(valkey_url: str, outbound: NetworkLoop) -> None:
    rates = ValkeyRates(Valkey(valkey_url, outbound))
    small, large = RateBucket("key", 0.01, 1), RateBucket("tenant", 0.01, 2)

    async def story() -> None:
        assert await rates.take([small, large]) == 0
        assert await rates.take([small, large]) > 0
        assert await rates.take([large]) == 0
        assert await rates.take([large]) > 0

    asyncio.run(story())


def test_limits_of_calls_and_of_files_hold_across_processes(
    valkey_url: str, outbound: NetworkLoop
) -> None:
    caller = AuthContext(Tenant("a"), ALL_SCOPES, "x", key_id="k")
    limits = LimitSettings(tenant_per_second=0.01, tenant_burst=4)
    processes = [
        RateLimiter(limits, shared=lambda: ValkeyRates(Valkey(valkey_url, outbound)))
        for _ in range(2)
    ]
    files = [RateLimit(0.01, 4, shared=ValkeyRates(Valkey(valkey_url, outbound))) for _ in range(2)]

    async def outcome(admission: Callable[[], Awaitable[None]]) -> str:
        try:
            await admission()
        except CommonplaceError as refused:
            return refused.code.name
        return "ok"

    async def story() -> tuple[list[str], list[str]]:
        calls = [await outcome(processes[turn % 2].admit(caller) or never) for turn in range(8)]
        return calls, [
            await outcome(lambda turn=turn: files[turn % 2].admit("a")) for turn in range(8)
        ]  # type: ignore[misc]

    async def never() -> None:
        raise AssertionError("the rate was not counted")

    assert asyncio.run(story()) == (
        ["ok"] * 4 + ["CALL_RATE_LIMITED"] * 4,
        ["ok"] * 4 + ["RATE_LIMITED"] * 4,
    )


def test_an_outage_is_reported_soon_and_its_end_is_noticed() -> None:
    outbound, server = NetworkLoop(), Server()
    try:
        valkey = Valkey(server.url, outbound)
        envelopes, rates = ValkeyEnvelopeStore(valkey), ValkeyRates(valkey)
        asyncio.run(envelopes.put({"a": "sealed"}, 60))
        server.stop()
        begun = time.monotonic()
        for _ in range(20):
            with pytest.raises(CredentialsUnavailableError):
                asyncio.run(envelopes.get("a"))
            with pytest.raises(RatesUnavailableError):
                asyncio.run(rates.take([RateBucket("x", 1.0, 1)]))
        assert time.monotonic() - begun < 5
        limiter = RateLimit(0.01, 2, shared=rates)  # meanwhile each process counts for itself

        async def three() -> None:
            for _ in range(3):
                await limiter.admit("a")

        with pytest.raises(CommonplaceError):
            asyncio.run(three())
        server.start()
        give_up = time.monotonic() + 20
        while True:
            try:
                assert asyncio.run(envelopes.get("a")) is None  # it held everything in memory
                break
            except CredentialsUnavailableError:
                assert time.monotonic() < give_up
                time.sleep(0.1)
        assert asyncio.run(valkey.health()).version
    finally:
        outbound.close()
        server.close()
