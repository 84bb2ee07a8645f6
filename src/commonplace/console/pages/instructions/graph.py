"""The graph of the instructions: what graph_export returns, drawn or as its source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from commonplace.console.page import Page
from commonplace.console.pages.instructions.permission import Permission
from commonplace.console.pages.instructions.rules import instruction_url
from commonplace.console.pages.instructions.tabs import render_tab
from commonplace.console.rendering import url

EDGE_TYPES = ("primary", "category", "belongs")
DEFAULT_EDGES = 60  # more cannot be read on a screen
MAX_EDGES = 100_000
MAX_DRAWN = 200  # nodes and edges; a browser needs seconds for more
MAX_SOURCE_CHARS = 500_000  # on the page; the download contains all
NODE = re.compile(r'  (\w+)\["(.*)"\]')
EDGE = re.compile(r"  (\w+) ---\|\w+\| (\w+)")
CATEGORY = "category:"


@dataclass(frozen=True, slots=True)
class GraphChoices:
    """What the address asks for."""

    edge_types: list[str]
    max_edges: int
    enrich: bool
    category_nodes: bool
    usage: bool
    is_raw: bool

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of graph_export."""
        return {
            "format": "mermaid",
            "includeEdgeTypes": self.edge_types,
            "maxEdges": self.max_edges,
            "enrich": self.enrich,
            "includeCategoryNodes": self.category_nodes,
            "includeUsage": self.usage,
            "full": True,
        }

    def address(self, path: str, *, is_raw: bool) -> str:
        """Return an address with these choices."""
        has_all = len(self.edge_types) == len(EDGE_TYPES)
        return url(
            path,
            tab="graph",
            look="raw" if is_raw else None,
            edges=None if has_all else self.edge_types,
            most=self.max_edges if self.max_edges != DEFAULT_EDGES else None,
            enrich=None if self.enrich else "0",
            nodes=None if self.category_nodes else "0",
            usage="1" if self.usage else None,
        )


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """A node of the drawing: its name there, its title and where it leads."""

    name: str
    title: str
    address: str


def read_choices(page: Page) -> GraphChoices:
    """Read the address. A form sends `set`, because an empty box is not sent."""
    wanted = {
        kind for value in page.request.query_params.getlist("edges") for kind in value.split(",")
    }
    is_set = bool(page.query("set"))

    def is_on(name: str) -> bool:
        return page.query(name) not in ("", "0") if is_set else page.query(name) != "0"

    return GraphChoices(
        [kind for kind in EDGE_TYPES if kind in wanted] or list(EDGE_TYPES),
        min(MAX_EDGES, page.number("most", DEFAULT_EDGES)),
        is_on("enrich"),
        is_on("nodes"),
        page.query("usage") not in ("", "0"),
        page.query("look") == "raw",
    )


async def show_graph(page: Page, permission: Permission) -> Response:
    """Show the exported graph, drawn or as text."""
    choices = read_choices(page)
    answer = await page.call("graph_export", choices.arguments())
    source = answer.output["mermaid"] if answer.ok else ""
    can_draw = page.parts.assets.has("mermaid.js")
    is_whole = count_parts(source) <= MAX_DRAWN or bool(page.query("all"))
    drawn = source if is_whole else keep_connected(source, MAX_DRAWN)
    uses = answer.output["nodes"] if answer.ok and choices.usage else ()
    return await render_tab(
        page,
        "graph",
        permission,
        choices=choices,
        edge_types=EDGE_TYPES,
        error=answer.error,
        meta=answer.output["meta"] if answer.ok else {},
        can_draw=can_draw,
        is_whole=is_whole,
        source=source[:MAX_SOURCE_CHARS],
        is_cut=len(source) > MAX_SOURCE_CHARS,
        drawn=drawn,
        nodes=list(find_nodes(drawn)) if not choices.is_raw else [],
        uses=[(node["id"], node["usageCount"]) for node in uses if node.get("usageCount")],
        rendered_url=choices.address("/instructions", is_raw=False),
        raw_url=choices.address("/instructions", is_raw=True),
        all_url=choices.address("/instructions", is_raw=False) + "&all=1",
        download_url=choices.address("/instruction-graph", is_raw=False),
    )


async def download(page: Page) -> Response:
    """Answer with the exported Mermaid text."""
    graph = await page.ask("graph_export", read_choices(page).arguments())
    headers = {"Content-Disposition": 'attachment; filename="instructions.mmd"'}
    return Response(graph["mermaid"], media_type="text/plain", headers=headers)


def count_parts(source: str) -> int:
    """Count the nodes and edges of an exported text."""
    return len(_body(source))


def keep_connected(source: str, most: int) -> str:
    """Return the text without nodes that have no edge, and with at most `most` edges."""
    head, separator, _ = source.partition("flowchart TB\n")
    edges = [line for line in _body(source) if EDGE.match(line)][:most]
    ends = {end for line in edges for end in EDGE.match(line).groups()}  # type: ignore[union-attr]
    nodes = [
        line
        for line in _body(source)
        if (match := NODE.fullmatch(line)) is not None and match[1] in ends
    ]
    return head + separator + "\n".join([*nodes, *edges]) + "\n"


def find_nodes(source: str) -> Iterator[DrawnNode]:
    """Yield the nodes of an exported text, with their addresses in the console."""
    for line in _body(source):
        match = NODE.fullmatch(line)
        if match is not None:
            name, title = match[1], match[2]
            is_category = title.startswith(CATEGORY)
            category = title.removeprefix(CATEGORY)
            address = url("/instructions", category=category)
            yield DrawnNode(name, title, address if is_category else instruction_url(title))


def _body(source: str) -> list[str]:
    """Return the lines below the front matter, which may look like nodes."""
    return source.partition("flowchart TB\n")[2].splitlines()
