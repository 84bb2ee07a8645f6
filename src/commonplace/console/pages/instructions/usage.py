"""Use: which instructions are used most and latest."""

from __future__ import annotations

from starlette.responses import Response

from commonplace.console.page import Page
from commonplace.console.pages.instructions.permission import Permission
from commonplace.console.pages.instructions.rules import instruction_url
from commonplace.console.pages.instructions.tabs import render_tab
from commonplace.console.rendering import format_time

MAX_ITEMS = 100
COLUMNS = (
    {"key": "id", "title": "Id", "kind": "id"},
    {"key": "uses", "title": "Uses", "kind": "num"},
    {"key": "used", "title": "Last used", "kind": "time"},
)


async def show_usage(page: Page, permission: Permission) -> Response:
    """Show the instructions that are used."""
    answer = await page.call("usage_hotset", {"limit": MAX_ITEMS})
    is_disabled = answer.ok and bool(answer.output.get("featureDisabled"))
    items = answer.output.get("items", ()) if answer.ok else ()
    rows = [
        {
            "id": item["id"],
            "href": instruction_url(item["id"]),
            "uses": item["usageCount"],
            "used": format_time(item.get("lastUsedAt")),
        }
        for item in items
    ]
    return await render_tab(
        page,
        "usage",
        Permission(permission.is_granted),
        error=answer.error,
        is_disabled=is_disabled,
        columns=COLUMNS,
        rows=rows,
    )
