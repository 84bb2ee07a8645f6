"""The guide's nginx in front of two servers on two data folders."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import ssl
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from conformance.program import FIXTURES, environment
from conformance.suite import MODULES, node
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from nginx import Nginx
from team_server import TeamServer
from transport_clients import HANDSHAKE, META, wait_for

from certificates import TestAuthority
from servers import empty_tables

EXTRA = {**FIXTURES, "COMMONPLACE_EXTRA_TOOLSETS": "sample_tools:toolset"}
KEY = {"Authorization": "Bearer team-a-0123456789abcdef"}
TYPESCRIPT = Path(__file__).parent / "conformance" / "client.mjs"
SESSIONS = 20
CLIENTS = 6


@dataclass(frozen=True)
class Team:
    nginx: Nginx
    servers: tuple[TeamServer, TeamServer]
    authority: TestAuthority

    @property
    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.authority.certificate))

    def connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(
            "localhost", self.nginx.port, timeout=60, context=self.context
        )


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, migrated_postgres: str) -> Iterator[Team]:
    empty_tables(migrated_postgres)
    folder = tmp_path_factory.mktemp("nginx")
    authority = TestAuthority(folder)
    with contextlib.ExitStack() as stack:
        servers = []
        for name, scrapers in (("one", ["127.0.0.1"]), ("two", ["10.9.9.9"])):
            server = TeamServer(
                folder / name,
                {"url": migrated_postgres},
                extra=EXTRA,
                flags=("--auth", "passthrough"),
                server={
                    "allowed_hosts": ["commonplace.example.org", "localhost"],
                    "trusted_proxies": ["127.0.0.1"],
                    "metrics_addresses": scrapers,
                },
            )
            stack.callback(server.close)
            servers.append(server)
        nginx = Nginx(folder / "proxy", authority, [server.address for server in servers])
        stack.callback(nginx.close)
        yield Team(nginx, (servers[0], servers[1]), authority)


class RawClient:
    """A handshake client on one connection to the proxy."""

    def __init__(self, team: Team) -> None:
        self._team = team
        self._link = team.connect()
        self.headers = {
            **KEY,
            "MCP-Protocol-Version": "2025-11-25",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
        }
        self.ids = 0

    def open(self) -> RawClient:
        answer = self.send({"id": 0, "method": "initialize", "params": HANDSHAKE})
        assert answer.status == 200, answer.body
        self.headers["Mcp-Session-Id"] = answer.headers["mcp-session-id"]
        assert self.send({"method": "notifications/initialized"}).status == 202
        return self

    def call(self, name: str, **arguments: Any) -> Answer:
        self.ids += 1
        params = {"name": name, "arguments": arguments}
        return self.send({"id": self.ids, "method": "tools/call", "params": params})

    def send(self, message: dict[str, Any], method: str = "POST") -> Answer:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        try:
            self._link.request(method, "/mcp", body, self.headers)
            answer = self._link.getresponse()
            headers = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, headers, answer.read())
        except (http.client.HTTPException, OSError) as failed:
            self._link.close()
            return Answer(0, {}, repr(failed).encode())

    def close(self) -> int:
        status = self.send({}, "DELETE").status
        self._link.close()
        return status


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def sum(self) -> int:
        assert self.status == 200, (self.status, self.body)
        result = json.loads(self.body)["result"]
        return int(result["structuredContent"]["sum"])


def test_every_handshake_session_completes_behind_a_plain_round_robin(team: Team) -> None:
    completed = 0
    for number in range(SESSIONS):
        client = RawClient(team).open()
        sums = [client.call("add", a=number, b=step).sum for step in range(4)]
        assert sums == [number + step for step in range(4)]
        assert client.close() == 200
        completed += 1
    assert completed == SESSIONS


def test_every_session_of_the_official_python_client_completes(team: Team) -> None:
    async def session(number: int, mode: str) -> str:
        progress: list[float] = []

        async def report(done: float, total: float | None, message: str | None) -> None:
            progress.append(done)

        async with (
            httpx2.AsyncClient(headers=KEY, timeout=60, verify=team.context) as http_client,
            Client(
                streamable_http_client(team.nginx.url, http_client=http_client), mode=mode
            ) as client,
        ):
            added = await client.call_tool("add", {"a": number, "b": 1})
            assert added.structured_content == {"sum": number + 1}
            waited = await client.call_tool(
                "wait", {"seconds": 0.01, "steps": 3}, progress_callback=report
            )
            assert waited.structured_content == {"waited": 0.01}
            assert progress == [1, 2, 3]
            return str(client.protocol_version)

    async def sessions(mode: str) -> Counter[str]:
        return Counter([await session(number, mode) for number in range(SESSIONS)])

    assert asyncio.run(sessions("legacy")) == {"2025-11-25": SESSIONS}
    assert asyncio.run(sessions("2026-07-28")) == {"2026-07-28": SESSIONS}


def test_the_official_typescript_client_completes(team: Team, tmp_path: Path) -> None:
    path = f"{Path(node()).parent}{os.pathsep}{os.environ['PATH']}"
    env = environment(
        tmp_path, {"PATH": path, "NODE_EXTRA_CA_CERTS": str(team.authority.certificate)}
    )
    sdk = MODULES / "@modelcontextprotocol" / "sdk"
    finished = subprocess.run(
        [node(), str(TYPESCRIPT), str(sdk), "http", team.nginx.url, json.dumps(KEY)],
        env=env,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    assert json.loads(finished.stdout)["server"]["name"] == "commonplace"


def test_stateless_requests_and_their_streams_pass_the_proxy(team: Team) -> None:
    link = team.connect()
    headers = {
        **KEY,
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "wait",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    arguments = {"seconds": 0, "steps": 2}
    params = {"name": "wait", "arguments": arguments, "_meta": {**META, "progressToken": 1}}
    for _ in range(SESSIONS):
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        link.request("POST", "/mcp", json.dumps(body).encode(), headers)
        answer = link.getresponse()
        text = answer.read()
        assert (answer.status, text.count(b"notifications/progress")) == (200, 2), text
        assert b'"waited":0.0' in text
    link.close()


def test_the_get_stream_is_not_buffered(team: Team) -> None:
    client = RawClient(team).open()
    link = team.connect()
    link.request("GET", "/mcp", headers={**client.headers, "Accept": "text/event-stream"})
    stream = link.getresponse()
    assert stream.status == 200
    assert client.call("announce", a=1, b=1).status == 200
    while b"list_changed" not in (line := stream.readline()):
        assert line  # the stream is open
    link.close()


def test_the_console_is_behind_the_proxy_and_metrics_are_not(team: Team) -> None:
    link = team.connect()
    link.request("GET", "/console/login")
    page = link.getresponse()
    assert page.status == 200
    assert b"<form" in page.read()
    link.request("GET", "/metrics", headers=KEY)
    refused = link.getresponse()
    refused.read()
    assert refused.status == 404
    link.close()


def scrape(server: TeamServer, **headers: str) -> tuple[int, bytes]:
    link = http.client.HTTPConnection(server.address, timeout=60)
    link.request("GET", "/metrics", headers={"Host": "10.0.0.11:8787", **headers})
    answer = link.getresponse()
    body = answer.read()
    link.close()
    return answer.status, body


def test_listed_addresses_read_metrics_by_address_and_without_a_key(team: Team) -> None:
    first, second = team.servers
    status, body = scrape(first)
    assert (status, b"commonplace_uptime_seconds" in body) == (200, True)
    assert scrape(second)[0] == 421
    assert scrape(second, Host="localhost")[0] == 401
    forwarded = {"X-Forwarded-For": "10.9.9.9"}  # from a trusted proxy
    assert scrape(second, **forwarded)[0] == 200
    assert scrape(first, **forwarded)[0] == 421


def test_calls_do_not_fail_while_servers_are_restarted_one_by_one(team: Team, soak: bool) -> None:
    """Rolling restarts: every server stops and starts again while clients call."""
    rounds, least = (3, 5_000) if soak else (1, 400)
    stopped = threading.Event()
    outcomes: Counter[str] = Counter()
    failures: list[str] = []

    def work() -> None:
        client = RawClient(team).open()
        while not stopped.is_set():
            answer = client.call("add", a=1, b=client.ids)
            good = answer.status == 200 and b'"sum":' in answer.body
            outcomes["good" if good else "failed"] += 1
            if not good:
                failures.append(f"{answer.status} {answer.body[:300]!r}")

    threads = [threading.Thread(target=work) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for _ in range(rounds):
        for server in team.servers:
            before = outcomes["good"]
            server.restart()
            wait_for(lambda before=before: outcomes["good"] > before + least // (2 * rounds))
    stopped.set()
    for thread in threads:
        thread.join(60)
    assert failures == [], (failures[:5], team.nginx.errors[-3000:])
    assert outcomes["good"] >= least
    print(  # noqa: T201 - figures for the guide
        f"{outcomes['good']} calls over {rounds} rolling restarts of two servers, 0 failures"
    )
