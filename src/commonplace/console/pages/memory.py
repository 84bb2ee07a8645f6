"""Memory: search as an agent sees it, with the reasons; what to link, what is stale, and a form
to add.
"""

from __future__ import annotations

from typing import Any

from nicegui import ui

from commonplace.console.memory_entry import KINDS, EntryPage, entry_form
from commonplace.console.parts import (
    QUIET,
    address,
    columns_of,
    in_words,
    linked,
    marked,
    pager,
    remember,
    whole,
)
from commonplace.console.shell import Shell, View, empty, failure, patiently
from commonplace.search.lexical.text import query_terms

PAGE = 20
LIVE_SECONDS = 5.0
FOUND = 10
STALE = 100
ANY = "any type"
TABS = (
    ("entries", "Entries"),
    ("suggestions", "Suggestions"),
    ("stale", "Stale"),
    ("deleted", "Deleted"),
)


def register(shell: Shell) -> None:
    @ui.page("/memory")
    async def memory() -> None:
        with shell.page("Memory") as view:
            await patiently(_Memory(view).show(dict(ui.context.client.request.query_params)))

    @ui.page("/memory/{entry_id}")
    async def entry(entry_id: str) -> None:
        with shell.page("Memory") as view:
            await patiently(EntryPage(view, entry_id).show())


class _Memory:
    def __init__(self, view: View) -> None:
        self._view = view
        self._newest: tuple[int, list[dict[str, Any]]] | None = None

    async def show(self, shared: dict[str, str]) -> None:
        self._page = whole(shared.get("page"), 1)
        self._days = whole(shared.get("days"), 0, 0)
        kind = shared.get("kind", "")
        with ui.row().classes("w-full items-center gap-2"):
            self._query = ui.input(
                "Search the memory, as an agent would", value=shared.get("q", "")
            )
            self._query.props("outlined dense clearable autofocus debounce=300").classes(
                "grow min-w-48"
            )
            self._kind = ui.select(
                [ANY, *KINDS], value=kind if kind in KINDS else ANY, label="Type"
            ).props("outlined dense options-dense")
            self._kind.classes("min-w-28")
            self._project = ui.input("Project", value=shared.get("project", "")).props(
                "outlined dense clearable debounce=400"
            )
            self._tag = ui.input("Tag", value=shared.get("tag", "")).props(
                "outlined dense clearable debounce=400"
            )
            self._project.classes("w-32")
            self._tag.classes("w-32")
            if self._view.may_write:
                ui.button("Add", icon="add", on_click=self._add).props("dense no-caps")
        with (
            ui.tabs()
            .props("dense no-caps align=left outside-arrows mobile-arrows")
            .classes("w-full") as tabs
        ):
            for name, title in TABS:
                ui.tab(name, label=title)
        tabs.value = shared.get("tab") if shared.get("tab") in dict(TABS) else "entries"
        self._tabs = tabs
        self._rows = ui.column().classes("w-full gap-2")
        for field in (self._query, self._kind, self._project, self._tag):
            field.on_value_change(self._from_start)
        tabs.on_value_change(self._first_page)
        await self._refresh()
        ui.timer(LIVE_SECONDS, self._live)

    async def _live(self) -> None:
        """The list of entries follows what agents add; a search, a decision or a choice in
        progress is left alone.
        """
        if self._tabs.value != "entries" or (self._query.value or "").strip():
            return
        answer = await self._view.call("memory_list", {"limit": 1, **self._filters()})
        if answer.ok and (answer.output["total"], answer.output["entries"][:1]) != self._newest:
            self._newest = (answer.output["total"], answer.output["entries"][:1])
            await self._refresh()

    async def _from_start(self) -> None:
        self._page = 1
        if self._tabs.value not in ("entries", "deleted"):
            self._tabs.value = "entries"  # which refreshes
        else:
            await self._refresh()

    async def _first_page(self) -> None:
        self._page = 1
        await self._refresh()

    def _filters(self) -> dict[str, str]:
        chosen = {
            "type": "" if self._kind.value == ANY else str(self._kind.value),
            "project": (self._project.value or "").strip(),
            "tag": (self._tag.value or "").strip(),
        }
        return {name: value for name, value in chosen.items() if value}

    async def _refresh(self) -> None:
        query, tab, filters = (
            (self._query.value or "").strip(),
            str(self._tabs.value),
            self._filters(),
        )
        shared: dict[str, Any] = {
            "kind" if name == "type" else name: value for name, value in filters.items()
        }
        page = self._page if self._page > 1 else None
        days = self._days if tab == "stale" else None
        remember(
            address(
                "/memory",
                q=query,
                **shared,
                tab=tab if tab != "entries" else None,
                days=days,
                page=page,
            )
        )
        if tab == "suggestions":
            await self._suggestions()
        elif tab == "stale":
            await self._stale()
        elif tab == "entries" and query:
            await self._search(query, filters)
        else:
            await self._list(filters, deleted=tab == "deleted")

    async def _search(self, query: str, filters: dict[str, str]) -> None:
        taken = {name: value for name, value in filters.items() if name != "tag"}
        arguments = {"query": query, "limit": FOUND, "why": True, **taken}
        answer = await self._view.call("rekall_search", arguments)
        self._rows.clear()
        with self._rows:
            if answer.error is not None:
                failure(answer.error)
                return
            if not answer.output["results"]:
                empty("Nothing found.", str(answer.output.get("hint", "Try other words.")))
                return
            count, tokens = len(answer.output["results"]), answer.output.get("tokens")
            ui.label(
                f"Entries found: {count}, best first"
                + (f"; an agent would read about {tokens} tokens." if tokens else ".")
            ).classes("text-sm cp-muted")
            for found in answer.output["results"]:
                self._hit(found, query)

    def _hit(self, found: dict[str, Any], query: str) -> None:
        with ui.card().props("flat bordered").classes("w-full gap-1 p-3"):
            with ui.row().classes("w-full items-center gap-2"):
                ui.link(found["title"], f"/memory/{found['id']}").classes("font-semibold")
                ui.label(found["type"]).classes("cp-tag")
                if found.get("superseded_by"):
                    ui.label("superseded").classes("cp-tag cp-bad")
                if found.get("contradicts"):
                    ui.label("contradicted").classes("cp-tag cp-bad")
                ui.space()
                ui.label(f"score {found['score']:.2f}").classes("cp-tag")
            marked(found["snippet"], query_terms(query))
            if found.get("superseded_by"):
                ui.link(
                    f"Replaced by: {found['superseded_by']['title']}",
                    f"/memory/{found['superseded_by']['id']}",
                ).classes("text-sm")
            ui.label(_reason(found.get("why") or {}, query)).classes("text-xs cp-muted cp-text")

    async def _list(self, filters: dict[str, str], *, deleted: bool) -> None:
        arguments = {
            "limit": PAGE,
            "offset": (self._page - 1) * PAGE,
            "deleted": deleted,
            **filters,
        }
        answer = await self._view.call("memory_list", arguments)
        self._rows.clear()
        with self._rows:
            if answer.error is not None:
                failure(answer.error)
                return
            total = answer.output["total"]
            if self._page == 1 and not deleted:
                self._newest = (total, answer.output["entries"][:1])
            if not total:
                _nothing(filters, deleted)
                return
            ui.label(f"{'Deleted' if deleted else 'Entries'}: {total:,}").classes(
                "text-sm cp-muted"
            )
            table = _entries(answer.output["entries"], selectable=deleted and self._view.may_write)
            if deleted and self._view.may_write:
                ui.button(
                    "Bring back", icon="restore", on_click=lambda: self._bring_back(table.selected)
                ).props("dense no-caps")
            pager(total, PAGE, self._page, self._turn)

    async def _bring_back(self, chosen: list[dict[str, Any]]) -> None:
        if not chosen:
            ui.notify("Tick what to bring back.")
            return
        for one in chosen:
            answer = await self._view.call("memory_delete", {"id": one["id"], "restore": True})
            if answer.error is not None:
                ui.notify(str(answer.error["message"]), type="negative")
                return
        ui.notify(f"{len(chosen)} brought back", type="positive")
        await self._refresh()

    async def _turn(self, page: int) -> None:
        self._page = page
        await self._refresh()

    async def _stale(self) -> None:
        answer = await self._view.call(
            "memory_stale", {"limit": STALE} | ({"days": self._days} if self._days else {})
        )
        self._rows.clear()
        with self._rows:
            if answer.error is not None:
                failure(answer.error)
                return
            found = answer.output
            with ui.row().classes("w-full items-center gap-2"):
                days = ui.number(
                    "Not read for days", value=found["days"], min=1, max=3650, precision=0
                ).props("outlined dense debounce=500")
                days.classes("w-40").on_value_change(self._set_days)
                total = found["total"]
                ui.label(
                    f"{total:,} entries. Check them, correct them or mark them obsolete."
                ).classes("text-sm cp-muted")
            if not found["entries"]:
                empty(
                    "Nothing is stale.",
                    f"Entries nobody read for {found['days']} days are shown here.",
                )
                return
            table = _entries(found["entries"], selectable=self._view.may_write)
            if self._view.may_write:
                ui.button(
                    "Mark as obsolete",
                    icon="archive",
                    on_click=lambda: self._retire(table.selected),
                ).props("dense no-caps")
            if found["total"] > len(found["entries"]):
                ui.label(
                    f"The {len(found['entries'])} that were left alone for longest are shown."
                ).classes("text-xs cp-muted")

    async def _set_days(self, event: Any) -> None:
        if event.value and int(event.value) != self._days:
            self._days = int(event.value)
            await self._refresh()

    async def _retire(self, chosen: list[dict[str, Any]]) -> None:
        if not chosen:
            ui.notify("Tick what no longer holds.")
            return
        for one in chosen:
            answer = await self._view.call("memory_update", {"id": one["id"], "status": "obsolete"})
            if answer.error is not None:
                ui.notify(str(answer.error["message"]), type="negative")
                return
        ui.notify(f"{len(chosen)} marked as obsolete", type="positive")
        await self._refresh()

    async def _suggestions(self) -> None:
        links = await self._view.call("rekall_suggest_links", {"limit": 20})
        wider = await self._view.call("rekall_suggest_generalize", {"limit": 20})
        self._rows.clear()
        with self._rows:
            if links.error is not None or wider.error is not None:
                failure(links.error or wider.error or {})
                return
            if not links.output["suggestions"] and not wider.output["suggestions"]:
                empty(
                    "No suggestion waits.",
                    "When a new entry is close to an older one, the pair is shown here.",
                )
            for one in links.output["suggestions"]:
                self._suggestion(one, [one["entry_a"], one["entry_b"]])
            for one in wider.output["suggestions"]:
                self._suggestion(one, one["entries"])

    def _suggestion(self, one: dict[str, Any], sides: list[dict[str, Any]]) -> None:
        with ui.card().props("flat bordered").classes("w-full gap-2 p-3") as card:
            with ui.row().classes("w-full items-center gap-2"):
                ui.label(one["reason"]).classes("cp-muted text-sm cp-text")
                ui.space()
                ui.label(f"score {one['score']:.2f}").classes("cp-tag")
            with ui.row().classes("w-full gap-4 items-start"):
                for side in sides:
                    with ui.column().classes("grow basis-64 min-w-0 gap-1"):
                        ui.link(side["title"], f"/memory/{side['id']}").classes("font-semibold")
                        body = ui.column().classes("w-full")
                        ui.timer(
                            0.01,
                            lambda body=body, side=side: self._fill_side(body, side["id"]),
                            once=True,
                        )
            if self._view.may_write:
                with ui.row().classes("gap-2"):
                    ui.button(
                        "Accept",
                        icon="check",
                        on_click=lambda: self._decide("rekall_accept_suggestion", one["id"], card),
                    ).props("dense no-caps")
                    ui.button(
                        "Reject",
                        icon="close",
                        on_click=lambda: self._decide("rekall_reject_suggestion", one["id"], card),
                    ).props(QUIET).classes("cp-quiet")

    async def _fill_side(self, body: ui.column, entry_id: str) -> None:
        answer = await self._view.call("rekall_show", {"id": entry_id})
        with body:
            text = (
                answer.output["content"] if answer.ok else str((answer.error or {}).get("message"))
            )
            ui.label(text[:600] + ("…" if len(text) > 600 else "")).classes("text-sm cp-text")

    async def _decide(self, tool: str, suggestion_id: str, card: ui.card) -> None:
        answer = await self._view.call(tool, {"suggestion_id": suggestion_id})
        if answer.error is not None:
            ui.notify(str(answer.error["message"]), type="negative")
            return
        ui.notify(str(answer.output.get("action_taken", "Rejected")), type="positive")
        card.delete()

    def _add(self) -> None:
        async def store(values: dict[str, Any]) -> bool:
            answer = await self._view.call("rekall_add", values)
            if answer.error is not None:
                ui.notify(str(answer.error["message"]), type="negative")
                return False
            ui.navigate.to(f"/memory/{answer.output['id']}")
            return True

        entry_form("Add to the memory", {}, store)


def _nothing(filters: dict[str, str], deleted: bool) -> None:
    if deleted:
        empty("Nothing was deleted.", "Deleted entries can be brought back here.")
    elif filters:
        empty("No entry fits.", "Take a filter away.")
    else:
        empty(
            "Nothing is remembered yet.",
            "Press Add, or let an agent call rekall_add after it solved something.",
        )


def _entries(entries: list[dict[str, Any]], *, selectable: bool = False) -> ui.table:
    names = (
        ("title", "title"),
        ("type", "type"),
        ("tags", "tags"),
        ("project", "project"),
        ("updated", "changed"),
    )
    rows = [
        {
            "id": one["id"],
            "title": one["title"],
            "type": one["type"],
            "tags": ", ".join(one["tags"]),
            "project": one["project"] or "",
            "updated": one["updated_at"][:10],
        }
        for one in entries
    ]
    table = ui.table(
        columns=columns_of(names),
        rows=rows,
        row_key="id",
        selection="multiple" if selectable else None,
    )
    table.props('dense flat hover wrap-cells :grid="Quasar.Screen.lt.sm"').classes(
        "w-full cursor-pointer"
    )
    return linked(table, "title", "/memory")


def _reason(why: dict[str, Any], query: str) -> str:
    parts = []
    if why.get("terms"):
        parts.append(f"words found: {in_words(why['terms'], query)}")
    if why.get("semantic") is not None:
        parts.append(f"closeness in meaning {why['semantic']:.2f}")
    if why.get("lexical") is not None:
        parts.append(f"match of words {why['lexical']:.2f}")
    return "Why: " + ("; ".join(parts) or "closest of what is remembered")
