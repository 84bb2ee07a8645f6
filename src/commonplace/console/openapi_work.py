"""What the OpenAPI page does with a document: compare it with a newer one, preview an overlay,
generate code to download.
"""

from __future__ import annotations

import io
import zipfile
from typing import Any

from nicegui import events, ui

from commonplace.console.openapi_document import MAX_UPLOAD
from commonplace.console.openapi_panels import Panel, table_of
from commonplace.console.parts import QUIET, pager, whole
from commonplace.console.shell import empty, failure

CHANGES = 100
LEVELS = (
    ("critical", "Breaks every client", "cp-bad"),
    ("error", "Breaks clients", "cp-bad"),
    ("warning", "May break clients", "cp-warn"),
    ("info", "Breaks nobody", ""),
)
OVERLAY = """overlay: 1.0.0
info:
  title: A description for everybody
  version: 1.0.0
actions:
  - target: $.info
    update:
      description: Published by the platform team.
"""


class Other:
    """A second document: pasted, dropped, or stored."""

    def __init__(self, label: str, value: str, ref: str = "") -> None:
        self._dropped: str | None = None
        self._ref = (
            ui.input(f"{label}: stored, such as file:apis/newer.yaml", value=ref)
            .props("outlined dense clearable")
            .classes("w-full")
        )
        self._text = ui.textarea(f"{label}: or paste it here", value=value).props(
            'outlined input-style="max-height: 16rem"'
        )
        self._text.classes("w-full cp-mono")
        ui.upload(
            auto_upload=True, max_file_size=MAX_UPLOAD, on_upload=self._take, label="Or drop a file"
        ).classes("w-full cp-drop").props("flat bordered")
        self._note = ui.label("").classes("text-sm cp-muted cp-text")

    @property
    def ref(self) -> str:
        return (self._ref.value or "").strip()

    @property
    def spec(self) -> dict[str, str] | None:
        if self.ref:
            return {"ref": self.ref}
        text = self._dropped if self._dropped is not None else self._text.value
        return {"content": text} if text and text.strip() else None

    async def _take(self, event: events.UploadEventArguments) -> None:
        try:
            self._dropped = await event.file.text()
        except UnicodeDecodeError:
            ui.notify("This is not UTF-8 text.", type="negative")
            return
        self._ref.value = ""
        self._note.text = f"{event.file.name} is used."


class ComparePanel(Panel):
    """A report of what a newer version changes, worst first, to read or to copy into a pull
    request.
    """

    async def show(self, shared: dict[str, str]) -> None:
        self.page = whole(shared.get("page"), 1)
        self._other = Other("The newer document", "", shared.get("other", ""))
        with ui.row().classes("items-center gap-3"):
            ui.button("Show changes", icon="difference", on_click=self.from_start).props(
                "dense no-caps"
            )
            self._breaking = ui.switch("Breaking only", value=shared.get("breaking") == "1")
        self._report = ui.column().classes("w-full gap-2")
        if self._other.ref:
            await self.load()
        else:
            self.remember({})

    async def load(self) -> None:
        revision = self._other.spec
        if revision is None:
            ui.notify("Paste, drop or name the newer document first.")
            return
        breaking = bool(self._breaking.value)
        self.remember(
            {
                "other": self._other.ref,
                "breaking": "1" if breaking else None,
                "page": self.shared_page(),
            }
        )
        self._report.clear()
        with self._report:
            ui.spinner()
        offset = (self.page - 1) * CHANGES
        arguments = {
            "base": self.spec,
            "revision": revision,
            "breaking_only": breaking,
            "limit": CHANGES,
            "offset": offset,
        }
        answer = await self.view.call("oas_diff", arguments)
        self._report.clear()
        with self._report:
            if answer.error is not None:
                failure(answer.error)
            else:
                self._show_report(answer.output)

    def _show_report(self, found: dict[str, Any]) -> None:
        with ui.row().classes("w-full items-center gap-2"):
            ui.label(found["summary"]).classes(
                "font-semibold cp-text " + ("cp-bad" if found["breaking_count"] else "cp-good")
            )
            ui.space()
            text = report(found)
            ui.button(
                "Copy as Markdown", icon="content_copy", on_click=lambda: ui.clipboard.write(text)
            ).props(QUIET).classes("cp-quiet")
        if not found["changes"]:
            empty("Nothing changed that clients would notice.")
            return
        for level, title, colour in LEVELS:
            changes = [one for one in found["changes"] if one["severity"] == level]
            if changes:
                ui.label(f"{title} ({len(changes)} shown)").classes(
                    f"text-base font-semibold {colour}"
                )
                for where, ones in by_place(changes).items():
                    with ui.card().props("flat bordered").classes("w-full gap-1 p-3"):
                        ui.label(where).classes("cp-mono text-sm font-semibold cp-text")
                        for one in ones:
                            with ui.row().classes("w-full items-start gap-2 no-wrap"):
                                ui.label(one["type"]).classes("cp-tag")
                                ui.label(one["message"]).classes("text-sm cp-text min-w-0")
        total = found["breaking_count"] if self._breaking.value else found["total_changes"]
        pager(total, CHANGES, self.page, self.turn)


class OverlayPanel(Panel):
    """What each action of an overlay would touch, before the result is taken."""

    async def show(self, shared: dict[str, str]) -> None:
        self.remember({"other": shared.get("other")})
        self._overlay = Other("The overlay", OVERLAY, shared.get("other", ""))
        with ui.row().classes("gap-2"):
            ui.button("Preview", icon="preview", on_click=self.load).props("dense no-caps")
            ui.button("Apply and download", icon="download", on_click=self._apply).props(
                QUIET
            ).classes("cp-quiet")
        self._report = ui.column().classes("w-full gap-2")
        if self._overlay.ref:
            await self.load()

    async def load(self) -> None:
        found = await self._run(dry_run=True)
        if found is None:
            return
        with self._report:
            ui.label(found["summary"]).classes("font-semibold cp-text")
            rows = [{**one, "action_index": one["action_index"] + 1} for one in found["changes"]]
            table_of(
                (
                    ("action_index", "action"),
                    ("operation", "what"),
                    ("target", "target"),
                    ("match_count", "places"),
                ),
                rows,
                25,
            )
            for warning in found.get("warnings", ()):
                ui.label(warning).classes("text-sm cp-warn cp-text")

    async def _apply(self) -> None:
        found = await self._run(dry_run=False)
        if found is None:
            return
        with self._report:
            ui.label(found["summary"]).classes("font-semibold cp-text")
            if "document" not in found:
                failure(
                    {
                        "code": "Too large",
                        "message": "The result is too large for an answer.",
                        "hint": "commonplace oas overlay --output FILE",
                    }
                )
                return
            document = str(found["document"])
            ui.download.content(
                document, "overlaid.json" if document.lstrip().startswith("{") else "overlaid.yaml"
            )
            ui.code(document[:20_000], language="yaml").classes("w-full cp-code")

    async def _run(self, *, dry_run: bool) -> dict[str, Any] | None:
        overlay = self._overlay.spec
        if overlay is None:
            ui.notify("Paste, drop or name the overlay first.")
            return None
        self.remember({"other": self._overlay.ref})
        answer = await self.view.call(
            "oas_overlay_apply", {"spec": self.spec, "overlay": overlay, "dry_run": dry_run}
        )
        self._report.clear()
        if answer.error is not None:
            with self._report:
                failure(answer.error)
            return None
        found: dict[str, Any] = answer.output
        return found


class GeneratePanel(Panel):
    """Types, client and server as files in a zip archive."""

    async def show(self, shared: dict[str, str]) -> None:
        language = "python" if shared.get("language") == "python" else "go"
        with ui.row().classes("w-full items-center gap-3"):
            self._language = ui.toggle(
                {"go": "Go", "python": "Python"}, value=language, on_change=self._keep
            ).props("dense no-caps")
            self._package = ui.input("Package", value="api").props("outlined dense").classes("w-32")
            self._client = ui.switch("Client", value=True)
            self._server = ui.switch("Server (Go)", value=False)
            ui.button("Generate", icon="code", on_click=self.load).props("dense no-caps")
        self._report = ui.column().classes("w-full gap-2")
        self._keep()

    def _keep(self) -> None:
        self.remember({"language": self._language.value if self._language.value != "go" else None})

    async def load(self) -> None:
        go = self._language.value == "go"
        arguments = {
            "spec": self.spec,
            "include_files": True,
            "language": self._language.value,
            "package_name": self._package.value or "api",
            "client": bool(self._client.value),
            "server": bool(self._server.value and go),
        }
        self._report.clear()
        with self._report:
            ui.spinner()
        answer = await self.view.call("oas_generate", arguments)
        self._report.clear()
        with self._report:
            if answer.error is not None:
                failure(answer.error)
                return
            self._offer(answer.output)

    def _offer(self, found: dict[str, Any]) -> None:
        files = found.get("files") or []
        with ui.row().classes("w-full items-center gap-2"):
            counts = (
                f"Files: {found['file_count']}. Types: {found['generated_types']:,}. "
                f"Operations: {found['generated_operations']:,}."
            )
            ui.label(counts).classes("font-semibold")
            ui.space()
            name = f"{found['package_name']}-{found['language']}.zip"
            ui.button(
                "Download",
                icon="download",
                on_click=lambda: ui.download.content(archive(found["package_name"], files), name),
            ).props("dense no-caps")
        for warning in found.get("warnings", ())[:20]:
            ui.label(f"{place_of(warning['path'])}: {warning['message']}").classes(
                "text-sm cp-warn cp-text"
            )
        for one in files:
            with (
                ui.expansion(f"{one['name']} ({one['size']:,} bytes)", icon="description")
                .classes("w-full")
                .props("dense")
            ):
                ui.code(one["content"][:20_000], language=found["language"]).classes(
                    "w-full cp-code"
                )


def by_place(changes: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Changes under the operation or component they belong to, readable."""
    places: dict[str, list[dict[str, Any]]] = {}
    for one in changes:
        places.setdefault(place_of(str(one["path"])), []).append(one)
    return places


def place_of(pointer: str) -> str:
    """`/paths/~1pets/get/responses/200` is `GET /pets`; `/components/schemas/Pet/...` is
    `schemas Pet`.
    """
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    if len(steps) >= 3 and steps[0] == "paths":
        return f"{steps[2].upper()} {steps[1]}"
    if len(steps) >= 2 and steps[0] == "paths":
        return steps[1]
    if len(steps) >= 3 and steps[0] == "components":
        return f"{steps[1]} {steps[2]}"
    if len(steps) >= 2 and steps[0] == "definitions":
        return f"schemas {steps[1]}"
    return " ".join(steps[:2]) or "the document"


def report(found: dict[str, Any]) -> str:
    """The changes as Markdown."""
    lines = [f"**{found['summary']}**", ""]
    for level, title, _ in LEVELS:
        changes = [one for one in found["changes"] if one["severity"] == level]
        if changes:
            lines += [f"### {title}", ""]
            lines += [f"- `{place_of(str(one['path']))}`: {one['message']}" for one in changes] + [
                ""
            ]
    return "\n".join(lines)


def archive(package: str, files: list[dict[str, Any]]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as target:
        for one in files:
            target.writestr(f"{package}/{one['name']}", one["content"])
    return packed.getvalue()
