"""Instructions: the catalogue to search and filter, page by page, and its graph."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from commonplace.console.graph_panel import GraphPanel
from commonplace.console.instruction_entry import InstructionPage, writable
from commonplace.console.parts import address, linked
from commonplace.console.shell import Shell, View, empty, failure

PAGE = 25
ANY = "any"
STATES = ["draft", "review", "approved", "deprecated"]
TIERS = ["P1", "P2", "P3", "P4"]
MAX_CATEGORIES = 500
COLUMNS = (
    ("id", "id"),
    ("title", "title"),
    ("priorityTier", "tier"),
    ("status", "status"),
    ("requirement", "requirement"),
    ("owner", "owner"),
    ("nextReviewDue", "review due"),
)


def register(shell: Shell) -> None:
    @ui.page("/instructions")
    async def instructions(q: str = "", category: str = "", status: str = "", tier: str = "", tab: str = "", page: int = 1) -> None:
        with shell.page("Instructions") as view:
            chosen = {"category": category, "status": status, "tier": tier}
            await _Catalogue(view).show(q, chosen, tab, max(1, page))

    @ui.page("/instructions/{identity}")
    async def instruction(identity: str) -> None:
        with shell.page("Instructions") as view:
            await InstructionPage(view, identity).show()

    @ui.page("/new-instruction")
    async def new() -> None:
        with shell.page("Instructions") as view:
            await InstructionPage(view, None).show()


class _Catalogue:
    def __init__(self, view: View) -> None:
        self._view = view

    async def show(self, query: str, chosen: dict[str, str], tab: str, page: int) -> None:
        self._page = page
        may_change = await writable(self._view)
        known = await self._view.call("instructions_categories", {})
        categories = [one["name"] for one in known.output["categories"]][:MAX_CATEGORIES] if known.ok else []
        with ui.tabs().props("dense no-caps align=left").classes("w-full") as self._tabs:
            ui.tab("rules", label="Rules")
            ui.tab("graph", label="Graph")
        self._tabs.value = "graph" if tab == "graph" else "rules"
        with ui.row().classes("w-full items-center gap-2") as self._bar:
            self._query = ui.input("Search", value=query).props("outlined dense clearable autofocus debounce=250").classes("grow min-w-48")
            self._category = _choice("Category", categories, chosen["category"])
            self._status = _choice("Status", STATES, chosen["status"])
            self._tier = _choice("Tier", TIERS, chosen["tier"])
            if may_change:
                ui.button("New", icon="add", on_click=lambda: ui.navigate.to("/new-instruction")).props("dense no-caps")
        self._rows = ui.column().classes("w-full gap-2 min-w-0")
        for field in (self._query, self._category, self._status, self._tier):
            field.on_value_change(self._from_start)
        self._tabs.on_value_change(self._refresh)
        await self._refresh()

    async def _from_start(self) -> None:
        self._page = 1
        await self._refresh()

    async def _refresh(self) -> None:
        graph = self._tabs.value == "graph"
        self._bar.set_visibility(not graph)
        if graph:
            ui.navigate.history.replace(address("/instructions", tab="graph"))
            self._rows.clear()
            with self._rows:
                await GraphPanel(self._view).show()
            return
        query = (self._query.value or "").strip()
        filters: dict[str, Any] = {}
        shared: dict[str, str] = {}
        for name, key, field in (
            ("categories", "category", self._category),
            ("status", "status", self._status),
            ("priorityTiers", "tier", self._tier),
        ):
            if field.value != ANY:
                filters[name] = [field.value]
                shared[key] = field.value
        if query:
            filters["text"] = query
        page = self._page if self._page > 1 else None
        ui.navigate.history.replace(address("/instructions", q=query, page=page, **shared))
        arguments = {"filters": filters, "limit": PAGE, "offset": (self._page - 1) * PAGE}
        answer = await self._view.call("instructions_query", arguments)
        self._rows.clear()
        with self._rows:
            if answer.error is not None:
                failure(answer.error)
            else:
                self._table(answer.output, bool(filters))

    def _table(self, found: dict[str, Any], narrowed: bool) -> None:
        total = found["total"]
        if not total:
            if narrowed:
                empty("No instruction fits.", "Take a filter away or search for another word.")
            else:
                empty("The catalogue is empty.", "Press New, or put JSON files into the instructions folder.")
            return
        ui.label(f"Instructions: {total:,}").classes("text-sm cp-muted")
        columns = [{"name": name, "label": title, "field": name, "align": "left"} for name, title in COLUMNS]
        rows = [
            {name: (str(item.get(name) or "")[:10] if name == "nextReviewDue" else item.get(name)) for name, _ in COLUMNS}
            for item in found["items"]
        ]
        table = ui.table(columns=columns, rows=rows, row_key="id").props('dense flat hover wrap-cells :grid="Quasar.Screen.lt.sm"')
        table.classes("w-full cursor-pointer")
        linked(table, "id", "/instructions")
        pages = -(-total // PAGE)
        if pages > 1:
            ui.pagination(
                1, pages, value=min(self._page, pages), direction_links=True, on_change=lambda event: self._turn(event.value)
            ).props("max-pages=7")

    async def _turn(self, page: int | None) -> None:
        if page and page != self._page:
            self._page = page
            await self._refresh()


def _choice(title: str, options: list[str], value: str) -> ui.select:
    known = [ANY, *options] if value in ("", *options) else [ANY, *options, value]
    return ui.select(known, value=value or ANY, label=title).props("outlined dense options-dense").classes("min-w-32")
