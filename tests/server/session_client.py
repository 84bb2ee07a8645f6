"""A handshake client that chooses the server of every request, and reads event streams."""

from __future__ import annotations

import http.client
import json
from typing import Any

from conformance.program import Served
from transport_clients import HANDSHAKE

INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
CLIENT = {**HANDSHAKE, "capabilities": {"elicitation": {}, "sampling": {}}}
SECONDS = 30.0


class Client:
    """A handshake client of one tenant that chooses the server of every request."""

    def __init__(self, tenant: str = "team-a") -> None:
        self.headers = {
            "Authorization": f"Bearer {tenant}-0123456789abcdef",
            "MCP-Protocol-Version": "2025-11-25",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
        }
        self.ids = 0

    def open(self, server: Served) -> Client:
        self.ids += 1
        body = {"jsonrpc": "2.0", "id": self.ids, "method": "initialize", "params": CLIENT}
        status, received, answer = server.post("/mcp", body, self.headers)
        assert status == 200, answer
        self.headers["Mcp-Session-Id"] = received["mcp-session-id"]
        return self

    def notify(self, server: Served, message: dict[str, Any] = INITIALIZED) -> int:
        return server.post("/mcp", message, self.headers)[0]

    def request(self, server: Served, method: str, params: Any = None) -> tuple[int, Any]:
        self.ids += 1
        body = {"jsonrpc": "2.0", "id": self.ids, "method": method, "params": params or {}}
        status, received, answer = server.post("/mcp", body, self.headers)
        if received.get("content-type", "").startswith("text/event-stream"):
            events = [line[6:] for line in answer.splitlines() if line.startswith(b"data: {")]
            return status, json.loads(events[-1])
        return status, json.loads(answer or b"null")

    def add(self, server: Served, a: int, b: int) -> Any:
        status, answer = self.request(server, "tools/call", call("add", a=a, b=b))
        assert status == 200, answer
        return answer["result"]["structuredContent"]["sum"]

    def delete(self, server: Served) -> int:
        link = http.client.HTTPConnection(server.address, timeout=SECONDS)
        link.request("DELETE", "/mcp", headers=self.headers)
        status = link.getresponse().status
        link.close()
        return status

    def stream(self, server: Served, method: str = "GET", body: Any = None, **more: str) -> Stream:
        link = http.client.HTTPConnection(server.address, timeout=SECONDS)
        sent = None if body is None else json.dumps(body).encode()
        link.request(method, "/mcp", sent, {**self.headers, **more})
        return Stream(link)


class Stream:
    """Server-sent events, one after the other."""

    def __init__(self, link: http.client.HTTPConnection) -> None:
        self.link = link
        self.answer = link.getresponse()
        assert self.answer.status == 200, self.answer.read()

    def event(self) -> tuple[str, Any]:
        """Wait for the next event: its id and its message (None opens a stream)."""
        event_id, data = "", ""
        while True:
            row = self.answer.readline()
            assert row, "the stream ended"
            line = row.decode().rstrip("\r\n")
            if line.startswith("id: "):
                event_id = line[4:]
            elif line.startswith("data:"):
                data = line[5:].strip()
            elif not line and (event_id or data):
                return event_id, json.loads(data) if data else None

    def message(self) -> Any:
        while (message := self.event()[1]) is None:
            pass
        return message

    def close(self) -> None:
        self.answer.close()
        self.link.close()


def call(name: str, progress: bool = False, **arguments: Any) -> dict[str, Any]:
    params: dict[str, Any] = {"name": name, "arguments": arguments}
    return {**params, "_meta": {"progressToken": "p"}} if progress else params
