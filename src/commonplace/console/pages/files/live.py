"""The live parts of the files pages: figures, the search index, and the open file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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


@dataclass(slots=True)
class ShownFile:
    """What a page shows of a file. An empty hash is an unknown text."""

    content_hash: str


async def stream(page: Page) -> Response:
    """Send the parts of a page that changed."""
    place = read_place(page)
    is_again = bool(page.query("again") or page.request.headers.get("last-event-id"))
    is_text_unknown = is_again and not page.query("edit")  # an earlier stream may have replaced it
    shown = ShownFile("" if is_text_unknown else page.query("hash"))

    async def render_parts() -> Mapping[str, str]:
        try:
            return await _render_parts(page, place, shown)
        except CallFailed:
            return {}

    return stream_parts(page, render_parts, INTERVAL_SECONDS)


async def _render_parts(page: Page, place: Place, shown: ShownFile) -> Mapping[str, str]:
    state = await read_state(page, place)
    values = {"state": state, "place": place, "known_files": page.number("files", -1, least=0)}
    parts = {"files-state": render(page.parts.environment, "pages/files/state.html", values)}
    if page.query("hash"):
        parts |= await _render_file(page, place, shown)
    return parts


async def _render_file(page: Page, place: Place, shown: ShownFile) -> Mapping[str, str]:
    """Return the text of a file that others changed, or say so where a person edits it."""
    stat = await page.ask("file_stat", place.arguments)
    environment = page.parts.environment
    parts = {}
    is_missing = not stat["exists"]
    is_changed = is_missing or stat.get("content_hash") != shown.content_hash
    if is_changed and not is_missing and not page.query("edit") and stat["size"] <= WINDOW_BYTES:
        window = await read_window(page, place)
        values = {**file_values(page, place, window), "stat": stat}
        parts["file-text"] = render(environment, "pages/files/text.html", values)
        parts["file-facts"] = render(environment, "pages/files/facts.html", values)
        shown.content_hash = window.content_hash
        is_changed = False
    note = {"place": place, "is_missing": is_missing, "changed": is_changed}
    parts["file-note"] = render(environment, "pages/files/changed.html", note)
    return parts


ROUTES = (PageRoute("/files/live", stream),)
