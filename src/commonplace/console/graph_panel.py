"""The graph of the instructions: drawn or as its source, with the choices the graph_export tool
offers.
"""

from __future__ import annotations

from typing import Any

from nicegui import ui

from commonplace.console.drawing import drawn, flowchart
from commonplace.console.parts import QUIET, address, remember, whole
from commonplace.console.shell import View, empty, failure

KINDS = ["primary", "category", "belongs"]
EDGES = 60  # more cannot be read on a screen, and a browser draws them slowly
DRAWN_MOST = 600
MOST_EDGES = 100_000
MAX_SHOWN = 200_000  # characters of source on the page; the button copies all of it


class GraphPanel:
    def __init__(self, view: View) -> None:
        self._view = view
        self._source = ""

    async def show(self, shared: dict[str, str]) -> None:
        """`shared` is what the address says; a switch that is off by default is on with 1, one
        that is on is off with 0.
        """
        chosen = [kind for kind in KINDS if kind in shared.get("edges", "").split(",")] or KINDS
        with ui.row().classes("w-full items-center gap-3"):
            self._look = ui.toggle(
                ["Rendered", "Raw"], value="Raw" if shared.get("look") == "raw" else "Rendered"
            ).props("dense no-caps")
            self._kinds = ui.select(KINDS, value=chosen, multiple=True, label="Edge types").props(
                "outlined dense options-dense"
            )
            self._kinds.classes("min-w-48")
            most = min(whole(shared.get("most"), EDGES), MOST_EDGES)
            self._most = ui.number(
                "Most edges", value=most, min=1, max=MOST_EDGES, precision=0
            ).props("outlined dense debounce=500")
            self._most.classes("w-28")
            self._enrich = ui.switch("Enrichment", value=shared.get("enrich") != "0")
            self._nodes = ui.switch("Category nodes", value=shared.get("nodes") != "0")
            self._usage = ui.switch("Usage", value=shared.get("usage") == "1")
            ui.button(
                "Copy source",
                icon="content_copy",
                on_click=lambda: ui.clipboard.write(self._source),
            ).props(QUIET).classes("cp-quiet")
        self._body = ui.column().classes("w-full min-w-0")
        for field in (self._look, self._kinds, self._most, self._enrich, self._nodes, self._usage):
            field.on_value_change(self._refresh)
        await self._refresh()

    async def _refresh(self) -> None:
        arguments = {
            "format": "mermaid",
            "includeEdgeTypes": self._kinds.value,
            "maxEdges": int(self._most.value or EDGES),
            "enrich": self._enrich.value,
            "includeCategoryNodes": self._nodes.value,
            "includeUsage": self._usage.value,
        }
        self._remember()
        answer = await self._view.call("graph_export", arguments)
        self._body.clear()
        with self._body:
            if answer.error is not None:
                failure(answer.error)
                return
            self._source = answer.output["mermaid"]
            self._draw(answer.output)

    def _remember(self) -> None:
        kinds, most = self._kinds.value or [], int(self._most.value or EDGES)
        shared = {
            "look": "raw" if self._look.value == "Raw" else None,
            "edges": ",".join(kinds) if 0 < len(kinds) < len(KINDS) else None,
            "most": most if most != EDGES else None,
            "enrich": None if self._enrich.value else "0",
            "nodes": None if self._nodes.value else "0",
            "usage": "1" if self._usage.value else None,
        }
        remember(address("/instructions", tab="graph", **shared))

    def _draw(self, graph: dict[str, Any]) -> None:
        meta = graph["meta"]
        cut = (
            " Some edges are left out: raise Most edges to see them."
            if meta.get("truncated")
            else ""
        )
        ui.label(f"{meta['nodeCount']:,} nodes, {meta['edgeCount']:,} edges.{cut}").classes(
            "text-sm cp-muted"
        )
        if self._look.value == "Raw":
            ui.code(self._source[:MAX_SHOWN], language="text").classes("w-full cp-code")
            return
        edges = graph["edges"][:DRAWN_MOST]
        if not edges:
            empty("No edge is left to draw.", "Choose more edge types.")
            return
        ends = dict.fromkeys(end for edge in edges for end in (edge["from"], edge["to"]))
        uses = {node["id"]: node.get("usageCount") for node in graph["nodes"]}
        titles = {end: f"{end} ({uses[end]} uses)" if uses.get(end) else end for end in ends}
        drawn(
            self._view,
            flowchart(titles, [(edge["from"], edge["to"], edge["type"]) for edge in edges]),
        )
