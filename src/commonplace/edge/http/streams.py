"""Streams of events: their end when a key is revoked, and answers that follow progress."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Send

CHECK_SECONDS = 2.0
DISCONNECT = {"type": "http.disconnect"}
EVENT_STREAM_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


class AnswerStream:
    """An answer that becomes a stream of events with the first message before it."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.is_open = False

    async def notify(self, message: bytes) -> None:
        """Send a message before the answer."""
        if not self.is_open:
            self.is_open = True
            start = {"type": "http.response.start", "status": 200, "headers": EVENT_STREAM_HEADERS}
            await self._send(start)
        await self._send({"type": "http.response.body", "body": _event(message), "more_body": True})

    async def end(self, answer: bytes) -> None:
        """Send the answer as the last event."""
        await self._send({"type": "http.response.body", "body": _event(answer)})


def _event(message: bytes) -> bytes:
    return b"event: message\r\ndata: " + message + b"\r\n\r\n"


async def serve_while_valid(
    serve: Callable[[Receive], Awaitable[None]],
    receive: Receive,
    is_valid: Callable[[], bool],
    every_seconds: float = CHECK_SECONDS,
) -> None:
    """Run `serve`, and report a disconnect to it once `is_valid` is false."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    next_check = loop.call_later(every_seconds, lambda: check())

    def check() -> None:
        nonlocal next_check
        if is_valid():
            next_check = loop.call_later(every_seconds, check)
        else:
            ended.set()

    async def receive_until_ended() -> Message:
        if ended.is_set():
            return DISCONNECT
        incoming = asyncio.ensure_future(receive())
        end = asyncio.ensure_future(ended.wait())
        try:
            await asyncio.wait({incoming, end}, return_when=asyncio.FIRST_COMPLETED)
            return incoming.result() if incoming.done() else DISCONNECT
        finally:
            incoming.cancel()
            end.cancel()

    try:
        await serve(receive_until_ended)
    finally:
        next_check.cancel()
