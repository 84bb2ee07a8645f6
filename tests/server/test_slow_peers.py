"""Slow peers delay only the calls that fetch from them."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conformance.program import Served, serve_http
from transport_clients import META, wait_for

FETCH_SECONDS = 4.0
PROMPT_SECONDS = 10.0  # the machine is shared; without the fix these calls never end
DOCUMENT = json.dumps({"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": {}})


class Trickler:
    """Accepts connections and sends a header one byte at a time, for ever."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.links: list[socket.socket] = []
        self._stop = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                link, _ = self._listener.accept()
                self.links.append(link)
                threading.Thread(target=self._trickle, args=(link,), daemon=True).start()

    def _trickle(self, link: socket.socket) -> None:
        with contextlib.suppress(OSError):
            link.sendall(b"HTTP/1.1 200 OK\r\nX-A: ")
            while not self._stop.wait(0.2):
                link.sendall(b"a")

    def close(self) -> None:
        self._stop.set()
        self._listener.close()
        for link in self.links:
            link.close()


@pytest.fixture
def trickler() -> Iterator[Trickler]:
    peer = Trickler()
    yield peer
    peer.close()


@contextlib.contextmanager
def serving(folder: Path, seconds: float = FETCH_SECONDS) -> Iterator[Served]:
    folder.mkdir(exist_ok=True)
    config = folder / "commonplace.yaml"
    config.write_text(
        f"settings:\n  mcp:\n    openapi:\n      url_allow: [127.0.0.1]\n      "
        f"url_timeout_seconds: {seconds}\n"
    )
    with serve_http(folder, None, "--config", str(config)) as server:
        yield server


def call(server: Served, tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments, "_meta": META}
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool}
    answer = json.loads(
        server.post(
            "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, headers
        )[2]
    )
    result: dict[str, Any] = answer["result"]
    return result


def error_of(result: dict[str, Any]) -> dict[str, Any]:
    assert result["isError"], result
    error: dict[str, Any] = json.loads(result["content"][-1]["text"])["error"]
    return error


def test_slow_fetches_of_one_caller_do_not_block_others(tmp_path: Path, trickler: Trickler) -> None:
    with serving(tmp_path / "data") as server, ThreadPoolExecutor(8) as clients:
        call(server, "oas_parse", spec={"content": DOCUMENT})
        call(server, "file_search", project="p", query="anything")
        call(server, "rekall_search", query="anything")
        spec = {"url": f"http://127.0.0.1:{trickler.port}/openapi.json"}
        begun = time.monotonic()
        fetches = [clients.submit(call, server, "oas_parse", spec=spec) for _ in range(8)]
        wait_for(lambda: len(trickler.links) >= 3)
        others = time.monotonic()
        assert not call(server, "file_search", project="p", query="anything")["isError"]
        assert not call(server, "rekall_search", query="anything")["isError"]
        assert not call(server, "oas_validate", spec={"content": DOCUMENT})["isError"]
        with socket.create_connection(
            ("127.0.0.1", int(server.address.split(":")[1])), timeout=PROMPT_SECONDS
        ) as link:
            link.sendall(
                (
                    f"GET /readyz HTTP/1.1\r\nHost: {server.address}\r\nConnection: close\r\n\r\n"
                ).encode()
            )
            assert b" 200 " in link.recv(65536)
        assert time.monotonic() - others < PROMPT_SECONDS
        errors = [error_of(fetch.result(timeout=60)) for fetch in fetches]
        assert time.monotonic() - begun < FETCH_SECONDS + PROMPT_SECONDS
    codes = sorted(error["code"] for error in errors)
    assert codes == ["FETCH_FAILED"] * 4 + ["SERVER_BUSY"] * 4
    assert all(error["retryable"] for error in errors)


def test_a_slow_reference_does_not_block_others(tmp_path: Path, trickler: Trickler) -> None:
    refers = {"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": {}}
    address = f"http://127.0.0.1:{trickler.port}"
    with serving(tmp_path / "data") as server, ThreadPoolExecutor(8) as clients:
        call(server, "oas_validate", spec={"content": DOCUMENT})
        fetches = [
            clients.submit(
                call,
                server,
                "oas_parse",
                spec={
                    "content": json.dumps(
                        {
                            **refers,
                            "components": {"schemas": {"A": {"$ref": f"{address}/{number}.json"}}},
                        }
                    )
                },
                full=True,
                resolve_refs=True,
            )
            for number in range(8)
        ]
        wait_for(lambda: len(trickler.links) >= 3)
        others = time.monotonic()
        assert not call(server, "oas_validate", spec={"content": DOCUMENT})["isError"]
        assert time.monotonic() - others < PROMPT_SECONDS
        for fetch in fetches:
            fetch.result(timeout=60)


def test_a_stop_does_not_wait_for_slow_fetches(tmp_path: Path, trickler: Trickler) -> None:
    with serving(tmp_path / "data", seconds=300.0) as server, ThreadPoolExecutor(4) as clients:
        spec = {"url": f"http://127.0.0.1:{trickler.port}/openapi.json"}
        fetches = [clients.submit(call, server, "oas_parse", spec=spec) for _ in range(4)]
        wait_for(lambda: len(trickler.links) >= 4)
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(25)
        for fetch in fetches:
            with contextlib.suppress(Exception):  # answered with an error, or cut off
                fetch.result(timeout=10)
