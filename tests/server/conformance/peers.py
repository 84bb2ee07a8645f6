"""Serve the same product by our core and by the SDK alone, for comparison."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from commonplace.dispatch.pipeline import Pipeline
from commonplace.dispatch.registry import Registry
from commonplace.edge.core import Core
from commonplace.edge.http.application import build_app
from commonplace.edge.http.reach import HttpOptions
from commonplace.edge.product import Product
from commonplace.edge.request import Request
from commonplace.edge.sdk.server import build_server
from commonplace.edge.sdk.sessions import SdkSessions
from commonplace.edge.stdio.connection import Connection
from commonplace.edge.stdio.framing import LineReader
from commonplace.kernel.auth import local_user
from conformance.corpus import corpus_toolset
from conformance.features import ConformanceFeatures
from conformance.tools import toolset

ANSWER_SECONDS = 20.0
Script = Sequence[Mapping[str, Any]]
Answers = list[dict[str, Any]]


def product(*, plain: bool = False) -> Product:
    """Tools alone, or tools and every feature."""
    pipeline = Pipeline(Registry([toolset(), corpus_toolset()]))
    return Product(pipeline, "1.2.3", "Compare.", features=None if plain else ConformanceFeatures())


class Outbox:
    """What a server sent, and a way to wait until it has sent enough."""

    def __init__(self) -> None:
        self.sent: Answers = []
        self._more = asyncio.Event()

    def add(self, line: str | bytes) -> None:
        self.sent.append(json.loads(line))
        self._more.set()

    async def until_answered(self, script: Script) -> None:
        async with asyncio.timeout(ANSWER_SECONDS):
            while sum("id" in answer for answer in self.sent) < _owed(script):
                self._more.clear()
                await self._more.wait()


def _owed(script: Script) -> int:
    return sum("id" in message and "method" in message for message in script)


async def over_our_connection(served: Product, script: Script) -> Answers:
    """Each message as a line to `Connection`, one after another; everything it sent."""
    outbox = Outbox()
    core = Core(served)
    connection = Connection(core, outbox.add, lambda: None)
    lines = LineReader(core, connection)
    for done, message in enumerate(script, 1):
        lines.feed(json.dumps(message).encode() + b"\n")
        await outbox.until_answered(script[:done])
    await connection.drain(5.0)
    return outbox.sent


async def over_the_sdk(served: Product, script: Script) -> Answers:
    """The same messages through the SDK's own stream loop around the same product."""
    server = build_server(Core(served), Request(local_user(), served.selection))
    to_server, inbound = anyio.create_memory_object_stream[Any](64)
    outbound, from_server = anyio.create_memory_object_stream[Any](64)
    outbox = Outbox()

    async def collect() -> None:
        async for item in from_server:
            outbox.add(item.message.model_dump_json(by_alias=True, exclude_unset=True))

    async with anyio.create_task_group() as group:
        group.start_soon(collect)
        group.start_soon(server.run, inbound, outbound, server.create_initialization_options())
        for done, message in enumerate(script, 1):
            await to_server.send(SessionMessage(jsonrpc_message_adapter.validate_python(message)))
            await outbox.until_answered(script[:done])
        await to_server.aclose()
    return outbox.sent


Asgi = Callable[
    [dict[str, Any], Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]],
    Awaitable[None],
]


class HttpPeer:
    """POSTs to an ASGI application without a socket."""

    def __init__(self, app: Asgi) -> None:
        self._app = app

    async def post(
        self, body: Any, headers: Mapping[str, str]
    ) -> tuple[int, dict[str, str], Answers]:
        """Status, headers and the JSON messages of the answer, whether they came as one body or
        as events.
        """
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {
            "host": "127.0.0.1",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            **headers,
        }
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "path": "/mcp",
            "raw_path": b"/mcp",
            "root_path": "",
            "scheme": "http",
            "query_string": b"",
            "headers": [(name.lower().encode(), value.encode()) for name, value in sent.items()],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }
        events: list[Any] = [{"type": "http.request", "body": raw, "more_body": False}]
        status, answered, chunks = 0, {}, []
        gone = asyncio.Event()

        async def receive() -> Any:
            if events:
                return events.pop()
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(event: Any) -> None:
            nonlocal status, answered
            if event["type"] == "http.response.start":
                status = event["status"]
                answered = {name.decode(): value.decode() for name, value in event["headers"]}
            else:
                chunks.append(event.get("body", b""))

        async with asyncio.timeout(ANSWER_SECONDS):
            await self._app(scope, receive, send)
        gone.set()
        return status, answered, _messages(answered.get("content-type", ""), b"".join(chunks))


def _messages(content_type: str, body: bytes) -> Answers:
    if content_type.startswith("text/event-stream"):
        lines = (
            line[5:].strip() for line in body.decode().splitlines() if line.startswith("data:")
        )
        return [json.loads(line) for line in lines if line]
    if content_type.startswith("application/json") and body:
        return [json.loads(body)]
    return [{"text": body.decode()}] if body else []


async def with_our_http(use: Callable[[HttpPeer], Awaitable[Any]]) -> Any:
    app = build_app(product(), HttpOptions())
    async with app.router.lifespan_context(app):
        return await use(HttpPeer(app))


async def with_sdk_http(use: Callable[[HttpPeer], Awaitable[Any]]) -> Any:
    served = product()
    manager = SdkSessions(Core(served))

    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        request = Request(local_user(), served.selection, headers=headers)
        await manager.serve(request, scope, receive, send)

    async with manager.run():
        return await use(HttpPeer(app))
