"""The document the OpenAPI page works on: pasted, dropped, or stored; shown whole where it is
small, else the lines around a place.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import events, ui

from commonplace.console.parts import QUIET, asked, editor, size
from commonplace.console.shell import View, failure
from commonplace.dispatch.transfer import run_async, write_in_parts

MAX_SHOWN = 400_000  # characters in the editor; a larger document stays on the server
MAX_UPLOAD = 64 * 1024 * 1024
AROUND = 40  # lines before and after a place of a large document
MAX_LINE = 2_000
LOOKS_LIKE_ONE = r'^\s*"?(openapi|swagger)"?\s*:'
EXAMPLE = """openapi: 3.1.0
info:
  title: Pets
  version: 1.0.0
paths:
  /pets/{id}:
    get:
      operationId: getPet
      summary: One pet
      tags: [pets]
      responses:
        '200':
          description: The pet
          content:
            application/json:
              schema:
                $ref: '#/components/schemas/Pet'
components:
  schemas:
    Pet:
      type: object
      required: [name]
      properties:
        name: {type: string}
        born: {type: string, format: date}
"""


class DocumentPane:
    """`changed` is called when there is another document to look at."""

    def __init__(self, view: View, ref: str, changed: Callable[[], Awaitable[None]]) -> None:
        self._view = view
        self._changed = changed
        self._held: str | None = None  # a document too large for the editor
        self._loaded: str | None = None  # what the editor was filled with
        self.ref = ref
        self._build()

    @property
    def spec(self) -> dict[str, str] | None:
        """The document as the tools take it."""
        if self.ref:
            return {"ref": self.ref}
        text = self._held if self._held is not None else self._source.value
        return {"content": text} if text and text.strip() else None

    def _build(self) -> None:
        with ui.row().classes("w-full items-center gap-2"):
            self._name = ui.input(
                "A stored document, such as file:apis/pets.yaml", value=self.ref
            ).props("outlined dense clearable")
            self._name.classes("grow min-w-48").on("keydown.enter", self.check)
            ui.button("Check", icon="task_alt", on_click=self.check).props("dense no-caps")
            ui.button("Pick", icon="folder_open", on_click=self._pick).props(QUIET).classes(
                "cp-quiet"
            )
            ui.button("Example", icon="school", on_click=self._example).props(QUIET).classes(
                "cp-quiet"
            )
            if self._view.may_write:
                ui.button("Store", icon="save", on_click=self._store).props(QUIET).classes(
                    "cp-quiet"
                )
        with ui.card().props("flat bordered").classes("w-full min-w-0 gap-2"):
            self._note = ui.label("Paste a document here, or drop a file below.").classes(
                "text-sm cp-muted cp-text"
            )
            self._source = editor(self._view, "", "YAML", editable=True, label="OpenAPI document")
            drop = ui.upload(
                auto_upload=True,
                max_file_size=MAX_UPLOAD,
                on_upload=self._take,
                label="Drop a document here",
            )
            drop.classes("w-full cp-drop").props("flat bordered")

    async def load(self) -> None:
        """The text of a stored document beside its findings, where it is small enough."""
        self._held = None
        if not self.ref:
            return
        project, _, path = self.ref.removeprefix("file:").partition("/")
        where = {"project": project, "path": f"/{path}"}
        stat = await self._view.call("file_stat", where)
        small = stat.ok and stat.output["exists"] and stat.output["size"] <= MAX_SHOWN
        read = await self._view.call("file_read", where) if small else None
        self._show(read.output["content"] if read is not None and read.ok else "", editable=small)
        self._note.text = (
            self.ref
            if small or not stat.ok
            else f"{self.ref}, {size(stat.output['size'])}: choose a finding to see its lines."
        )

    async def check(self) -> None:
        ref = (self._name.value or "").strip()
        if ref != self.ref:
            self.ref = ref
            await self.load()
        elif self.ref and self._edited:
            ui.notify(
                "The stored document is shown as it is stored. To check your changes, clear its "
                "name above."
            )
        if self.spec is None:
            ui.notify("Paste a document first, or press Example.")
            return
        await self._changed()

    @property
    def _edited(self) -> bool:
        return self._loaded is not None and self._source.value != self._loaded

    def _show(self, text: str, *, editable: bool) -> None:
        self._source.decorations = []
        self._source.value = text
        self._loaded = text
        self._source.set_enabled(editable)

    async def _example(self) -> None:
        self._use(EXAMPLE, "An example; change it and press Check.")
        await self._changed()

    def _use(self, text: str, note: str) -> None:
        self.ref = self._name.value = ""
        if len(text) > MAX_SHOWN:
            self._held = text
            self._show("", editable=False)
        else:
            self._held = None
            self._show(text, editable=True)
        self._note.text = note

    async def _take(self, event: events.UploadEventArguments) -> None:
        try:
            text = await event.file.text()
        except UnicodeDecodeError:
            ui.notify("This is not UTF-8 text.", type="negative")
            return
        large = (
            ": too large to edit here; choose a finding to see its lines."
            if len(text) > MAX_SHOWN
            else ""
        )
        self._use(text, f"{event.file.name}, {size(len(text.encode()))}{large}")
        await self._changed()

    async def jump(self, line: int) -> None:
        """Show a line of the document, set off."""
        text = self._source.value or ""
        first = 1
        if self._held is not None or not self._source.enabled:
            whole = self._held if self._held is not None else await self._stored()
            lines = whole.split("\n")
            first = max(1, line - AROUND)
            chosen = lines[first - 1 : line + AROUND]
            self._show("\n".join(one[:MAX_LINE] for one in chosen), editable=False)
            self._note.text = (
                f"Lines {first:,} to {first + len(chosen) - 1:,} of {len(lines):,}; line "
                f"{line:,} is set off."
            )
        elif line > text.count("\n") + 1:
            return
        self._source.decorations = [{"kind": "line", "line": line - first + 1, "class": "cp-hit"}]
        self._source.reveal_line(line - first + 1)

    async def _stored(self) -> str:
        project, _, path = self.ref.removeprefix("file:").partition("/")
        read = await self._view.call("file_read", {"project": project, "path": f"/{path}"})
        return str(read.output["content"]) if read.ok else ""

    async def _pick(self) -> None:
        answer = await self._view.call("file_projects", {})
        names = [one["project"] for one in answer.output["projects"]] if answer.ok else []
        if not names:
            ui.notify("No project holds a file yet: store one on the Files page.")
            return
        with ui.dialog() as dialog, ui.card().classes("w-[32rem] max-w-full"):
            ui.label("Stored documents").classes("text-base font-semibold")
            project = (
                ui.select(names, value=names[0], label="Project")
                .props("outlined dense options-dense")
                .classes("w-full")
            )
            rows = ui.column().classes("w-full gap-0 cp-tree")

            async def find() -> None:
                rows.clear()
                with rows:
                    ui.spinner()
                found = await self._view.call(
                    "file_grep", {"project": project.value, "pattern": LOOKS_LIKE_ONE, "limit": 100}
                )
                rows.clear()
                with rows:
                    if found.error is not None:
                        failure(found.error)
                        return
                    paths = dict.fromkeys(one["file_path"] for one in found.output["matches"])
                    if not paths:
                        ui.label("No document in this project names an OpenAPI version.").classes(
                            "cp-muted text-sm"
                        )
                    for path in paths:
                        ui.button(path, on_click=lambda path=path: choose(path)).props(
                            "flat dense no-caps align=left"
                        ).classes("w-full cp-quiet")

            async def choose(path: str) -> None:
                dialog.close()
                self._name.value = f"file:{project.value}{path}"
                await self.check()

            project.on_value_change(find)
        dialog.open()
        await find()

    async def _store(self) -> None:
        spec = self.spec
        if spec is None:
            ui.notify("Paste a document first.")
            return
        if self.ref:
            ui.notify(f"It is stored as {self.ref}.")
            return
        name = await asked(
            "Store it, so that a link shows it to others", "Name", "file:apis/api.yaml", "Store"
        )
        if name is None:
            return
        project, _, path = name.removeprefix("file:").partition("/")
        arguments = {
            "project": project,
            "path": f"/{path}",
            "content": spec["content"],
            "mode": "TRUNCATE",
            "if_match": "",
        }
        answer = await run_async(write_in_parts(arguments), self._view.call)
        if answer.error is not None:
            taken = answer.error.get("code") == "CONTENT_CHANGED"
            ui.notify(
                f"{name} is there already." if taken else str(answer.error["message"]),
                type="negative",
            )
            return
        ui.notify("Stored", type="positive")
        self._name.value = f"file:{project}/{path}"
        await self.check()
