"""Hanging requests of one caller do not block the external model for others."""

from __future__ import annotations

import asyncio
import http.server
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from commonplace.search.semantic.model_http import (
    CONNECTIONS_PER_KEY,
    MAX_CONNECTIONS,
    ModelEndpoint,
    ModelUnavailableError,
)
from commonplace.storage.network_loop import NetworkLoop


class Model(http.server.ThreadingHTTPServer):
    """Answers every key but `slow`, whose requests hang until the test ends."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        self.release = threading.Event()
        self.full = threading.Event()
        self.hanging = 0
        self._guard = threading.Lock()
        super().__init__(("127.0.0.1", 0), Handler)

    def hang(self) -> None:
        with self._guard:
            self.hanging += 1
            if self.hanging == CONNECTIONS_PER_KEY:
                self.full.set()


class Handler(http.server.BaseHTTPRequestHandler):
    server: Model

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        if self.headers["authorization"] == "Bearer slow":
            self.server.hang()
            self.server.release.wait(30)
        body = json.dumps({"ok": True}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in the standard library
        return None


@pytest.fixture
def model() -> Iterator[Model]:
    server = Model()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.release.set()
    server.shutdown()
    server.server_close()


def test_one_key_uses_only_a_part_of_the_connections(model: Model) -> None:
    outbound = NetworkLoop()
    endpoint = ModelEndpoint("embedding", f"http://127.0.0.1:{model.server_port}/", 3.0, outbound)

    async def race() -> None:
        hanging = [
            asyncio.create_task(endpoint.ask({}, "slow")) for _ in range(MAX_CONNECTIONS + 8)
        ]
        assert await asyncio.to_thread(model.full.wait, 20)
        assert await endpoint.ask({}, "quick") == {"ok": True}
        assert model.hanging == CONNECTIONS_PER_KEY
        outcomes = await asyncio.gather(*hanging, return_exceptions=True)
        assert all(isinstance(outcome, ModelUnavailableError) for outcome in outcomes)

    try:
        asyncio.run(race())
    finally:
        outbound.close()
