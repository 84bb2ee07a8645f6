"""Tools: every tool as a form made from its schema, the answer raw and rendered, ready to copy,
with a history to send again.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from typing import Any

import orjson
from nicegui import ui

from commonplace.console.caller import Answer
from commonplace.console.forms import Form
from commonplace.console.parts import QUIET, remember
from commonplace.console.shell import Shell, View, empty, failure, patiently

MAX_HISTORY = 50
MAX_SHOWN = 200_000
FILE_ENTRY = "FileIO"


def register(shell: Shell) -> None:
    @ui.page("/tools")
    async def tools(q: str = "") -> None:
        with shell.page("Tools") as view:
            await patiently(_list(shell, view, q))

    @ui.page("/tools/{name}")
    async def tool(name: str) -> None:
        with shell.page("Tools") as view:
            await patiently(_ToolPage(shell, view, name).show())


def entry_of(name: str) -> str:
    """The contract wants the file tools as one entry."""
    return FILE_ENTRY if name.startswith("file_") else name


async def _list(shell: Shell, view: View, wanted: str) -> None:
    listed = await view.caller.tools()
    _fill_palette(shell, listed)
    field = (
        ui.input("Find a tool", value=wanted)
        .props("outlined dense clearable autofocus")
        .classes("w-full")
    )
    grid = ui.column().classes("w-full gap-4")

    def show() -> None:
        text = (field.value or "").lower()
        grid.clear()
        shown = [tool for tool in listed if text in f"{tool['name']} {tool['description']}".lower()]
        with grid:
            if not shown:
                empty("No tool has this word.", "Clear the field to see all of them.")
            for toolset in dict.fromkeys(tool.get("_toolset", "tools") for tool in shown):
                _toolset(
                    toolset, [tool for tool in shown if tool.get("_toolset", "tools") == toolset]
                )
        remember(f"/tools?q={text}" if text else "/tools")

    field.on_value_change(show)
    show()


def _toolset(toolset: str, tools: list[dict[str, Any]]) -> None:
    files = [tool for tool in tools if entry_of(tool["name"]) == FILE_ENTRY]
    others = [tool for tool in tools if tool not in files]
    ui.label(toolset).classes("text-base font-semibold")
    with (
        ui.element("div")
        .classes("grid w-full gap-2")
        .style("grid-template-columns: repeat(auto-fill, minmax(260px, 1fr))")
    ):
        if files:
            with ui.card().props("flat bordered").classes("w-full gap-1"):
                ui.label(FILE_ENTRY).classes("font-semibold")
                ui.label("Durable project files: one entry for all of its tools.").classes(
                    "text-sm cp-muted"
                )
                with ui.row().classes("gap-1"):
                    for tool in files:
                        ui.link(
                            tool["name"].removeprefix("file_"), f"/tools/{tool['name']}"
                        ).classes("text-sm")
        for tool in others:
            _tile(tool)


def _tile(tool: dict[str, Any]) -> None:
    with ui.card().props("flat bordered").classes("w-full gap-1"):
        with ui.row().classes("items-center gap-2 w-full"):
            ui.link(tool["name"], f"/tools/{tool['name']}").classes("cp-mono font-semibold")
            ui.space()
            if not tool["annotations"]["readOnlyHint"]:
                ui.label("writes").classes("cp-tag")
            if tool.get("_tier") == "extended":
                ui.label("extended").classes("cp-tag")
        ui.label(tool["description"].split("\n")[0]).classes("text-sm cp-muted ellipsis-3-lines")


def _fill_palette(shell: Shell, listed: list[dict[str, Any]]) -> None:
    known = {name for name, _ in shell.palette}
    shell.palette += [
        (tool["name"], f"/tools/{tool['name']}") for tool in listed if tool["name"] not in known
    ]


class _ToolPage:
    def __init__(self, shell: Shell, view: View, name: str) -> None:
        self._shell = shell
        self._view = view
        self._name = name
        self._form: Form | None = None

    async def show(self) -> None:
        listed = await self._view.caller.tools()
        _fill_palette(self._shell, listed)
        tool = next((tool for tool in listed if tool["name"] == self._name), None)
        if tool is None:
            empty(f"No tool is called {self._name}.", "Open Tools to see what there is.")
            return
        self._tool = tool
        if entry_of(self._name) == FILE_ENTRY:
            self._file_tabs(listed)
        with ui.row().classes("w-full items-center gap-2"):
            ui.label(self._name).classes("text-xl font-semibold cp-mono")
            if not tool["annotations"]["readOnlyHint"]:
                ui.label("writes").classes("cp-tag")
        ui.label(tool["description"]).classes("cp-muted").style("white-space: pre-line")
        with ui.row().classes("w-full gap-4 items-start"):
            with ui.card().props("flat bordered").classes("grow basis-80 min-w-0"):
                self._fields = ui.column().classes("w-full")
                self._fill(None)
                ui.button("Call", icon="play_arrow", on_click=self._call).props('aria-label="Call"')
            with ui.column().classes("grow basis-96 min-w-0 gap-4"):
                self._answer = ui.column().classes("w-full")
                self._copies = ui.column().classes("w-full")
                self._history = ui.column().classes("w-full")
        with self._answer:
            empty("No call yet.", "Fill in the form and press Call.")
        self._show_history()

    def _file_tabs(self, listed: list[dict[str, Any]]) -> None:
        with ui.row().classes("w-full items-center gap-1"):
            ui.label(FILE_ENTRY).classes("font-semibold")
            for tool in listed:
                if entry_of(tool["name"]) == FILE_ENTRY:
                    here = tool["name"] == self._name
                    button = ui.button(
                        tool["name"].removeprefix("file_"),
                        on_click=lambda name=tool["name"]: ui.navigate.to(f"/tools/{name}"),
                    )
                    button.props("dense no-caps unelevated" if here else QUIET).classes(
                        "" if here else "cp-quiet"
                    )

    def _fill(self, initial: Mapping[str, Any] | None) -> None:
        self._fields.clear()
        with self._fields:
            if not self._tool["inputSchema"]["properties"]:
                ui.label("This tool takes no arguments.").classes("cp-muted")
            self._form = Form(self._tool["inputSchema"], initial)

    async def _call(self) -> None:
        assert self._form is not None
        try:
            arguments = self._form.values()
        except ValueError as wrong:
            ui.notify(str(wrong), type="negative")
            return
        begun = time.perf_counter()
        answer = await self._view.call(self._name, arguments)
        took = (time.perf_counter() - begun) * 1000
        history = self._view.session.history
        history.append(
            {
                "tool": self._name,
                "arguments": arguments,
                "ok": answer.ok,
                "ms": round(took, 1),
                "at": time.strftime("%H:%M:%S"),
            }
        )
        del history[:-MAX_HISTORY]
        self._show_answer(answer, took)
        self._show_copies(arguments)
        self._show_history()

    def _show_answer(self, answer: Answer, took: float) -> None:
        self._answer.clear()
        with self._answer:
            if answer.error is not None:
                failure(answer.error)
            value = answer.output if answer.error is None else {"error": answer.error}
            raw = orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str).decode()
            with ui.card().props("flat bordered").classes("w-full min-w-0"):
                with ui.row().classes("w-full items-center"):
                    ui.label(f"{'Answered' if answer.ok else 'Refused'} in {took:.1f} ms").classes(
                        "text-sm cp-muted"
                    ).mark("took")
                    ui.space()
                    mode = ui.toggle(["Rendered", "Raw"], value="Rendered").props(
                        "dense no-caps unelevated"
                    )
                    ui.button(icon="content_copy", on_click=lambda: ui.clipboard.write(raw)).props(
                        'flat dense aria-label="Copy answer"'
                    )
                with ui.column().classes("w-full") as rendered:
                    _render(value)
                code = ui.code(raw[:MAX_SHOWN], language="json").classes("w-full cp-code")
                rendered.bind_visibility_from(mode, "value", value="Rendered")
                code.bind_visibility_from(mode, "value", value="Raw")

    def _show_copies(self, arguments: dict[str, Any]) -> None:
        compact = orjson.dumps(arguments).decode()
        request = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": self._name, "arguments": arguments},
        }
        copies = {
            "JSON-RPC": orjson.dumps(request, option=orjson.OPT_INDENT_2).decode(),
            "Command line": f"commonplace call {self._name} --args {shlex.quote(compact)}",
            "Client configuration": orjson.dumps(
                {"mcpServers": {"commonplace": {"command": "commonplace", "args": ["serve"]}}},
                option=orjson.OPT_INDENT_2,
            ).decode(),
        }
        self._copies.clear()
        with (
            self._copies,
            ui.expansion("Copy this call", icon="content_copy").classes("w-full").props("dense"),
        ):
            for name, text in copies.items():
                with ui.row().classes("w-full items-center"):
                    ui.label(name).classes("text-sm font-semibold")
                    ui.space()
                    ui.button(
                        icon="content_copy", on_click=lambda text=text: ui.clipboard.write(text)
                    ).props(f'flat dense aria-label="Copy {name}"')
                ui.code(text, language="text").classes("w-full cp-code")

    def _show_history(self) -> None:
        self._history.clear()
        mine = [call for call in self._view.session.history if call["tool"] == self._name][::-1][
            :10
        ]
        if not mine:
            return
        with self._history:
            ui.label("History").classes("text-sm cp-muted")
            for call in mine:
                with ui.row().classes("w-full items-center no-wrap gap-2"):
                    ui.icon("check" if call["ok"] else "close").classes(
                        "cp-good" if call["ok"] else "cp-bad"
                    )
                    ui.label(f"{call['at']}  {call['ms']} ms").classes("text-xs cp-mono")
                    ui.label(orjson.dumps(call["arguments"]).decode()[:200]).classes(
                        "text-xs cp-mono ellipsis grow"
                    )
                    ui.button(icon="replay", on_click=lambda call=call: self._resend(call)).props(
                        'flat dense aria-label="Send again"'
                    )

    async def _resend(self, call: Mapping[str, Any]) -> None:
        self._fill(call["arguments"])
        await self._call()


def _render(value: Any) -> None:
    """Lists of objects as tables, long text as text, the rest as a tree of names and values."""
    if isinstance(value, dict):
        for name, item in value.items():
            if isinstance(item, list) and item and all(isinstance(one, dict) for one in item):
                ui.label(f"{name} ({len(item)})").classes("text-sm font-semibold")
                _table(item)
            elif isinstance(item, (dict, list)) and item:
                ui.label(name).classes("text-sm font-semibold")
                text = orjson.dumps(item, option=orjson.OPT_INDENT_2, default=str).decode()
                ui.code(text[:MAX_SHOWN], language="json").classes("w-full cp-code")
            else:
                with ui.row().classes("w-full gap-2 items-start no-wrap"):
                    ui.label(name).classes("text-sm font-semibold min-w-32")
                    ui.label(_text(item)).classes("text-sm cp-mono").style(
                        "white-space: pre-wrap; overflow-wrap: anywhere"
                    )
    else:
        ui.label(_text(value)).classes("cp-mono")


def _table(items: list[dict[str, Any]]) -> None:
    names = list(dict.fromkeys(name for item in items[:50] for name in item))[:8]
    columns = [{"name": name, "label": name, "field": name, "align": "left"} for name in names]
    rows = [
        {"_row": number, **{name: _text(item.get(name))[:300] for name in names}}
        for number, item in enumerate(items[:200])
    ]
    ui.table(columns=columns, rows=rows, row_key="_row", pagination=10).props(
        "dense flat wrap-cells"
    ).classes("w-full")


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value[:MAX_SHOWN]
    return "" if value is None else orjson.dumps(value, default=str).decode()[:MAX_SHOWN]
