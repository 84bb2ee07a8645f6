"""Idle connections are closed and limited; an open stream is not idle."""

from __future__ import annotations

import contextlib
import select
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conformance.program import COMMONPLACE, Served, environment, serve_http
from transport_clients import HANDSHAKE, Http, wait_for

LIMITS = {
    "header_seconds": 1,
    "body_seconds": 2,
    "idle_seconds": 2,
    "connections": 60,
    "connections_per_address": 40,
}


@contextlib.contextmanager
def serving(folder: Path, proxies: str = "[]", **limits: float) -> Iterator[Served]:
    folder.mkdir(exist_ok=True)
    lines = "".join(f"    {name}: {value}\n" for name, value in {**LIMITS, **limits}.items())
    config = folder / "commonplace.yaml"
    config.write_text(f"settings:\n  server:\n    trusted_proxies: {proxies}\n  limits:\n{lines}")
    with serve_http(folder, None, "--config", str(config)) as server:
        yield server


def connect(server: Served, sent: bytes = b"") -> socket.socket:
    host, port = server.address.split(":")
    link = socket.create_connection((host, int(port)), timeout=20)
    if sent:
        link.sendall(sent)
    return link


def closed_in(link: socket.socket) -> float:
    """Seconds until the server has closed a connection."""
    begun = time.monotonic()
    with contextlib.suppress(ConnectionError):
        while link.recv(65536):
            pass
    return time.monotonic() - begun


def get(server: Served, path: str = "/healthz") -> bytes:
    sent = f"GET {path} HTTP/1.1\r\nHost: {server.address}\r\nConnection: close\r\n\r\n"
    with contextlib.suppress(ConnectionError), connect(server, sent.encode()) as link:
        return link.recv(65536)
    return b""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("idle") / "data") as running:
        yield running


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: ",
        b"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{",
    ],
    ids=["nothing", "part of a header", "part of a body"],
)
def test_an_incomplete_request_times_out(server: Served, sent: bytes) -> None:
    with connect(server, sent) as link:
        assert closed_in(link) < 15


def test_a_trickling_header_times_out(server: Served) -> None:
    with connect(server, b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: ") as link:
        begun = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while not select.select([link], [], [], 0.1)[0]:
                link.sendall(b"a")
        assert time.monotonic() - begun < 15


def test_a_connection_without_a_request_is_closed_after_its_first(server: Served) -> None:
    with connect(
        server, f"GET /healthz HTTP/1.1\r\nHost: {server.address}\r\n\r\n".encode()
    ) as link:
        assert b" 200 " in link.recv(65536)
        assert closed_in(link) < 15


def test_an_endless_header_is_refused(server: Served) -> None:
    with connect(server, b"GET /healthz HTTP/1.1\r\nHost: x\r\n") as link:
        with contextlib.suppress(ConnectionError):
            for number in range(400):
                link.sendall(b"X-%d: %s\r\n" % (number, b"a" * 300))
        assert closed_in(link) < 15


def test_an_open_stream_is_not_idle(server: Served) -> None:
    client = Http(server).open()
    head = "".join(f"{name}: {value}\r\n" for name, value in client.headers.items())
    with connect(
        server,
        (
            f"GET /mcp HTTP/1.1\r\nHost: {server.address}\r\n"
            f"Accept: text/event-stream\r\n{head}\r\n"
        ).encode(),
    ) as stream:
        assert b" 200 " in stream.recv(65536)
        with connect(server, b"GET / HTTP/1.1\r\nX-A: ") as idle:  # one that is, for comparison
            closed_in(idle)
        with connect(
            server, f"GET /healthz HTTP/1.1\r\nHost: {server.address}\r\n\r\n".encode()
        ) as other:
            other.recv(65536)
            closed_in(other)
        readable, _, _ = select.select([stream], [], [], 0)
        assert not readable or stream.recv(65536), "the stream was closed"


def test_connections_of_one_address_are_limited_and_released(tmp_path: Path) -> None:
    with serving(tmp_path / "data", header_seconds=6) as server, contextlib.ExitStack() as opened:
        links = [
            opened.enter_context(connect(server, b"GET / HTTP/1.1\r\nX-A: ")) for _ in range(80)
        ]
        assert links[-1].recv(100).startswith(b"HTTP/1.1 503 ")
        assert b" 200 " not in get(server)
        wait_for(
            lambda: b" 200 " in get(server), 30
        )  # the headers' time is up; their clients still hold every connection


def test_a_trusted_proxy_is_exempt_from_the_limit_per_address(tmp_path: Path) -> None:
    with (
        serving(tmp_path / "data", proxies="[127.0.0.0/8]", header_seconds=30) as server,
        contextlib.ExitStack() as opened,
    ):
        links = [
            opened.enter_context(connect(server, b"GET / HTTP/1.1\r\nX-A: ")) for _ in range(50)
        ]
        assert b" 200 " in get(server)
        assert not select.select(links, [], [], 0)[0]


def test_sessions_work_as_before(server: Served) -> None:
    client = Http(server)
    assert client.request("initialize", HANDSHAKE)["result"]["serverInfo"]["name"] == "commonplace"


def test_an_invalid_proxy_address_is_a_configuration_error(tmp_path: Path) -> None:
    config = tmp_path / "commonplace.yaml"
    config.write_text("settings:\n  server:\n    trusted_proxies: [proxy.example]\n")
    checked = subprocess.run(
        [COMMONPLACE, "--config", config, "config", "check", "--json"],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert checked.returncode != 0
    assert "trusted_proxies" in checked.stdout + checked.stderr
