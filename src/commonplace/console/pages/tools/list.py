"""All tools, by toolset, with filters in the address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from commonplace.console.page import Page, PageRoute
from commonplace.console.rendering import quote_path, url

FILE_ENTRY = "FileIO"
UNKNOWN_TOOLSET = "tools"
TIERS = ("core", "extended")
ACCESS = ("reads", "writes")

ListedTool = Mapping[str, Any]
"""A tool as tools/list shows it, with `_toolset` and `_tier` where they are known."""


@dataclass(frozen=True, slots=True)
class ToolRow:
    """A tool in the list."""

    name: str
    address: str
    summary: str
    toolset: str
    tier: str
    writes: bool

    @property
    def short_name(self) -> str:
        """The name below the entry FileIO."""
        return self.name.removeprefix("file_")

    @property
    def is_file_tool(self) -> bool:
        """Whether the tool belongs to the one entry that the contract wants for files."""
        return self.name.startswith("file_")


@dataclass(frozen=True, slots=True)
class ToolGroup:
    """The tools of a toolset; those of FileIO are one entry."""

    title: str
    files: Sequence[ToolRow]
    others: Sequence[ToolRow]


async def show(page: Page) -> Response:
    """Show the tools that match."""
    rows = [make_row(tool) for tool in await page.caller.tools()]
    wanted = page.query("q").lower()
    chosen = {name: page.query(name) for name in ("toolset", "tier", "access")}
    shown = [
        row
        for row in rows
        if wanted in f"{row.name} {row.summary}".lower()
        and chosen["toolset"] in ("", row.toolset)
        and chosen["tier"] in ("", row.tier)
        and chosen["access"] in ("", ACCESS[row.writes])
    ]
    return page.render(
        "pages/tools/list.html",
        query=page.query("q"),
        chosen=chosen,
        toolsets=list(dict.fromkeys(row.toolset for row in rows)),
        tiers=TIERS,
        access=ACCESS,
        total=len(rows),
        count=len(shown),
        groups=group(shown),
        file_entry=FILE_ENTRY,
    )


def make_row(tool: ListedTool) -> ToolRow:
    """Make a row of a tool."""
    return ToolRow(
        tool["name"],
        url(f"/tools/{quote_path(tool['name'])}"),
        str(tool.get("description", "")).split("\n")[0],
        tool.get("_toolset", UNKNOWN_TOOLSET),
        tool.get("_tier", TIERS[0]),
        not tool.get("annotations", {}).get("readOnlyHint", False),
    )


def group(rows: Sequence[ToolRow]) -> list[ToolGroup]:
    """Group rows by toolset, in the order of the server."""
    groups = []
    for title in dict.fromkeys(row.toolset for row in rows):
        members = [row for row in rows if row.toolset == title]
        files = [row for row in members if row.is_file_tool]
        groups.append(ToolGroup(title, files, [row for row in members if not row.is_file_tool]))
    return groups


ROUTES = (PageRoute("/tools", show),)
