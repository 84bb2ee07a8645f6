"""Server-sent events: parts of a page that the server renders again while the page is open."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

from starlette.responses import Response, StreamingResponse

from commonplace.console.errors import SignedOut
from commonplace.console.page import Page

INTERVAL_SECONDS = 2.0
LINE_ENDS = re.compile("\r\n?|\n")
MAX_SECONDS = 900.0  # browsers connect again, with the permissions of that moment

RenderParts = Callable[[], Awaitable[Mapping[str, str]]]
"""Return the HTML of each live part, by the id of its element."""


def stream_parts(
    page: Page, render_parts: RenderParts, interval: float = INTERVAL_SECONDS
) -> Response:
    """Answer with a stream that sends a part whenever its HTML has changed."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    if page.request.method == "HEAD":  # a browser asks whether the person is still signed in
        return Response(headers=headers, media_type="text/event-stream")
    return StreamingResponse(
        _events(page, render_parts, interval), media_type="text/event-stream", headers=headers
    )


async def _events(page: Page, render_parts: RenderParts, interval: float) -> AsyncIterator[str]:
    sent: dict[str, str] = {}
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + MAX_SECONDS
    yield "retry: 1000\nid: 1\n\n"  # a browser that connects again names the last id
    while loop.time() < ends_at and not page.parts.stopping.is_set():
        try:
            parts = await render_parts()
        except SignedOut:
            yield "event: signed-out\ndata: \n\n"
            return
        changed = {name: html for name, html in parts.items() if sent.get(name) != html}
        for name, html in changed.items():
            sent[name] = html
            yield format_event(name, html)
        if not changed:
            yield ": alive\n\n"
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(page.parts.stopping.wait(), interval)


def format_event(name: str, text: str) -> str:
    """Format an event whose data may have several lines.

    Browsers end a line at a carriage return too: text after it would be a field of its own.
    """
    data = "".join(f"data: {line}\n" for line in LINE_ENDS.split(text))
    return f"event: {name}\n{data}\n"
