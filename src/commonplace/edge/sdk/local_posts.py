"""Requests that a server sends to its own SDK side, without a connection."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import orjson

from commonplace.edge.sdk.events import OPENING_ID

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

OWN_HEADERS = frozenset(
    {b"accept", b"content-type", b"content-length", b"mcp-session-id", b"mcp-protocol-version"}
)


async def read_opening(receive: Receive) -> tuple[str | None, Receive]:
    """Return a stored form of an initialize request, and a `receive` that begins with its body.

    None if it is no such request; whoever answers it says what is wrong.
    """
    body = b""
    while (event := await receive())["type"] == "http.request":
        body += event.get("body", b"")
        if not event.get("more_body"):
            break
    return _opening_of(body), _receive_once(body, receive)


def post_locally(scope: Scope, session_id: str, body: bytes) -> tuple[Scope, Receive, Send]:
    """Return a POST inside a session whose answer nobody reads."""
    headers = [pair for pair in scope["headers"] if pair[0].lower() not in OWN_HEADERS]
    headers += [
        (b"accept", b"application/json, text/event-stream"),
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"mcp-session-id", session_id.encode("latin-1")),
    ]

    async def ignore(message: Message) -> None:
        return None

    async def wait_for_ever() -> Message:
        await asyncio.Event().wait()
        raise AssertionError  # never reached

    local = {**scope, "method": "POST", "headers": headers, "query_string": b""}
    return local, _receive_once(body, wait_for_ever), ignore


def _opening_of(body: bytes) -> str | None:
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(message, dict) or message.get("method") != "initialize":
        return None
    params = message.get("params")
    opening = {"jsonrpc": "2.0", "id": OPENING_ID, "method": "initialize", "params": params}
    return orjson.dumps(opening).decode()


def _receive_once(body: bytes, receive: Receive) -> Receive:
    pending = [body]

    async def received() -> Message:
        if pending:
            return {"type": "http.request", "body": pending.pop(), "more_body": False}
        return await receive()

    return received
