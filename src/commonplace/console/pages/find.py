"""Find pages, tools and content: the page behind Ctrl+K, and its results as a part."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from commonplace.console.page import NAVIGATION, Page, PageRoute
from commonplace.console.rendering import quote_path, url

MAX_PER_GROUP = 8


@dataclass(frozen=True, slots=True)
class Finding:
    """A place that the palette leads to."""

    title: str
    address: str
    note: str = ""


async def show(page: Page) -> Response:
    """Show what matches, as a page or as the part that the palette shows."""
    query = page.query("q")
    groups = await find(page, query)
    template = "pages/find_results.html" if page.query("part") else "pages/find.html"
    return page.render(template, query=query, groups=groups)


async def find(page: Page, query: str) -> list[tuple[str, list[Finding]]]:
    """Return the groups of findings that are not empty."""
    wanted = query.lower()
    pages = [
        Finding(item.title, url(item.path)) for item in NAVIGATION if wanted in item.title.lower()
    ]
    groups = [("Pages", pages)]
    if query:
        groups.append(("Tools", await _find_tools(page, wanted)))
    return [(title, findings[:MAX_PER_GROUP]) for title, findings in groups if findings]


async def _find_tools(page: Page, wanted: str) -> list[Finding]:
    return [
        Finding(tool["name"], url(f"/tools/{quote_path(tool['name'])}"), tool.get("title", ""))
        for tool in await page.caller.tools()
        if wanted in tool["name"].lower()
    ]


ROUTES = (PageRoute("/find", show),)
