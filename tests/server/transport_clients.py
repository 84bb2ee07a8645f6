"""Clients of the shipped program for tests: one on pipes, one over HTTP."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conformance.program import COMMONPLACE, ROOT, Served, environment

TOOLS = {
    "COMMONPLACE_EXTRA_TOOLSETS": "sample_tools:toolset",
    "PYTHONPATH": str(ROOT / "tests" / "server"),
}
HANDSHAKE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}


class Stdio:
    """A client on pipes."""

    def __init__(self, data: Path, *flags: str, extra: dict[str, str] | None = None) -> None:
        data.mkdir(exist_ok=True)
        self.errors = data / "stderr.txt"
        with self.errors.open("wb") as stderr:
            self.process = subprocess.Popen(
                [str(COMMONPLACE), "serve", *flags],
                env=environment(data, {**TOOLS, **(extra or {})}),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                cwd=data,
            )
        self.ids = 0

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def request(self, method: str, params: Any = None) -> dict[str, Any]:
        self.ids += 1
        self.send(
            {"jsonrpc": "2.0", "id": self.ids, "method": method}
            | ({} if params is None else {"params": params})
        )
        while (answer := self.read()).get("id") != self.ids:
            pass
        return answer

    bare = request

    def open(self) -> Stdio:
        self.request("initialize", HANDSHAKE)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()


class Http:
    """A client with a session."""

    def __init__(self, server: Served) -> None:
        self.server = server
        self.ids = 0
        self.headers = {"MCP-Protocol-Version": "2025-11-25"}

    def request(self, method: str, params: Any = None, **headers: str) -> dict[str, Any]:
        self.ids += 1
        message = {"jsonrpc": "2.0", "id": self.ids, "method": method} | (
            {} if params is None else {"params": params}
        )
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        _, received, body = self.server.post("/mcp", message, {**self.headers, **named})
        if method == "initialize":
            self.headers["Mcp-Session-Id"] = received["mcp-session-id"]
        return next(
            message for message in messages(received, body) if message.get("id") == self.ids
        )

    def bare(self, method: str, params: Any = None) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(
            self.server.post(
                "/rpc", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
            )[2]
        )
        return answer

    def open(self) -> Http:
        self.request("initialize", HANDSHAKE)
        self.server.post(
            "/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}, self.headers
        )
        return self


def messages(headers: dict[str, str], body: bytes) -> list[dict[str, Any]]:
    """The JSON-RPC messages of a JSON body or an event stream."""
    if headers.get("content-type", "").startswith("text/event-stream"):
        return [
            json.loads(line[6:])
            for line in body.decode().splitlines()
            if line.startswith("data: ") and line[6:].strip()
        ]
    return [json.loads(body)]


def metrics(server: Served) -> bytes:
    with socket.create_connection(tuple(server.address.split(":")), timeout=10) as link:  # type: ignore[arg-type]
        link.sendall(
            f"GET /metrics HTTP/1.1\r\nHost: {server.address}\r\nConnection: close\r\n\r\n".encode()
        )
        return b"".join(iter(lambda: link.recv(65536), b""))


def wait_for(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.02)


def error_of(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the error of a tools/call that failed."""
    assert answer["result"]["isError"] is True
    assert "structuredContent" not in answer["result"]
    error: dict[str, Any] = json.loads(answer["result"]["content"][0]["text"])["error"]
    return error
