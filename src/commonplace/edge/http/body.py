"""Reading the body of a request, bounded in size, structure and time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from commonplace.edge.intake import IncomingMessage

if TYPE_CHECKING:
    from starlette.types import Message, Receive


class SlowBody(Exception):
    """The body did not arrive in time."""


async def read_body(receive: Receive, incoming: IncomingMessage, seconds: float) -> None:
    """Take in the body of a request. Raises MessageRefused and SlowBody."""
    try:
        async with asyncio.timeout(seconds):
            while (event := await receive())["type"] == "http.request":
                incoming.add(event.get("body", b""))
                if not event.get("more_body"):
                    break
    except TimeoutError:
        raise SlowBody from None


def replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that begins with a body that was read already."""
    pending = [body]

    async def replayed() -> Message:
        if pending:
            return {"type": "http.request", "body": pending.pop(), "more_body": False}
        return await receive()

    return replayed
