"""Instructions: the catalogue to search and filter, page by page; its graph, governance, prompt
review, use and feedback.
"""

from __future__ import annotations

from typing import Any

from nicegui import ui

from commonplace.console.feedback_panel import FeedbackPanel
from commonplace.console.graph_panel import GraphPanel
from commonplace.console.instruction_entry import InstructionPage, writable
from commonplace.console.instruction_panels import (
    GovernancePanel,
    PromptPanel,
    UsagePanel,
)
from commonplace.console.parts import (
    ANY,
    address,
    choice,
    columns_of,
    linked,
    pager,
    remember,
    whole,
)
from commonplace.console.shell import Shell, View, empty, failure, patiently

PAGE = 25
LIVE_SECONDS = 5.0
STATES = ["draft", "review", "approved", "deprecated"]
TIERS = ["P1", "P2", "P3", "P4"]
REQUIREMENTS = ["mandatory", "critical", "recommended", "optional", "deprecated"]
ORDERS = {"": "id", "priority": "priority", "title": "title", "updatedAt": "last change"}
MAX_CHOICES = 500
TABS = (
    ("rules", "Rules"),
    ("graph", "Graph"),
    ("governance", "Governance"),
    ("prompt", "Prompt review"),
    ("usage", "Use"),
    ("feedback", "Feedback"),
)
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
    async def instructions() -> None:
        with shell.page("Instructions") as view:
            await patiently(_Catalogue(view).show(dict(ui.context.client.request.query_params)))

    @ui.page("/instructions/{identity}")
    async def instruction(identity: str) -> None:
        with shell.page("Instructions") as view:
            await patiently(InstructionPage(view, identity).show())

    @ui.page("/new-instruction")
    async def new() -> None:
        with shell.page("Instructions") as view:
            await patiently(InstructionPage(view, None).show())


class _Catalogue:
    """The tabs. What the address holds is for the tab it names; another tab starts without."""

    def __init__(self, view: View) -> None:
        self._view = view

    async def show(self, shared: dict[str, str]) -> None:
        self._shared = shared
        self._may_change = await writable(self._view)
        with (
            ui.tabs()
            .props("dense no-caps align=left outside-arrows mobile-arrows")
            .classes("w-full") as self._tabs
        ):
            for name, title in TABS:
                ui.tab(name, label=title)
        self._tabs.value = shared.get("tab") if shared.get("tab") in dict(TABS) else "rules"
        self._body = ui.column().classes("w-full gap-3 min-w-0")
        self._tabs.on_value_change(self._open)
        await self._open()

    async def _open(self) -> None:
        shared, self._shared = self._shared, {}
        self._body.clear()
        with self._body:
            match self._tabs.value:
                case "graph":
                    await GraphPanel(self._view).show(shared)
                case "governance":
                    await GovernancePanel(self._view, self._may_change).show(shared)
                case "prompt":
                    await PromptPanel(self._view).show(shared)
                case "usage":
                    await UsagePanel(self._view).show(shared)
                case "feedback":
                    await FeedbackPanel(self._view).show(shared)
                case _:
                    await _Rules(self._view, self._may_change).show(shared)


class _Rules:
    """The list: instant search, filters, one page at a time from the server."""

    def __init__(self, view: View, may_change: bool) -> None:
        self._view = view
        self._may_change = may_change
        self._hash = ""

    async def show(self, shared: dict[str, str]) -> None:
        self._page = whole(shared.get("page"), 1)
        known = await self._view.call("instructions_categories", {})
        categories = (
            [one["name"] for one in known.output["categories"]][:MAX_CHOICES] if known.ok else []
        )
        with ui.row().classes("w-full items-center gap-2"):
            self._query = ui.input("Search", value=shared.get("q", "")).props(
                "outlined dense clearable autofocus debounce=250"
            )
            self._query.classes("grow min-w-48")
            self._filters = {
                "categories": (
                    "category",
                    choice("Category", categories, shared.get("category", "")),
                ),
                "status": ("status", choice("Status", STATES, shared.get("status", ""))),
                "priorityTiers": ("tier", choice("Tier", TIERS, shared.get("tier", ""))),
                "requirements": (
                    "requirement",
                    choice("Requirement", REQUIREMENTS, shared.get("requirement", "")),
                ),
            }
            self._owner = (
                ui.input("Owner", value=shared.get("owner", ""))
                .props("outlined dense clearable debounce=400")
                .classes("w-32")
            )
            order = shared.get("sort", "")
            self._order = ui.select(
                ORDERS, value=order if order in ORDERS else "", label="Sort by"
            ).props("outlined dense options-dense")
            self._order.classes("min-w-28")
            if self._may_change:
                ui.button(
                    "New", icon="add", on_click=lambda: ui.navigate.to("/new-instruction")
                ).props("dense no-caps")
        self._rows = ui.column().classes("w-full gap-2 min-w-0")
        for field in (
            self._query,
            self._owner,
            self._order,
            *(field for _, field in self._filters.values()),
        ):
            field.on_value_change(self._from_start)
        await self._refresh()
        ui.timer(LIVE_SECONDS, self._live)

    async def _live(self) -> None:
        """Show what others changed meanwhile: the hash of the catalogue tells that something is
        new.
        """
        answer = await self._view.call("instructions_list", {"limit": 1})
        if answer.ok and answer.output["hash"] != self._hash:
            await self._refresh()

    async def _from_start(self) -> None:
        self._page = 1
        await self._refresh()

    async def _refresh(self) -> None:
        query, owner = (self._query.value or "").strip(), (self._owner.value or "").strip()
        filters: dict[str, Any] = {}
        shared: dict[str, Any] = {"q": query}
        for name, (key, field) in self._filters.items():
            if field.value != ANY:
                filters[name] = [field.value]
                shared[key] = field.value
        if query:
            filters["text"] = query
        if owner:
            filters["owners"] = [owner]
        page = self._page if self._page > 1 else None
        remember(address("/instructions", **shared, owner=owner, sort=self._order.value, page=page))
        arguments: dict[str, Any] = {
            "filters": filters,
            "limit": PAGE,
            "offset": (self._page - 1) * PAGE,
        }
        if self._order.value:
            arguments["sort"] = {
                "field": self._order.value,
                "direction": "desc" if self._order.value == "updatedAt" else "asc",
            }
        answer = await self._view.call("instructions_query", arguments)
        named = (
            await self._called(query)
            if answer.ok and list(filters) == ["text"] and self._page == 1
            else None
        )
        self._rows.clear()
        with self._rows:
            if answer.error is not None:
                failure(answer.error)
            else:
                self._hash = answer.output["hash"]
                self._table(answer.output, bool(filters), named)

    async def _called(self, query: str) -> dict[str, Any] | None:
        """The instruction whose id was typed: the search is over titles and texts."""
        answer = await self._view.call("instructions_get", {"id": query})
        item: dict[str, Any] | None = answer.output.get("item") if answer.ok else None
        return item

    def _table(self, found: dict[str, Any], narrowed: bool, named: dict[str, Any] | None) -> None:
        items = [item for item in found["items"] if named is None or item["id"] != named["id"]]
        extra = named is not None and len(items) == len(found["items"])
        total = found["total"] + extra
        if not total:
            if narrowed:
                empty("No instruction fits.", "Take a filter away or search for another word.")
            else:
                empty(
                    "The catalogue is empty.",
                    "Press New, or put JSON files into the instructions folder.",
                )
            return
        ui.label(f"Instructions: {total:,}").classes("text-sm cp-muted")
        rows = [
            {
                name: (
                    str(item.get(name) or "")[:10] if name == "nextReviewDue" else item.get(name)
                )
                for name, _ in COLUMNS
            }
            for item in ([named] if named is not None else []) + items
        ]
        table = ui.table(columns=columns_of(COLUMNS), rows=rows, row_key="id")
        table.props('dense flat hover wrap-cells :grid="Quasar.Screen.lt.sm"').classes(
            "w-full cursor-pointer"
        )
        linked(table, "id", "/instructions")
        pager(found["total"], PAGE, self._page, self._turn)

    async def _turn(self, page: int) -> None:
        self._page = page
        await self._refresh()
