"""OpenAPI: drop, paste or pick a document; see what it is, what is wrong with it and where, its
parts, and what to do with it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from nicegui import ui

from commonplace.console.openapi_document import DocumentPane
from commonplace.console.openapi_panels import FindingsPanel, OperationsPanel, SchemasPanel, Shared
from commonplace.console.openapi_work import ComparePanel, GeneratePanel, OverlayPanel
from commonplace.console.parts import address, counted, remember
from commonplace.console.shell import Shell, View, empty, failure, patiently

TABS = (
    ("findings", "Findings"),
    ("operations", "Operations"),
    ("schemas", "Schemas"),
    ("compare", "Compare"),
    ("overlay", "Overlay"),
    ("generate", "Generate"),
)


def register(shell: Shell) -> None:
    @ui.page("/openapi")
    async def openapi() -> None:
        with shell.page("OpenAPI") as view:
            await patiently(_OpenApi(view).show(dict(ui.context.client.request.query_params)))


class _OpenApi:
    def __init__(self, view: View) -> None:
        self._view = view

    async def show(self, shared: dict[str, str]) -> None:
        self._shared = shared
        with ui.row().classes("w-full gap-4 items-start"):
            with ui.column().classes("grow basis-96 min-w-0 gap-2"):
                self._document = DocumentPane(self._view, shared.get("ref", ""), self._look)
            with ui.column().classes("grow basis-96 min-w-0 gap-3"):
                self._summary = ui.column().classes("w-full")
                with (
                    ui.tabs()
                    .props("dense no-caps align=left outside-arrows mobile-arrows")
                    .classes("w-full") as self._tabs
                ):
                    for name, title in TABS:
                        ui.tab(name, label=title)
                self._tabs.value = (
                    shared.get("tab") if shared.get("tab") in dict(TABS) else "findings"
                )
                self._body = ui.column().classes("w-full gap-3 min-w-0")
        self._tabs.on_value_change(self._open)
        self._tabs.set_visibility(False)
        with self._summary:
            empty("No document yet.", "Paste one and press Check, drop a file, or press Example.")
        if self._document.ref:
            await self._document.load()
            await self._look()

    async def _look(self) -> None:
        """Read the document, then fill the open tab."""
        spec = self._document.spec
        self._body.clear()
        self._summary.clear()
        with self._summary:
            ui.spinner()
        answer = await self._view.call("oas_parse", {"spec": spec})
        self._summary.clear()
        self._tabs.set_visibility(answer.ok)
        with self._summary:
            if answer.error is not None:
                failure(answer.error)
                remember(address("/openapi", ref=self._document.ref))
                return
            self._show_summary(answer.output)
        await self._open()

    async def _open(self) -> None:
        spec = self._document.spec
        if spec is None:
            return
        shared, self._shared = self._shared, {}
        keep = partial(self._keep, str(self._tabs.value))
        self._body.clear()
        with self._body:
            match self._tabs.value:
                case "operations":
                    await OperationsPanel(self._view, spec, keep).show(shared)
                case "schemas":
                    await SchemasPanel(self._view, spec, keep).show(shared)
                case "compare":
                    await ComparePanel(self._view, spec, keep).show(shared)
                case "overlay":
                    await OverlayPanel(self._view, spec, keep).show(shared)
                case "generate":
                    await GeneratePanel(self._view, spec, keep).show(shared)
                case _:
                    await FindingsPanel(self._view, spec, keep, self._document.jump).show(shared)

    def _keep(self, tab: str, shared: Shared) -> None:
        remember(
            address(
                "/openapi", ref=self._document.ref, tab=tab if tab != "findings" else None, **shared
            )
        )

    @staticmethod
    def _show_summary(found: dict[str, Any]) -> None:
        with ui.card().props("flat bordered").classes("w-full gap-1"):
            with ui.row().classes("w-full items-center gap-2"):
                ui.label(found.get("title") or "Without a title").classes(
                    "text-lg font-semibold cp-text min-w-0"
                )
                ui.label(f"OpenAPI {found['version']}").classes("cp-tag")
            counts = ", ".join(
                counted(found[f"{noun}_count"], noun) for noun in ("path", "operation", "schema")
            )
            ui.label(counts).classes("text-sm")
            if found.get("description"):
                ui.label(found["description"][:600]).classes("text-sm cp-muted cp-text")
            for server in found.get("servers", ())[:5]:
                ui.label(server["url"]).classes("text-sm cp-mono cp-text")
