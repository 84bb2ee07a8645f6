"""The live parts of the files pages: figures, the search index, and the open file."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from commonplace.console.errors import CallFailed
from commonplace.console.live import stream_parts
from commonplace.console.page import Page, PageRoute
from commonplace.console.pages.files.browse import file_values
from commonplace.console.pages.files.content import WINDOW_BYTES, read_window
from commonplace.console.pages.files.places import Place, read_place
from commonplace.console.pages.files.state import read_state
from commonplace.console.rendering import render

INTERVAL_SECONDS = 3.0


async def stream(page: Page) -> Response:
    """Send the parts of a page that changed."""
    place = read_place(page)

    async def render_parts() -> Mapping[str, str]:
        try:
            return await _render_parts(page, place)
        except CallFailed:
            return {}

    return stream_parts(page, render_parts, INTERVAL_SECONDS)


async def _render_parts(page: Page, place: Place) -> Mapping[str, str]:
    state = await read_state(page, place)
    values = {"state": state, "place": place, "known_files": page.number("files", -1, least=0)}
    parts = {"files-state": render(page.parts.environment, "pages/files/state.html", values)}
    known_hash = page.query("hash")
    if known_hash:
        parts |= await _render_file(page, place, known_hash)
    return parts


async def _render_file(page: Page, place: Place, known_hash: str) -> Mapping[str, str]:
    """Return the text of a file that others changed, or say so where a person edits it."""
    stat = await page.ask("file_stat", place.arguments)
    environment = page.parts.environment
    is_missing = not stat["exists"]
    is_changed = is_missing or stat.get("content_hash") != known_hash
    values: dict[str, object] = {"place": place, "is_missing": is_missing, "changed": is_changed}
    parts = {"file-note": render(environment, "pages/files/changed.html", values)}
    if is_changed and not is_missing and not page.query("edit") and stat["size"] <= WINDOW_BYTES:
        window = await read_window(page, place)
        shown = file_values(page, place, window)
        parts["file-text"] = render(environment, "pages/files/text.html", shown)
        parts["file-note"] = ""
    return parts


ROUTES = (PageRoute("/files/live", stream),)
