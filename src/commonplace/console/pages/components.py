"""All components on one page, for people who build pages and for the screenshot test."""

from __future__ import annotations

from starlette.responses import Response

from commonplace.console.flash import Flash, Undo
from commonplace.console.page import Page, PageRoute
from commonplace.console.rendering import url

COLUMNS = [
    {"key": "id", "title": "Id", "kind": "id", "sort": "id"},
    {"key": "title", "title": "Title", "kind": "text", "sort": "title"},
    {"key": "status", "title": "Status", "kind": "", "sort": ""},
    {"key": "uses", "title": "Uses", "kind": "num", "sort": "uses"},
]
ROWS = [
    {"id": "py-style", "title": "Write Python in one style", "status": "approved", "uses": 1280},
    {"id": "api-errors", "title": "Errors say what to do next", "status": "draft", "uses": 31},
    {"id": "sql", "title": "Never build SQL from text", "status": "deprecated", "uses": 0},
]
DIFF = ("@@ -1,3 +1,3 @@", " steps:", "-  - run tests", "+  - run all tests", " done")
CODE = 'def greet(name: str) -> str:\n    """Return a greeting."""\n    return f"Hello, {name}!"\n'
MARKDOWN = (
    "Keep **functions** short. See [the guide](https://example.org).\n\n"
    "| size | lines |\n|---|---|\n| good | 20 |\n\n<b>raw HTML stays text</b>\n"
)


async def show(page: Page) -> Response:
    """Show every component with sample data."""
    rows = [{**row, "href": url(f"/components/{row['id']}")} for row in ROWS]
    return page.render(
        "pages/components.html",
        columns=COLUMNS,
        rows=rows,
        diff=DIFF,
        code=CODE,
        markdown=MARKDOWN,
        confirm=page.query("confirm"),
        sort=page.query("sort", "id"),
        sample=Flash("3 instructions removed.", undo=Undo(url("/components"), {"ids": "a"})),
        sort_url=lambda name: url("/components", sort=name),
        page_url=lambda number: url("/components", page=number),
    )


ROUTES = (PageRoute("/components", show),)
