"""The page OpenAPI: a document, its summary, and one tab."""

from __future__ import annotations

import asyncio

from starlette.responses import Response

from commonplace.console.caller import Answer
from commonplace.console.page import Page, PageRoute
from commonplace.console.pages.openapi.panels import ROWS, Panel
from commonplace.console.pages.openapi.view import (
    TABS,
    DocumentSource,
    View,
    read_posted_view,
    read_view,
)
from commonplace.console.pages.openapi.work import FILL

DRAFT = "openapi"
MAX_RAW_CHARS = 20_000
PATIENCE_SECONDS = 0.05  # then the page is sent, and its script asks for the result


async def show(page: Page) -> Response:
    """Show the document that the address names, or the form for one."""
    patience = None if page.query("wait") or page.is_partial else PATIENCE_SECONDS
    return await respond(page, read_view(page), patience)


async def work(page: Page) -> Response:
    """Show a pasted or uploaded document, or a named one with a pasted second document."""
    view = await read_posted_view(await page.form())
    if view.is_linked and not view.problem and all(other.is_linked for other in view.others):
        choices = {**view.choices, "tab": view.tab}
        return page.redirect("/openapi", None, ref=view.source.name, **choices)
    return await respond(page, view)


async def respond(page: Page, view: View, patience: float | None = None) -> Response:
    """Ask for the summary and the tab, and render the page.

    With `patience`, the page of a named document is rendered without them after these seconds.
    """
    summary: Answer | None = None
    panel: Panel | None = None
    is_waiting = False
    if view.source.is_given and not view.problem:
        seconds = patience if view.is_linked else None
        try:
            async with asyncio.timeout(seconds):
                summary, panel = await asyncio.gather(
                    page.call("oas_parse", {"spec": view.source.spec}), FILL[view.tab](page, view)
                )
        except TimeoutError:
            is_waiting = True
    return page.render(
        "pages/openapi/page.html",
        view=view,
        summary=summary,
        panel=panel,
        is_waiting=is_waiting,
        values=panel.values if panel is not None else {},
        tabs=TABS,
        rows_per_page=ROWS,
        draft=DRAFT,
        other_text=_pasted_other(view).shown_text,
        max_raw=MAX_RAW_CHARS,
    )


def _pasted_other(view: View) -> DocumentSource:
    """Return the second document that was pasted, to show it in its text area again."""
    pasted = [other for other in view.others if other.text is not None and not other.name]
    return pasted[0] if pasted else DocumentSource()


ROUTES = (PageRoute("/openapi", show), PageRoute("/openapi", work, methods=("POST",)))
