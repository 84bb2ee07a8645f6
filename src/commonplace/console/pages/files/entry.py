"""A file as it is stored: to look at without the page, or to download."""

from __future__ import annotations

from urllib.parse import quote

from starlette.responses import Response

from commonplace.console.page import Page, PageRoute
from commonplace.console.pages.files.places import read_place


async def send_raw(page: Page) -> Response:
    """Answer with the bytes of a file, as plain text, so that no browser runs it."""
    place = read_place(page)
    read = await page.ask("file_read", place.arguments)
    kind = "attachment" if page.query("download") else "inline"
    headers = {
        "Content-Disposition": f"{kind}; filename*=UTF-8''{quote(place.name, safe='')}",
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }
    return Response(
        str(read["content"]).encode("utf-8", "surrogatepass"),
        headers=headers,
        media_type="text/plain; charset=utf-8",
    )


ROUTES = (PageRoute("/files/raw", send_raw),)
