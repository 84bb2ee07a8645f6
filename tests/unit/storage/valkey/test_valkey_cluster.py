"""Valkey in cluster mode, with the slots on two nodes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest
import redis

from commonplace.dispatch.limiter import RateLimiter
from commonplace.kernel.auth import ALL_SCOPES, AuthContext, Tenant
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import LimitSettings
from commonplace.storage.credentials.envelope import Keyring
from commonplace.storage.credentials.handover import CredentialHandover, CredentialPurpose
from commonplace.storage.network_loop import NetworkLoop
from commonplace.storage.valkey.client import Valkey
from commonplace.storage.valkey.envelopes import ValkeyEnvelopeStore
from commonplace.storage.valkey.rates import ValkeyRates
from servers import Valkey as Server
from servers import free_port

JOIN_SECONDS = 30.0


def has_joined(client: redis.Redis) -> bool:
    state = str(client.execute_command("CLUSTER", "INFO"))
    return "cluster_state:ok" in state and "cluster_known_nodes:2" in state


@pytest.fixture(scope="module")
def cluster() -> Iterator[list[Server]]:
    nodes = [
        Server(
            "--cluster-enabled",
            "yes",
            "--cluster-port",
            str(free_port()),
            "--cluster-node-timeout",
            "2000",
        )
        for _ in range(2)
    ]
    clients = [redis.Redis.from_url(node.url, decode_responses=True) for node in nodes]
    for client, (first, last) in zip(clients, ((0, 8191), (8192, 16383)), strict=True):
        client.execute_command("CLUSTER", "ADDSLOTSRANGE", first, last)
    bus = clients[1].config_get("cluster-port")["cluster-port"]
    clients[0].execute_command("CLUSTER", "MEET", "127.0.0.1", nodes[1].port, bus)
    give_up = time.monotonic() + JOIN_SECONDS
    while not all(has_joined(client) for client in clients):
        assert time.monotonic() < give_up, "the nodes did not meet"
        time.sleep(0.05)
    yield nodes
    for node in nodes:
        node.close()


@pytest.fixture
def outbound() -> Iterator[NetworkLoop]:
    made = NetworkLoop()
    yield made
    made.close()


def test_envelopes_are_stored_on_all_nodes_and_deleted(
    cluster: list[Server], outbound: NetworkLoop
) -> None:
    store = ValkeyEnvelopeStore(Valkey(cluster[0].url, outbound))
    handover = CredentialHandover(Keyring({1: "a-secret-of-some-length"}), store, "x", 300)
    purposes = [CredentialPurpose("t", "p", f"/{number}") for number in range(700)]
    references = asyncio.run(handover.deposit(purposes, "sk-caller-0123456789"))
    counts = [redis.Redis.from_url(node.url).dbsize() for node in cluster]
    assert min(counts) > 200
    assert sum(counts) == 700
    assert asyncio.run(handover.collect(purposes[7], references[7])) == "sk-caller-0123456789"
    asyncio.run(handover.discard(references))
    assert [redis.Redis.from_url(node.url).dbsize() for node in cluster] == [0, 0]


def test_the_buckets_of_a_call_share_a_slot(cluster: list[Server], outbound: NetworkLoop) -> None:
    """Twenty tenants, on both nodes: a script with keys of two slots would be refused."""
    rates = ValkeyRates(Valkey(cluster[1].url, outbound))
    limits = LimitSettings(key_per_second=1, key_burst=2, tenant_per_second=1, tenant_burst=3)
    limiter = RateLimiter(limits, shared=lambda: rates)

    async def calls(tenant: str, key: str) -> int:
        caller = AuthContext(Tenant(tenant), ALL_SCOPES, tenant, key_id=key)
        passed = 0
        for _ in range(3):
            try:
                admission = limiter.admit(caller)
                assert admission is not None
                await admission()
            except CommonplaceError:
                break
            passed += 1
        return passed

    async def all_calls() -> list[tuple[int, int]]:
        return [
            (
                await calls(f"tenant {number}", f"a{number}"),
                await calls(f"tenant {number}", f"b{number}"),
            )
            for number in range(20)
        ]

    assert asyncio.run(all_calls()) == [(2, 1)] * 20
    counts = [redis.Redis.from_url(node.url).dbsize() for node in cluster]
    assert min(counts) > 0
    assert sum(counts) == 60  # a tenant and two keys each: nothing was counted in memory


def test_doctor_says_that_it_is_a_cluster(cluster: list[Server], outbound: NetworkLoop) -> None:
    (finding,) = Valkey(cluster[0].url, outbound).doctor()
    assert finding["status"] == "ok"
    assert "(cluster) answers" in finding["finding"]
    outside = Server()
    (finding,) = Valkey(outside.url, outbound).doctor()
    outside.close()
    assert "(server) answers" in finding["finding"]
