"""Files: projects, the tree level by level, one file to read and change, and search that says
why and opens at the passage.
"""

from __future__ import annotations

from typing import Any

from nicegui import events, ui

from commonplace.console.file_tree import FileTree
from commonplace.console.file_view import FileView
from commonplace.console.parts import (
    QUIET,
    address,
    asked,
    confirmed,
    in_words,
    marked,
    remember,
    size,
)
from commonplace.console.shell import Shell, View, empty, failure, patiently
from commonplace.dispatch.transfer import Reply, run_async, write_in_parts
from commonplace.kernel.paths import number_segment, spell_segment
from commonplace.search.lexical.text import query_terms

FOUND = 10
DELETED = 20
STATE_SECONDS = 3.0
MOST_SPELLINGS = 20  # numbers tried for an uploaded name that is spelled


def register(shell: Shell) -> None:
    @ui.page("/files")
    async def files(
        project: str = "",
        path: str = "",
        start: int | None = None,
        end: int | None = None,
        q: str = "",
        below: str = "",
    ) -> None:
        with shell.page("Files") as view:
            span = (start, end) if start is not None and end is not None else None
            await patiently(_Files(view).show(project, path, span, q, below))


class _Files:
    def __init__(self, view: View) -> None:
        self._view = view
        self._project = ""
        self._count: int | None = None

    async def show(
        self, project: str, path: str, span: tuple[int, int] | None, query: str, below: str
    ) -> None:
        answer = await self._view.call("file_projects", {})
        if answer.error is not None:
            failure(answer.error)
            return
        names = [one["project"] for one in answer.output["projects"]]
        self._project = project or (names[0] if names else "")
        if self._project and self._project not in names:
            names.append(self._project)
        self._toolbar(names, query, below)
        self._state_row()
        self._found = ui.column().classes("w-full gap-2")
        if query and span is not None:
            with self._found:
                ui.link(
                    "Back to what was found",
                    address("/files", project=self._project, q=query, below=below),
                ).classes("text-sm")
        elif query:
            await self._search()  # before anything stands below it, so that nothing moves
        with ui.row().classes("w-full gap-4 items-start"):
            with (
                ui.card()
                .props("flat bordered")
                .classes("grow basis-64 min-w-0 p-2")
                .style("max-width: 24rem")
            ):
                self._tree = FileTree(self._view, self._picked)
            with ui.card().props("flat bordered").classes("grow-[3] basis-96 min-w-0"):
                self._hello = ui.column().classes("w-full")
                self._file = FileView(self._view, self._after_change)
        if not self._project:
            self._first_steps()
            return
        await self._tree.load(self._project, path)
        await self._load_state()
        ui.timer(STATE_SECONDS, self._live)
        if path:
            await self._open(path, span)
        else:
            self._greet()

    def _toolbar(self, names: list[str], query: str, below: str) -> None:
        with ui.row().classes("w-full items-center gap-2"):
            picker = ui.select(
                names, value=self._project or None, label="Project", with_input=len(names) > 12
            )
            picker.props("outlined dense options-dense").classes("min-w-40")
            picker.on_value_change(
                lambda event: (
                    ui.navigate.to(address("/files", project=event.value)) if event.value else None
                )
            )
            self._query = (
                ui.input("Search in this project", value=query)
                .props("outlined dense clearable")
                .classes("grow min-w-48")
            )
            self._below = (
                ui.input("Only paths that start with", value=below)
                .props("outlined dense clearable")
                .classes("w-44")
            )
            for field in (self._query, self._below):
                field.on("keydown.enter", self._search)
            ui.button("Search", icon="search", on_click=self._search).props("dense no-caps")
            if self._view.may_write:
                ui.button("New file", icon="note_add", on_click=self._new).props(QUIET).classes(
                    "cp-quiet"
                )
                ui.button("Upload", icon="upload", on_click=self._upload_dialog).props(
                    QUIET
                ).classes("cp-quiet")
                ui.button(
                    "Restore", icon="restore_from_trash", on_click=self._restore_dialog
                ).props(QUIET).classes("cp-quiet")

    def _first_steps(self) -> None:
        with self._hello:
            if self._view.may_write:
                empty(
                    "No project holds a file yet.", "Press New file: the project is made with it."
                )
            else:
                empty("No project holds a file yet.", "A key with scope write can store one.")

    def _greet(self) -> None:
        self._hello.clear()
        self._hello.set_visibility(True)
        with self._hello:
            empty("Pick a file, or search in words.", "Search finds by meaning and by exact words.")

    # Folders and files

    async def _picked(self, path: str, is_folder: bool) -> None:
        if is_folder:
            await self._open_folder(path)
        elif path != self._file.path:
            await self._open(path)

    async def _may_leave(self) -> bool:
        return not self._file.dirty or await confirmed(
            "Leave without saving?", f"{self._file.path} has changes.", "Leave"
        )

    async def _open(self, path: str, span: tuple[int, int] | None = None) -> None:
        if not await self._may_leave():
            return
        self._hello.set_visibility(False)
        where = {"start": str(span[0]), "end": span[1]} if span else {}
        query = self._query.value if span else ""
        remember(address("/files", project=self._project, path=path, q=query, **where))
        await self._file.open(self._project, path, span)

    async def _open_folder(self, path: str) -> None:
        if not await self._may_leave():
            return
        remember(address("/files", project=self._project, path=path))
        self._hello.set_visibility(False)
        await self._file.open_folder(self._project, path)

    async def _after_change(self, path: str) -> None:
        await self._tree.load(self._project, path or self._file.path)
        await self._load_state()
        if path:
            await self._open(path)
        else:
            self._file.close()
            self._greet()
            remember(address("/files", project=self._project))

    async def _new(self) -> None:
        project = self._project or await asked("Which project?", "Project name", "notes", "Next")
        folder = self._file.folder
        path = await asked("New file", "Path", f"{folder}/new.md", "Create") if project else None
        if not project or not path:
            return
        answer = await self._view.call(
            "file_write",
            {"project": project, "path": path, "content": "", "mode": "TRUNCATE", "if_match": ""},
        )
        if answer.error is not None:
            taken = answer.error.get("code") == "CONTENT_CHANGED"
            ui.notify(
                f"{path} is there already." if taken else str(answer.error["message"]),
                type="negative",
            )
        elif not self._project:
            ui.navigate.to(address("/files", project=project, path=path))
        else:
            await self._after_change(path)

    def _upload_dialog(self) -> None:
        with ui.dialog() as dialog, ui.card().classes("w-96 max-w-full"):
            ui.label("Upload text files").classes("text-base font-semibold")
            project = (
                ui.input("Project", value=self._project or "notes")
                .props("outlined dense")
                .classes("w-full")
            )
            folder = (
                ui.input("Into folder", value=self._file.folder or "/")
                .props("outlined dense")
                .classes("w-full")
            )

            async def take(event: events.UploadEventArguments) -> None:
                await self._store(event, project.value.strip(), folder.value)

            drop = ui.upload(
                multiple=True,
                auto_upload=True,
                max_file_size=64 * 1024 * 1024,
                on_upload=take,
                label="Drop files here",
            )
            drop.classes("w-full cp-drop").props("flat bordered")
            ui.button(
                "Done",
                on_click=lambda: ui.navigate.to(address("/files", project=project.value.strip())),
            ).props("no-caps")
        dialog.open()

    async def _store(self, event: events.UploadEventArguments, project: str, folder: str) -> None:
        try:
            content = await event.file.text()
        except UnicodeDecodeError:
            ui.notify(
                f"{event.file.name} is not UTF-8 text. Encode it, for example as Base64.",
                type="negative",
            )
            return
        directory, source = folder.rstrip("/"), f"{folder.rstrip('/')}/{event.file.name}"
        for count in range(1, MOST_SPELLINGS + 1):
            path = f"{directory}/{number_segment(spell_segment(event.file.name), count)}"
            answer = await self._write_new(project, path, content, source)
            taken = answer.error is not None and answer.error.get("code") == "CONTENT_CHANGED"
            if not taken or path == source or await self._is_stored_from(project, path, source):
                break
        if taken:
            ui.notify(f"{path} is there already. Rename or delete it first.", type="warning")
        elif answer.error is not None:
            ui.notify(str(answer.error["message"]), type="negative")
        elif path != source:
            ui.notify(
                f"Stored {source} as {path}; an export writes it under its own name.",
                type="positive",
            )
        else:
            ui.notify(f"Stored {path}", type="positive")

    async def _write_new(self, project: str, path: str, content: str, source: str) -> Reply:
        arguments = {
            "project": project,
            "path": path,
            "content": content,
            "mode": "TRUNCATE",
            "if_match": "",
        }
        arguments |= {"source_path": source} if source != path else {}
        return await run_async(write_in_parts(arguments), self._view.call)

    async def _is_stored_from(self, project: str, path: str, source: str) -> bool:
        """Whether the file at a path is the one that was uploaded under this name before."""
        answer = await self._view.call("file_stat", {"project": project, "path": path})
        return answer.error is None and answer.output.get("source_path") == source

    async def _restore_dialog(self) -> None:
        if not self._project:
            return
        with ui.dialog() as dialog, ui.card().classes("w-[36rem] max-w-full"):
            ui.label("Bring back what was deleted").classes("text-base font-semibold")
            rows = ui.column().classes("w-full gap-1")

            async def page(offset: int) -> None:
                arguments = {"project": self._project, "limit": DELETED, "offset": offset}
                answer = await self._view.call("file_deleted", arguments)
                rows.clear()
                with rows:
                    if answer.error is not None:
                        failure(answer.error)
                    elif not answer.output["files"]:
                        empty("Nothing to bring back.", "Deleted files stay here for a while.")
                    else:
                        for one in answer.output["files"]:
                            line(one)
                        with ui.row().classes("gap-2"):
                            if offset:
                                ui.button(
                                    "Newer", on_click=lambda: page(max(0, offset - DELETED))
                                ).props(QUIET).classes("cp-quiet")
                            if answer.output["has_more"]:
                                ui.button("Older", on_click=lambda: page(offset + DELETED)).props(
                                    QUIET
                                ).classes("cp-quiet")

            def line(one: dict[str, Any]) -> None:
                with ui.row().classes("w-full items-center no-wrap gap-2"):
                    with ui.column().classes("gap-0 min-w-0 grow"):
                        ui.label(one["path"]).classes("cp-mono text-sm cp-text")
                        ui.label(
                            f"{size(one['size'])}, deleted "
                            f"{one['deleted_at'][:16].replace('T', ' ')}"
                        ).classes("text-xs cp-muted")
                    ui.button("Restore", on_click=lambda: bring_back(one["path"])).props(
                        "dense no-caps"
                    )

            async def bring_back(path: str) -> None:
                answer = await self._view.call(
                    "file_restore", {"project": self._project, "path": path}
                )
                if answer.error is not None:
                    ui.notify(str(answer.error["message"]), type="negative")
                    return
                ui.notify(f"Restored {path}", type="positive")
                dialog.close()
                await self._after_change(path)

        dialog.open()
        await page(0)

    # Search and state

    async def _search(self) -> None:
        query, below = (self._query.value or "").strip(), (self._below.value or "").strip()
        self._found.clear()
        remember(address("/files", project=self._project, q=query, below=below))
        if not query or not self._project:
            return
        arguments = {
            "project": self._project,
            "query": query,
            "limit": FOUND,
            "explain": True,
            "path_prefix": below,
        }
        answer = await self._view.call("file_search", arguments)
        self._found.clear()
        with self._found:
            if answer.error is not None:
                failure(answer.error)
            elif not answer.output["chunks"]:
                empty(
                    "Nothing found.",
                    "Try other words. A file written just now is found within seconds.",
                )
            else:
                with ui.row().classes("w-full items-center gap-2"):
                    ui.label(
                        f"Passages found: {len(answer.output['chunks'])}, best first "
                        f"({answer.output['mode']})."
                    ).classes("text-sm cp-muted")
                    ui.button("Close", icon="close", on_click=self._close_search).props(
                        QUIET
                    ).classes("cp-quiet")
                for chunk in answer.output["chunks"]:
                    self._passage(chunk, query, below)

    def _close_search(self) -> None:
        self._found.clear()
        self._query.value = ""
        remember(address("/files", project=self._project, path=self._file.path))

    def _passage(self, chunk: dict[str, Any], query: str, below: str) -> None:
        start, end, path = (
            chunk["file_seek_start_bytes"],
            chunk["file_seek_end_bytes"],
            chunk["file_path"],
        )
        with ui.card().props("flat bordered").classes("w-full gap-1 p-3"):
            with ui.row().classes("w-full items-center gap-2"):
                there = address(
                    "/files",
                    project=self._project,
                    path=path,
                    start=str(start),
                    end=end,
                    q=query,
                    below=below,
                )
                ui.link(path, there).classes("cp-mono")
                ui.label(f"bytes {start:,} to {end:,}").classes("text-xs cp-muted")
                ui.space()
                ui.label(f"score {chunk['score']:.2f}").classes("cp-tag")
            why = chunk.get("explain", {})
            marked(str(why.get("snippet") or chunk["chunk_content"][:400]), query_terms(query))
            ui.label(_reason(why, query)).classes("text-xs cp-muted cp-text")

    def _state_row(self) -> None:
        """Made once and changed in place, so that nothing on the page moves."""
        with ui.row().classes("w-full items-center gap-3 min-h-[28px]"):
            self._bar = (
                ui.linear_progress(0, show_value=False, size="8px", color=None)
                .classes("w-40 cp-bar")
                .props('rounded aria-label="Quota used"')
            )
            self._used = ui.label("").classes("text-sm cp-muted")
            self._index = ui.label("").classes("cp-tag")
            self._dead = ui.label("").classes("cp-tag cp-bad")
            self._changed = ui.button(
                "Files changed: show them", icon="refresh", on_click=self._reload_tree
            ).props(QUIET)
            self._changed.classes("cp-quiet")
        for element in (self._bar, self._used, self._index, self._dead, self._changed):
            element.set_visibility(False)

    async def _load_state(self) -> int | None:
        used = await self._view.call("file_usage", {"project": self._project})
        index = await self._view.call("file_index_status", {"project": self._project})
        if used.error is not None or index.error is not None:
            return None
        share = used.output["size_bytes"] / max(1, used.output["limit_bytes"])
        self._bar.value = min(1.0, share)
        self._used.text = (
            f"{size(used.output['size_bytes'])} of {size(used.output['limit_bytes'])}, "
            f"{used.output['files']:,} files"
        )
        waiting = index.output["pending"] + index.output["processing"]
        self._index.text = (
            "search index up to date"
            if not waiting
            else f"{waiting:,} files wait for the search index"
        )
        self._dead.text = f"{index.output['dead']:,} files could not be indexed"
        for element in (self._bar, self._used, self._index):
            element.set_visibility(True)
        self._dead.set_visibility(bool(index.output["dead"]))
        if self._count is None:
            self._count = used.output["files"]
        return int(used.output["files"])

    async def _live(self) -> None:
        """What others do meanwhile: the figures, the open file, and whether the tree is behind."""
        count = await self._load_state()
        self._changed.set_visibility(count is not None and count != self._count)
        await self._file.follow()

    async def _reload_tree(self) -> None:
        self._count = None
        await self._load_state()
        self._changed.set_visibility(False)
        await self._tree.load(self._project, self._file.path)


def _reason(why: dict[str, Any], query: str) -> str:
    parts = []
    if why.get("matched"):
        parts.append(f"words found: {in_words(why['matched'], query)}")
    if why.get("missing"):
        parts.append(f"not found: {in_words(why['missing'], query)}")
    if why.get("cosine") is not None:
        parts.append(f"closeness in meaning {why['cosine']:.2f}")
    if why.get("bm25") is not None:
        parts.append(f"word weight {why['bm25']:.2f}")
    return "Why: " + ("; ".join(parts) or "closest of what is stored")
