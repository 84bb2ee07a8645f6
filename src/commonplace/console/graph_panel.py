"""The graph of the instructions: drawn or as its source, with the choices the graph_export tool offers."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from commonplace.console.drawing import drawn, flowchart
from commonplace.console.parts import QUIET
from commonplace.console.shell import View, empty, failure

KINDS = ["primary", "category", "belongs"]
EDGES = 120  # more cannot be read on a screen, and a browser draws them slowly
DRAWN_MOST = 600


class GraphPanel:
    def __init__(self, view: View) -> None:
        self._view = view
        self._source = ""

    async def show(self) -> None:
        with ui.row().classes("w-full items-center gap-3"):
            self._look = ui.toggle(["Rendered", "Raw"], value="Rendered").props("dense no-caps")
            self._kinds = ui.select(KINDS, value=KINDS, multiple=True, label="Edge types").props("outlined dense options-dense")
            self._kinds.classes("min-w-48")
            self._most = ui.number("Most edges", value=EDGES, min=1, max=100_000, precision=0).props("outlined dense debounce=500")
            self._most.classes("w-28")
            self._enrich = ui.switch("Enrichment", value=True)
            self._nodes = ui.switch("Category nodes", value=True)
            self._usage = ui.switch("Usage", value=False)
            ui.button("Copy source", icon="content_copy", on_click=lambda: ui.clipboard.write(self._source)).props(QUIET).classes(
                "cp-quiet"
            )
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
        answer = await self._view.call("graph_export", arguments)
        self._body.clear()
        with self._body:
            if answer.error is not None:
                failure(answer.error)
                return
            self._source = answer.output["mermaid"]
            self._draw(answer.output)

    def _draw(self, graph: dict[str, Any]) -> None:
        meta = graph["meta"]
        cut = " Some edges are left out: raise Most edges to see them." if meta.get("truncated") else ""
        ui.label(f"{meta['nodeCount']:,} nodes, {meta['edgeCount']:,} edges.{cut}").classes("text-sm cp-muted")
        if self._look.value == "Raw":
            ui.code(self._source, language="text").classes("w-full cp-code")
            return
        edges = graph["edges"][:DRAWN_MOST]
        if not edges:
            empty("No edge is left to draw.", "Choose more edge types.")
            return
        ends = dict.fromkeys(end for edge in edges for end in (edge["from"], edge["to"]))
        uses = {node["id"]: node.get("usageCount") for node in graph["nodes"]}
        titles = {end: f"{end} ({uses[end]} uses)" if uses.get(end) else end for end in ends}
        drawn(self._view, flowchart(titles, [(edge["from"], edge["to"], edge["type"]) for edge in edges]))
