"""What the OpenAPI page shows of a document: findings that lead to their line, operations, schemas.

Each page by page from the server.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import orjson
from nicegui import ui

from commonplace.console.caller import Answer
from commonplace.console.parts import QUIET, columns_of, opening, pager, whole
from commonplace.console.shell import View, empty, failure

PAGE = 50
MAX_TEXT = 50_000
METHODS = ["any", "get", "post", "put", "patch", "delete", "head", "options", "trace"]
FINDINGS = (
    ("severity", "severity"),
    ("line", "line"),
    ("message", "what"),
    ("rule", "rule"),
    ("fix", "what to do"),
)
OPERATIONS = (
    ("method", "method"),
    ("path", "path"),
    ("operation_id", "id"),
    ("summary", "summary"),
)
SCHEMAS = (
    ("name", "name"),
    ("type", "type"),
    ("property_count", "properties"),
    ("required", "required"),
)

Columns = Iterable[tuple[str, str]]
Shared = dict[str, Any]
Remember = Callable[[Shared], None]


class Panel(ABC):
    """A tab. `remember` puts what is chosen into the address."""

    def __init__(self, view: View, spec: dict[str, str], remember: Remember) -> None:
        self.view = view
        self.spec = spec
        self.remember = remember
        self.page = 1

    async def turn(self, page: int) -> None:
        self.page = page
        await self.load()

    async def from_start(self) -> None:
        self.page = 1
        await self.load()

    @abstractmethod
    async def load(self) -> None:
        """Ask for what is chosen and show it."""

    @property
    def offset(self) -> int:
        return (self.page - 1) * PAGE

    def shared_page(self) -> int | None:
        return self.page if self.page > 1 else None


class ListPanel(Panel):
    """A tab that is one table, page by page; a row opens."""

    _rows: ui.column

    def fill(
        self, answer: Answer, heading: str, columns: Columns, link: str, nothing: tuple[str, str]
    ) -> None:
        """Show one page of what a walk found."""
        self._rows.clear()
        with self._rows:
            if answer.error is not None:
                failure(answer.error)
                return
            total = answer.output["matched"]
            if not total:
                empty(*nothing)
                return
            ui.label(f"{heading}: {total:,}").classes("text-sm cp-muted")
            table = opening(table_of(columns, answer.output.get("summaries", [])), link, self._open)
            table.on("rowClick", lambda event: self._open(event.args[1]))
            pager(total, PAGE, self.page, self.turn)

    @abstractmethod
    async def _open(self, row: dict[str, Any]) -> None:
        """Show what a row stands for."""


class FindingsPanel(Panel):
    def __init__(
        self,
        view: View,
        spec: dict[str, str],
        remember: Remember,
        jump: Callable[[int], Awaitable[None]],
    ) -> None:
        super().__init__(view, spec, remember)
        self._jump = jump

    async def show(self, shared: dict[str, str]) -> None:
        self.page = whole(shared.get("page"), 1)
        with ui.row().classes("w-full items-center gap-3"):
            self._verdict = ui.label("").classes("font-semibold")
            self._counts = ui.label("").classes("text-sm cp-muted")
            ui.space()
            self._errors = ui.switch(
                "Errors only", value=shared.get("errors") == "1", on_change=self.from_start
            )
            self._strict = ui.switch(
                "Strict", value=shared.get("strict") == "1", on_change=self.from_start
            )
        self._rows = ui.column().classes("w-full gap-1")
        await self.load()

    async def load(self) -> None:
        errors, strict = bool(self._errors.value), bool(self._strict.value)
        self.remember(
            {
                "errors": "1" if errors else None,
                "strict": "1" if strict else None,
                "page": self.shared_page(),
            }
        )
        with self._rows:
            spinner = ui.spinner()
        arguments = {
            "spec": self.spec,
            "limit": PAGE,
            "offset": self.offset,
            "no_warnings": errors,
            "strict": strict,
        }
        answer = await self.view.call("oas_validate", arguments)
        spinner.delete()
        self._rows.clear()
        with self._rows:
            if answer.error is not None:
                failure(answer.error)
                return
            found = answer.output
            self._verdict.text = "Valid" if found["valid"] else "Not valid"
            self._verdict.classes(
                remove="cp-good cp-bad", add="cp-good" if found["valid"] else "cp-bad"
            )
            self._counts.text = (
                f"Errors: {found['error_count']:,}. Warnings: {found['warning_count']:,}."
            )
            rows = [*found.get("errors", ()), *found.get("warnings", ())]
            if not rows:
                empty("Nothing to mend.", "Strict also applies rules beyond the specification.")
                return
            table = opening(table_of(FINDINGS, rows), "line", self._go, wraps=False)
            table.on("rowClick", lambda event: self._go(event.args[1]))
            ui.label("Choose a finding to go to its line.").classes("text-xs cp-muted")
            pager(max(found["error_count"], found["warning_count"]), PAGE, self.page, self.turn)

    async def _go(self, row: dict[str, Any]) -> None:
        if row.get("line"):
            await self._jump(int(row["line"]))


class OperationsPanel(ListPanel):
    async def show(self, shared: dict[str, str]) -> None:
        self.page = whole(shared.get("page"), 1)
        with ui.row().classes("w-full items-center gap-2"):
            self._path = ui.input("Path, such as /repos/** ", value=shared.get("path", "")).props(
                "outlined dense clearable debounce=400"
            )
            self._path.classes("grow min-w-40")
            method = shared.get("method", "any")
            self._method = ui.select(
                METHODS, value=method if method in METHODS else "any", label="Method"
            )
            self._method.props("outlined dense options-dense").classes("w-28")
            self._tag = (
                ui.input("Tag", value=shared.get("tag", ""))
                .props("outlined dense clearable debounce=400")
                .classes("w-32")
            )
        self._rows = ui.column().classes("w-full gap-1")
        for field in (self._path, self._method, self._tag):
            field.on_value_change(self.from_start)
        await self.load()

    async def load(self) -> None:
        wanted = {"path": (self._path.value or "").strip(), "tag": (self._tag.value or "").strip()}
        if self._method.value != "any":
            wanted["method"] = self._method.value
        wanted = {name: value for name, value in wanted.items() if value}
        self.remember({**wanted, "page": self.shared_page()})
        answer = await self.view.call(
            "oas_walk_operations",
            {"spec": self.spec, "limit": PAGE, "offset": self.offset, **wanted},
        )
        self.fill(
            answer,
            "Operations",
            OPERATIONS,
            "path",
            ("No operation fits.", "In a path * is one segment and ** any number."),
        )

    async def _open(self, row: dict[str, Any]) -> None:
        method, path = str(row["method"]), str(row["path"])
        arguments = {
            "spec": self.spec,
            "method": method.lower(),
            "path": path,
            "detail": True,
            "limit": 1,
        }
        answer = await self.view.call("oas_walk_operations", arguments)
        found = (answer.output.get("operations") or [{}])[0] if answer.ok else {}
        operation = found.get("operation", found)
        with sheet(f"{method} {path}"):
            if answer.error is not None:
                failure(answer.error)
                return
            _operation(operation)
            with ui.expansion("As it is written", icon="code").classes("w-full").props("dense"):
                ui.code(_json(operation), language="json").classes("w-full cp-code")


class SchemasPanel(ListPanel):
    async def show(self, shared: dict[str, str]) -> None:
        self.page = whole(shared.get("page"), 1)
        self._name = ui.input("Name; * and ? stand for anything", value=shared.get("name", ""))
        self._name.props("outlined dense clearable debounce=400").classes("w-full")
        self._rows = ui.column().classes("w-full gap-1")
        self._name.on_value_change(self.from_start)
        await self.load()
        if shared.get("schema"):
            await self._open({"name": shared["schema"]})

    async def load(self) -> None:
        name = (self._name.value or "").strip()
        self.remember({"name": name, "page": self.shared_page()})
        arguments = {"spec": self.spec, "named": True, "limit": PAGE, "offset": self.offset}
        if name:
            arguments["name"] = name if any(char in name for char in "*?") else f"*{name}*"
        answer = await self.view.call("oas_walk_schemas", arguments)
        nothing = ("No schema fits.", "Schemas inside operations are shown with their operation.")
        self.fill(answer, "Schemas", SCHEMAS, "name", nothing)

    async def _open(self, row: dict[str, Any]) -> None:
        arguments = {
            "spec": self.spec,
            "named": True,
            "name": str(row["name"]),
            "detail": True,
            "limit": 1,
        }
        answer = await self.view.call("oas_walk_schemas", arguments)
        with sheet(str(row["name"])):
            if answer.error is not None:
                failure(answer.error)
                return
            found = answer.output.get("schemas") or []
            if not found:
                empty("This schema is not there.")
                return
            schema = found[0]["schema"]
            if schema.get("description"):
                ui.label(str(schema["description"])[:2000]).classes("text-sm cp-text")
            self._properties(schema)
            with (
                ui.expansion("As it is written", icon="code", value=not schema.get("properties"))
                .classes("w-full")
                .props("dense")
            ):
                ui.code(_json(schema), language="json").classes("w-full cp-code")

    def _properties(self, schema: dict[str, Any]) -> None:
        properties = schema.get("properties")
        if not isinstance(properties, dict) or not properties:
            return
        needed = schema.get("required")
        required = set(needed) if isinstance(needed, list) else set()
        rows = [
            {
                "name": name,
                "type": kind_of(value),
                "required": "yes" if name in required else "",
                "description": _words(value),
            }
            for name, value in list(properties.items())[:500]
        ]
        ui.label(f"Properties: {len(properties):,}").classes("text-sm font-semibold")
        table_of(
            (
                ("name", "name"),
                ("type", "type"),
                ("required", "required"),
                ("description", "meaning"),
            ),
            rows,
            PAGE,
        )


def table_of(names: Columns, found: list[dict[str, Any]], page: int | None = None) -> ui.table:
    names = list(names)
    rows = [
        {"row": number, **{name: _cell(one.get(name)) for name, _ in names}}
        for number, one in enumerate(found)
    ]
    table = ui.table(
        columns=columns_of(names),
        rows=rows,
        row_key="row",
        pagination=page if page and len(rows) > page else None,
    )
    return table.props('dense flat hover wrap-cells :grid="Quasar.Screen.lt.sm"').classes(
        "w-full cursor-pointer"
    )


def _cell(value: Any) -> Any:
    return ", ".join(value) if isinstance(value, list) else value


class sheet:  # noqa: N801 - reads as a word: with sheet(title)
    """A dialog for one thing, closed by its button or Escape."""

    def __init__(self, title: str) -> None:
        with ui.dialog() as self._dialog:
            self._card = ui.card().classes("w-[52rem] max-w-full")
        with self._card, ui.row().classes("w-full items-center no-wrap"):
            ui.label(title).classes("text-lg font-semibold cp-mono cp-text min-w-0")
            ui.space()
            ui.button(icon="close", on_click=self._dialog.close).props(
                QUIET + ' aria-label="Close"'
            ).classes("cp-quiet")

    def __enter__(self) -> None:
        self._card.__enter__()

    def __exit__(self, *error: object) -> None:
        self._card.__exit__(*error)
        self._dialog.open()


def kind_of(schema: Any) -> str:
    """A schema in a word or two."""
    if not isinstance(schema, dict):
        return str(schema)
    if isinstance(schema.get("$ref"), str):
        return str(schema["$ref"]).rsplit("/", 1)[-1]
    kind = schema.get("type")
    named = " or ".join(map(str, kind)) if isinstance(kind, list) else str(kind or "")
    if "items" in schema:
        return f"list of {kind_of(schema['items'])}"
    for group in ("oneOf", "anyOf", "allOf"):
        if isinstance(schema.get(group), list):
            return f"{group}: " + ", ".join(kind_of(one) for one in schema[group][:5])
    shown = f"{named} ({schema['format']})" if schema.get("format") else named
    if isinstance(schema.get("enum"), list):
        shown += ": " + ", ".join(map(str, schema["enum"][:8]))
    return shown or "anything"


def _operation(operation: dict[str, Any]) -> None:
    """Parameters, body and answers, as a person asks for them."""
    for name in ("summary", "description"):
        if isinstance(operation.get(name), str):
            ui.label(operation[name][:2000]).classes("text-sm cp-text")
    parameters = [one for one in operation.get("parameters") or () if isinstance(one, dict)]
    if parameters:
        rows = [
            {
                "name": one.get("name") or kind_of(one),
                "in": one.get("in", ""),
                "type": kind_of(one.get("schema", one)) if "$ref" not in one else "",
                "required": "yes" if one.get("required") else "",
                "description": _words(one),
            }
            for one in parameters
        ]
        ui.label("Parameters").classes("text-sm font-semibold")
        names = (
            ("name", "name"),
            ("in", "in"),
            ("type", "type"),
            ("required", "required"),
            ("description", "meaning"),
        )
        table_of(names, rows, PAGE)
    body = operation.get("requestBody")
    if isinstance(body, dict):
        ui.label("Body").classes("text-sm font-semibold")
        for media, content in _contents(body):
            ui.label(f"{media}: {content}").classes("text-sm cp-mono cp-text")
    responses = operation.get("responses")
    if isinstance(responses, dict):
        ui.label("Answers").classes("text-sm font-semibold")
        rows = [
            {
                "status": status,
                "what": _words(one) or kind_of(one),
                "content": "; ".join(f"{media}: {kind}" for media, kind in _contents(one)),
            }
            for status, one in responses.items()
            if isinstance(one, dict)
        ]
        table_of((("status", "status"), ("what", "meaning"), ("content", "content")), rows, PAGE)


def _contents(value: dict[str, Any]) -> list[tuple[str, str]]:
    content = value.get("content")
    if not isinstance(content, dict):
        return [("see", kind_of(value))] if "$ref" in value else []
    return [
        (str(media), kind_of(one.get("schema", {})))
        for media, one in content.items()
        if isinstance(one, dict)
    ]


def _words(value: Any) -> str:
    text = value.get("description") if isinstance(value, dict) else None
    return text[:300] if isinstance(text, str) else ""


def _json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str).decode()[:MAX_TEXT]
