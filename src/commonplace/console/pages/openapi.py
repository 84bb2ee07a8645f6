"""OpenAPI: drop, paste or name a document; see what it is, what is wrong with it and where, its operations, and what changed."""

from __future__ import annotations

from typing import Any

import orjson
from nicegui import events, ui

from commonplace.console.parts import QUIET, address, editor, size
from commonplace.console.shell import Shell, View, empty, failure

MAX_SHOWN = 400_000  # characters in the editor; a larger document stays on the server
MAX_UPLOAD = 64 * 1024 * 1024
PAGE = 50
EXAMPLE = """openapi: 3.1.0
info:
  title: Pets
  version: 1.0.0
paths:
  /pets:
    get:
      operationId: listPets
      summary: List the pets
      responses:
        '200':
          description: All of them
"""
FINDINGS = (("severity", "severity"), ("line", "line"), ("message", "what"), ("rule", "rule"), ("fix", "what to do"))
OPERATIONS = (("method", "method"), ("path", "path"), ("operation_id", "id"), ("summary", "summary"))
CHANGES = (("severity", "severity"), ("type", "change"), ("path", "where"), ("message", "what"))


def register(shell: Shell) -> None:
    @ui.page("/openapi")
    async def openapi(ref: str = "") -> None:
        with shell.page("OpenAPI") as view:
            await _Document(view).show(ref)


class _Document:
    def __init__(self, view: View) -> None:
        self._view = view
        self._large: str | None = None
        self._spec: dict[str, str] = {}
        self._offset = 0

    async def show(self, ref: str) -> None:
        with ui.row().classes("w-full items-center gap-2"):
            self._ref = ui.input("A stored document, such as file:apis/pets.yaml", value=ref).props("outlined dense clearable")
            self._ref.classes("grow min-w-48").on("keydown.enter", self._check)
            ui.button("Check", icon="task_alt", on_click=self._check).props("dense no-caps")
            ui.button("Example", icon="school", on_click=self._example).props(QUIET).classes("cp-quiet")
            ui.button("Compare", icon="difference", on_click=self._compare_dialog).props(QUIET).classes("cp-quiet")
        with ui.row().classes("w-full gap-4 items-start"):
            with ui.card().props("flat bordered").classes("grow basis-96 min-w-0"):
                ui.label("Paste a document, or drop a file below").classes("text-sm cp-muted")
                self._source = editor(self._view, "", "YAML", editable=True, label="OpenAPI document")
                self._note = ui.label("").classes("text-sm cp-muted")
                ui.upload(auto_upload=True, max_file_size=MAX_UPLOAD, on_upload=self._take, label="Drop a document here").classes("w-full")
            with ui.column().classes("grow basis-96 min-w-0 gap-4"):
                self._summary = ui.column().classes("w-full")
                self._findings = ui.column().classes("w-full gap-1")
                self._operations = ui.column().classes("w-full gap-1")
        with self._summary:
            empty("No document yet.", "Paste one and press Check, or press Example.")
        if ref:
            await self._check()

    async def _example(self) -> None:
        self._large = None
        self._ref.value = ""
        self._source.value = EXAMPLE
        await self._check()

    async def _take(self, event: events.UploadEventArguments) -> None:
        try:
            text = await event.file.text()
        except UnicodeDecodeError:
            ui.notify("This is not UTF-8 text.", type="negative")
            return
        self._ref.value = ""
        if len(text) > MAX_SHOWN:
            self._large, self._source.value = text, ""
            self._note.text = f"{event.file.name}, {size(event.file.size())}, is held on the server: too large to edit here."
        else:
            self._large, self._source.value = None, text
            self._note.text = event.file.name
        await self._check()

    async def _check(self) -> None:
        if self._ref.value:
            self._spec = {"ref": self._ref.value.strip()}
            await self._show_stored(self._spec["ref"])
        elif (self._source.value or "").strip():
            self._large, self._spec = None, {"content": self._source.value}
        elif self._large is not None:
            self._spec = {"content": self._large}
        else:
            ui.notify("Paste a document first.")
            return
        ui.navigate.history.replace(address("/openapi", ref=self._spec.get("ref")))
        for part in (self._summary, self._findings, self._operations):
            part.clear()
        with self._summary:
            ui.spinner()
        answer = await self._view.call("oas_parse", {"spec": self._spec})
        self._summary.clear()
        with self._summary:
            if answer.error is not None:
                failure(answer.error)
                return
            self._show_summary(answer.output)
        await self._show_findings()
        self._offset = 0
        await self._show_operations()

    async def _show_stored(self, ref: str) -> None:
        """The text beside its findings, where it is small enough to show."""
        project, _, path = ref.removeprefix("file:").partition("/")
        where = {"project": project, "path": f"/{path}"}
        stat = await self._view.call("file_stat", where)
        small = stat.ok and stat.output["exists"] and stat.output["size"] <= MAX_SHOWN
        read = await self._view.call("file_read", where) if small else None
        self._source.value = read.output["content"] if read is not None and read.ok else ""
        self._note.text = ref

    def _show_summary(self, found: dict[str, Any]) -> None:
        with ui.card().props("flat bordered").classes("w-full gap-1"):
            with ui.row().classes("w-full items-center gap-2"):
                ui.label(found.get("title") or "Without a title").classes("text-lg font-semibold cp-text")
                ui.label(f"OpenAPI {found['version']}").classes("cp-tag")
            counts = f"{found['path_count']:,} paths, {found['operation_count']:,} operations, {found['schema_count']:,} schemas"
            ui.label(counts).classes("text-sm")
            if found.get("description"):
                ui.label(found["description"][:600]).classes("text-sm cp-muted cp-text")
            for server in found.get("servers", ())[:5]:
                ui.label(server["url"]).classes("text-sm cp-mono cp-text")

    async def _show_findings(self) -> None:
        answer = await self._view.call("oas_validate", {"spec": self._spec, "limit": PAGE})
        with self._findings:
            if answer.error is not None:
                failure(answer.error)
                return
            found = answer.output
            with ui.row().classes("items-center gap-2"):
                ui.label("Valid" if found["valid"] else "Not valid").classes("font-semibold " + ("cp-good" if found["valid"] else "cp-bad"))
                ui.label(f"Errors: {found['error_count']:,}. Warnings: {found['warning_count']:,}.").classes("text-sm cp-muted")
            rows = [*found.get("errors", ()), *found.get("warnings", ())]
            if rows:
                table = _table(FINDINGS, rows)
                table.on("rowClick", lambda event: self._jump(event.args[1].get("line")))
                ui.label("Click a finding to go to its line.").classes("text-xs cp-muted")

    def _jump(self, line: int | None) -> None:
        if line is None or not self._source.value or line > self._source.value.count("\n") + 1:
            return
        self._source.decorations = [{"kind": "line", "line": line, "class": "cp-hit"}]
        self._source.reveal_line(line)

    async def _show_operations(self) -> None:
        arguments = {"spec": self._spec, "limit": PAGE, "offset": self._offset}
        answer = await self._view.call("oas_walk_operations", arguments)
        self._operations.clear()
        with self._operations:
            if answer.error is not None:
                failure(answer.error)
                return
            total = answer.output["matched"]
            ui.label(f"Operations: {total:,}").classes("font-semibold")
            if not total:
                return
            table = _table(OPERATIONS, answer.output.get("summaries", []))
            table.on("rowClick", lambda event: self._open_operation(event.args[1]["method"], event.args[1]["path"]))
            pages = -(-total // PAGE)
            if pages > 1:
                page = self._offset // PAGE + 1
                turner = ui.pagination(1, pages, value=page, direction_links=True, on_change=lambda event: self._turn(event.value))
                turner.props("max-pages=7")

    async def _turn(self, page: int | None) -> None:
        if page and (page - 1) * PAGE != self._offset:
            self._offset = (page - 1) * PAGE
            await self._show_operations()

    async def _open_operation(self, method: str, path: str) -> None:
        arguments = {"spec": self._spec, "method": method.lower(), "path": path, "detail": True, "limit": 1}
        answer = await self._view.call("oas_walk_operations", arguments)
        with ui.dialog() as dialog, ui.card().classes("w-[48rem] max-w-full"):
            with ui.row().classes("w-full items-center"):
                ui.label(f"{method} {path}").classes("text-lg font-semibold cp-mono cp-text")
                ui.space()
                ui.button(icon="close", on_click=dialog.close).props(QUIET + ' aria-label="Close"').classes("cp-quiet")
            if answer.error is not None:
                failure(answer.error)
            else:
                text = orjson.dumps(answer.output.get("operations", []), option=orjson.OPT_INDENT_2, default=str).decode()
                ui.code(text[:50_000], language="json").classes("w-full cp-code")
        dialog.open()

    def _compare_dialog(self) -> None:
        if not self._spec:
            ui.notify("Check a document first: it is the one to compare with.")
            return
        with ui.dialog() as dialog, ui.card().classes("w-[56rem] max-w-full"):
            ui.label("What would a newer version change?").classes("text-base font-semibold")
            other = ui.textarea("The newer document").props("outlined").classes("w-full cp-mono")
            report = ui.column().classes("w-full gap-1")

            async def compare() -> None:
                arguments = {"base": self._spec, "revision": {"content": other.value or ""}, "limit": 100}
                answer = await self._view.call("oas_diff", arguments)
                report.clear()
                with report:
                    if answer.error is not None:
                        failure(answer.error)
                        return
                    ui.label(answer.output["summary"]).classes("font-semibold cp-text")
                    if answer.output["changes"]:
                        _table(CHANGES, answer.output["changes"])

            with ui.row().classes("gap-2"):
                ui.button("Show changes", on_click=compare).props("dense no-caps")
                ui.button("Close", on_click=dialog.close).props(QUIET).classes("cp-quiet")
        dialog.open()


def _table(columns: tuple[tuple[str, str], ...], found: list[dict[str, Any]]) -> ui.table:
    shown = [{"name": name, "label": title, "field": name, "align": "left"} for name, title in columns]
    rows = [{"row": number, **{name: one.get(name) for name, _ in columns}} for number, one in enumerate(found)]
    table = ui.table(columns=shown, rows=rows, row_key="row").props('dense flat hover wrap-cells :grid="Quasar.Screen.lt.sm"')
    return table.classes("w-full cursor-pointer")
