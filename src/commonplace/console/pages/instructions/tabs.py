"""The page Instructions: its tabs, each with an address of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from starlette.responses import Response

from commonplace.console.page import Page
from commonplace.console.pages.instructions.permission import Permission, find_permission
from commonplace.console.rendering import url

TITLES = {
    "rules": "Rules",
    "graph": "Graph",
    "governance": "Governance",
    "prompt": "Prompt review",
    "usage": "Use",
    "feedback": "Feedback",
}

TabHandler = Callable[[Page, Permission], Awaitable[Response]]


async def render_tab(
    page: Page, name: str, permission: Permission, status: int = 200, /, **values: object
) -> Response:
    """Render a tab below the links to all tabs."""
    tabs = [
        (title, url("/instructions", tab=None if tab == "rules" else tab), tab == name)
        for tab, title in TITLES.items()
    ]
    return page.render(
        f"pages/instructions/{name}.html",
        status,
        here="/instructions",
        tabs=tabs,
        tab_title=TITLES[name],
        permission=permission,
        **values,
    )


def choose_tab(tabs: Mapping[str, TabHandler]) -> Callable[[Page], Awaitable[Response]]:
    """Return the handler of /instructions, which shows the tab that the address names."""

    async def show(page: Page) -> Response:
        handler = tabs.get(page.query("tab"), tabs["rules"])
        return await handler(page, await find_permission(page))

    return show
