"""Open streams end when the key that opened them is revoked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import Message, Receive

CHECK_SECONDS = 2.0
DISCONNECT = {"type": "http.disconnect"}


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
