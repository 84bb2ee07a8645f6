"""Sessions, streams and calls over HTTP belong to their key, end with it, and are limited."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conformance.program import FIXTURES, Served, serve_http
from transport_clients import HANDSHAKE, META, TOOLS, wait_for

from commonplace.kernel.auth import Scope
from commonplace.storage.credentials.key_records import KeyRecord
from commonplace.storage.credentials.keys import KeyStore

EXTRA = {**FIXTURES, "COMMONPLACE_EXTRA_TOOLSETS": "conformance.tools:toolset,sample_tools:toolset"}
STREAM_SECONDS = 30.0  # far above the two seconds between checks, far below the life of a stream


@dataclass(frozen=True)
class Stream:
    """A streamed answer that has begun."""

    link: http.client.HTTPConnection
    answer: http.client.HTTPResponse

    @property
    def is_open(self) -> bool:
        assert self.link.sock is not None
        try:
            unread = self.link.sock.recv(65536, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return True
        return bool(unread) and not unread.endswith(b"0\r\n\r\n")

    def ends_within(self, seconds: float) -> bool:
        """Whether it comes to a proper end. Pings do not count as one."""
        assert self.link.sock is not None
        self.link.sock.settimeout(seconds)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if not self.answer.read1():
                return True
        return False

    def close(self) -> None:
        self.answer.close()
        self.link.close()


class Keyed:
    """One key and what it opens."""

    def __init__(self, server: Served, store: KeyStore, tenant: str) -> None:
        self.server = server
        self.record: KeyRecord
        self.record, token = store.add(tenant, tenant, Scope.WRITE)
        self.headers = {"Authorization": f"Bearer {token}", "MCP-Protocol-Version": "2025-11-25"}

    def initialize(self) -> tuple[int, dict[str, str], bytes]:
        return self.server.post(
            "/mcp",
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HANDSHAKE},
            self.headers,
        )

    def open(self) -> dict[str, str]:
        status, received, body = self.initialize()
        assert status == 200, body
        session = {**self.headers, "Mcp-Session-Id": received["mcp-session-id"]}
        self.server.post("/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}, session)
        return session

    def stream(self, session: dict[str, str]) -> Stream:
        return begun(self.server, "GET", session, None)


def begun(server: Served, method: str, headers: dict[str, str], body: object) -> Stream:
    """Ask, and wait until the answer begins."""
    link = http.client.HTTPConnection(server.address, timeout=STREAM_SECONDS)
    sent = {
        **headers,
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    link.request(method, "/mcp", None if body is None else json.dumps(body).encode(), sent)
    answer = link.getresponse()
    assert answer.status == 200
    assert answer.getheader("content-type", "").startswith("text/event-stream")
    return Stream(link, answer)


@pytest.fixture
def store(tmp_path: Path) -> KeyStore:
    return KeyStore(tmp_path / "keys.json")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with serve_http(tmp_path, EXTRA, "--auth", "keys") as served:
        yield served


def test_another_tenant_cannot_cancel_a_call(
    tmp_path: Path, server: Served, store: KeyStore
) -> None:
    owner, stranger, mate = (
        Keyed(server, store, "team-a"),
        Keyed(server, store, "team-b"),
        Keyed(server, store, "team-a"),
    )
    session = owner.open()
    cancel = {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": "slow"},
    }
    stolen = {**stranger.headers, "Mcp-Session-Id": session["Mcp-Session-Id"]}
    answers: list[Any] = []

    def call(seconds: float) -> threading.Thread:
        arguments = {"seconds": seconds, "mark": str(tmp_path / "mark")}
        body = {
            "jsonrpc": "2.0",
            "id": "slow",
            "method": "tools/call",
            "params": {"name": "wait", "arguments": arguments},
        }
        caller = threading.Thread(
            target=lambda: answers.append(json.loads(server.post("/mcp", body, session)[2]))
        )
        caller.start()
        return caller

    caller = call(2)
    while caller.is_alive():
        assert server.post("/mcp", cancel, stolen)[0] == 404
    assert answers[0]["result"]["structuredContent"] == {"waited": 2.0}
    caller = call(60)
    shared = {
        **mate.headers,
        "Mcp-Session-Id": session["Mcp-Session-Id"],
    }  # another key of the same tenant shares its sessions
    wait_for(
        lambda: (
            server.post("/mcp", cancel, shared)[0] in (200, 202) and (tmp_path / "mark").exists()
        )
    )
    caller.join(20)


def waiting_call(server: Served, key: Keyed) -> Stream:
    """A call that streams its progress."""
    params = {
        "name": "wait",
        "arguments": {"seconds": 60, "steps": 1},
        "_meta": {"progressToken": 1},
    }
    return begun(
        server,
        "POST",
        key.open(),
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params},
    )


def subscription(server: Served, key: Keyed) -> Stream:
    """A stream of the protocol without sessions."""
    headers = {
        **key.headers,
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "subscriptions/listen",
    }
    params = {"notifications": {"toolsListChanged": True}, "_meta": META}
    return begun(
        server,
        "POST",
        headers,
        {"jsonrpc": "2.0", "id": 3, "method": "subscriptions/listen", "params": params},
    )


OPENERS = {
    "session": lambda server, key: key.stream(key.open()),
    "call": waiting_call,
    "subscription": subscription,
}


@pytest.mark.parametrize("opener", OPENERS.values(), ids=OPENERS.keys())
@pytest.mark.parametrize("end", ["revoke", "rotate"])
def test_a_stream_ends_with_its_key(opener: Any, end: str, server: Served, store: KeyStore) -> None:
    key, other = Keyed(server, store, "team-a"), Keyed(server, store, "team-a")
    stream, kept = opener(server, key), opener(server, other)
    assert stream.is_open
    getattr(store, end)(key.record.id)
    assert stream.ends_within(STREAM_SECONDS)
    assert kept.is_open
    for each in (stream, kept):
        each.close()
    assert server.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, key.headers)[0] == 401


def limited(tmp_path: Path) -> Any:
    (tmp_path / "commonplace.yaml").write_text("settings: {limits: {sessions_per_key: 3}}")
    return serve_http(tmp_path, TOOLS, "--auth", "keys")


def is_alive(server: Served, session: dict[str, str]) -> bool:
    return server.post("/mcp", {"jsonrpc": "2.0", "id": 9, "method": "ping"}, session)[0] == 200


def test_the_oldest_idle_session_of_a_key_ends_for_a_new_one(
    tmp_path: Path, store: KeyStore
) -> None:
    with limited(tmp_path) as server:
        key, other = Keyed(server, store, "team-a"), Keyed(server, store, "team-a")
        theirs = other.open()
        first, second, third = key.open(), key.open(), key.open()
        assert is_alive(server, first)  # used last, so no longer the oldest
        fourth = key.open()
        assert [
            is_alive(server, session) for session in (first, second, third, fourth, theirs)
        ] == [True, False, True, True, True]
        for _ in range(20):
            key.open()
        assert is_alive(server, theirs)


def test_sessions_in_use_are_kept_and_a_further_one_is_refused(
    tmp_path: Path, store: KeyStore
) -> None:
    with limited(tmp_path) as server:
        key = Keyed(server, store, "team-a")
        sessions = [key.open() for _ in range(3)]
        streams = [key.stream(session) for session in sessions]
        status, _, body = key.initialize()
        error = json.loads(body)["error"]
        assert (status, error["data"]["code"], error["data"]["limit"]) == (429, "SESSION_LIMIT", 3)
        assert all(is_alive(server, session) for session in sessions)
        link = http.client.HTTPConnection(server.address, timeout=20)
        link.request("DELETE", "/mcp", headers=sessions[0])
        assert link.getresponse().status == 200
        link.close()
        assert key.open()
        assert Keyed(server, store, "team-b").open()
        for stream in streams:
            stream.close()
