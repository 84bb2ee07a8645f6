"""One file or folder in the console: text in an editor, saved only over the version that was
read; append, rename, delete; a passage.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui

from commonplace.console.parts import QUIET, asked, confirmed, editor, language_of, size
from commonplace.console.shell import View, failure
from commonplace.dispatch.transfer import run_async, write_in_parts

MAX_EDITED = 400_000  # bytes; more is shown in parts and changed by the tools
AROUND = 4000  # bytes shown before and after a passage of a large file

Changed = Callable[[str], Awaitable[None]]


class FileView:
    """Fills its container with one file at a time.

    `changed(path)` is called after a rename or a deletion ("").
    """

    def __init__(self, view: View, changed: Changed) -> None:
        self._view = view
        self._changed = changed
        self._body = ui.column().classes("w-full min-w-0 gap-2")
        self._editor: ui.codemirror | None = None
        self._loaded = ""
        self._hash = ""
        self._stale: ui.row | None = None
        self.project = ""
        self.path = ""
        self.folder = ""  # where a new file would go

    @property
    def dirty(self) -> bool:
        return self._editor is not None and self._editor.value != self._loaded

    async def open(self, project: str, path: str, span: tuple[int, int] | None = None) -> None:
        self.project, self.path, self.folder = project, path, path.rpartition("/")[0]
        arguments: dict[str, Any] = {"project": project, "path": path}
        stat = await self._view.call("file_stat", arguments)
        whole = stat.ok and stat.output["size"] <= MAX_EDITED
        if not whole and stat.ok:
            start = max(0, (span[0] if span else 0) - AROUND)
            arguments |= {"offset": start, "length": ((span[1] - start) if span else 0) + AROUND}
        answer = await self._view.call("file_read", arguments)
        if answer.error is not None and answer.error.get("code") == "IS_DIRECTORY":
            await self.open_folder(project, path)
            return
        self._body.clear()
        self._editor = None
        with self._body:
            if answer.error is not None:
                self._hash = ""
                failure(answer.error)
                return
            self._show(answer.output, whole, span)

    async def open_folder(self, project: str, path: str) -> None:
        """What may be done with a whole folder."""
        self.close()
        self.project, self.path, self.folder = project, path, path
        with self._body:
            with ui.row().classes("w-full items-center gap-2"):
                ui.icon("folder").classes("cp-muted")
                ui.label(path).classes("cp-mono font-semibold cp-text min-w-0")
                ui.space()
                if self._view.may_write:
                    ui.button(
                        "Rename", icon="drive_file_rename_outline", on_click=self._rename
                    ).props(QUIET).classes("cp-quiet")
                    ui.button("Delete", icon="delete", on_click=self._delete_folder).props(
                        QUIET
                    ).classes("cp-quiet")
            ui.label("New files and uploads go into this folder.").classes("text-sm cp-muted")

    async def follow(self) -> None:
        """Show what others wrote into the open file; where there are changes of one's own, only
        say so.
        """
        if not self.path or not self._hash:
            return
        stat = await self._view.call("file_stat", {"project": self.project, "path": self.path})
        if not stat.ok or stat.output.get("content_hash") in (None, self._hash):
            return
        if self.dirty:
            if self._stale is not None:
                self._stale.set_visibility(True)
        else:
            await self.open(self.project, self.path)

    def close(self) -> None:
        self._body.clear()
        self._editor = None
        self._hash = self.path = ""

    def _show(self, read: dict[str, Any], whole: bool, span: tuple[int, int] | None) -> None:
        self._loaded, self._hash = read["content"], read["content_hash"]
        editable = whole and self._view.may_write
        with ui.row().classes("w-full items-center gap-2"):
            ui.label(self.path).classes("cp-mono font-semibold cp-text min-w-0")
            self._size = ui.label(size(read["size"])).classes("cp-tag")
            ui.space()
            if editable:
                ui.button("Save", icon="save", on_click=self._save).props("dense no-caps")
            if self._view.may_write:
                ui.button("Append", icon="playlist_add", on_click=self._append).props(
                    QUIET
                ).classes("cp-quiet")
                ui.button("Rename", icon="drive_file_rename_outline", on_click=self._rename).props(
                    QUIET
                ).classes("cp-quiet")
                ui.button("Delete", icon="delete", on_click=self._delete).props(QUIET).classes(
                    "cp-quiet"
                )
        with ui.row().classes("w-full items-center gap-2") as self._stale:
            ui.label("Somebody else changed this file meanwhile.").classes("text-sm cp-warn")
            ui.button(
                "Show it, without my changes", on_click=lambda: self.open(self.project, self.path)
            ).props(QUIET).classes("cp-quiet")
        self._stale.set_visibility(False)
        if not self._view.may_write:
            ui.label("Your key may read only, so this file cannot be changed here.").classes(
                "text-sm cp-muted"
            )
        if not whole:
            first, last = read["file_seek_start_bytes"], read["file_seek_end_bytes"]
            ui.label(f"A large file: bytes {first:,} to {last:,} are shown.").classes(
                "text-sm cp-muted"
            )
        box = editor(
            self._view,
            self._loaded,
            language_of(self.path),
            editable=editable,
            label="File content",
        )
        if editable:
            self._editor = box
        if span is not None:
            self._mark(box, read["file_seek_start_bytes"], span)

    def _mark(self, box: ui.codemirror, base: int, span: tuple[int, int]) -> None:
        """Byte positions become characters of the shown text."""
        raw = self._loaded.encode()
        start = len(raw[: max(0, span[0] - base)].decode(errors="ignore"))
        end = len(raw[: max(0, span[1] - base)].decode(errors="ignore"))
        if start < end:
            box.decorations = [{"kind": "mark", "from": start, "to": end, "class": "cp-hit"}]
            line = self._loaded.count("\n", 0, start) + 1
            ui.timer(0.4, lambda: box.reveal_line(line), once=True)

    async def _save(self) -> None:
        assert self._editor is not None
        content = self._editor.value or ""
        arguments = {
            "project": self.project,
            "path": self.path,
            "content": content,
            "mode": "TRUNCATE",
            "if_match": self._hash,
        }
        answer = await run_async(write_in_parts(arguments), self._view.call)
        if answer.error is not None:
            if answer.error.get("code") == "CONTENT_CHANGED":
                ui.notify(
                    "Somebody changed this file meanwhile. Copy your text, open the file again, "
                    "then save.",
                    type="warning",
                )
            else:
                ui.notify(str(answer.error["message"]), type="negative")
            return
        self._loaded, self._hash = content, answer.output["content_hash"]
        self._size.text = size(answer.output["size"])
        ui.notify("Saved", type="positive")

    def _append(self) -> None:
        with ui.dialog() as dialog, ui.card().classes("w-[40rem] max-w-full"):
            ui.label(f"Append to {self.path}").classes("text-base font-semibold cp-text")
            text = (
                ui.textarea("Text for the end of the file")
                .props("outlined autofocus autogrow")
                .classes("w-full cp-mono")
            )

            async def store() -> None:
                arguments = {
                    "project": self.project,
                    "path": self.path,
                    "content": text.value or "",
                    "mode": "APPEND",
                }
                answer = await run_async(write_in_parts(arguments), self._view.call)
                if answer.error is not None:
                    ui.notify(str(answer.error["message"]), type="negative")
                    return
                dialog.close()
                ui.notify(f"Appended {answer.output['bytes_written']:,} bytes", type="positive")
                await self.follow()

            with ui.row().classes("w-full justify-end"):
                ui.button("Cancel", on_click=dialog.close).props(QUIET).classes("cp-quiet")
                ui.button("Append", on_click=store).props("no-caps")
        dialog.open()

    async def _delete_folder(self) -> None:
        if not await confirmed(
            f"Delete {self.path} and everything in it?",
            "Restore can bring it back for a while.",
            "Delete",
        ):
            return
        answer = await self._view.call(
            "file_delete", {"project": self.project, "path": self.path, "recursive": True}
        )
        if answer.error is not None:
            ui.notify(str(answer.error["message"]), type="negative")
            return
        ui.notify(f"Deleted {answer.output['deleted']:,} files", type="positive")
        await self._changed("")

    async def _rename(self) -> None:
        target = await asked("Rename or move", "New path", self.path, "Rename")
        if target is None or target == self.path:
            return
        answer = await self._view.call(
            "file_rename", {"project": self.project, "path": self.path, "new_path": target}
        )
        if answer.error is not None:
            ui.notify(str(answer.error["message"]), type="negative")
            return
        ui.notify("Renamed", type="positive")
        await self._changed(target)

    async def _delete(self) -> None:
        if not await confirmed(
            f"Delete {self.path}?", "Restore can bring it back for a while.", "Delete"
        ):
            return
        answer = await self._view.call("file_delete", {"project": self.project, "path": self.path})
        if answer.error is not None:
            ui.notify(str(answer.error["message"]), type="negative")
            return
        ui.notify("Deleted", type="positive")
        await self._changed("")
