"""Files: projects, the tree level by level, one file to read and change, and search that says why and opens at the passage."""

from __future__ import annotations

from typing import Any

from nicegui import events, ui

from commonplace.console.file_view import FileView
from commonplace.console.parts import QUIET, address, asked, confirmed, marked, remember, size
from commonplace.console.shell import Shell, View, empty, failure, patiently
from commonplace.search.text import query_terms

LEVEL = 1000
FOUND = 10
STATE_SECONDS = 3.0
UNLOADED = "\0"  # ends the id of a placeholder below a folder that was not opened yet; no path can hold it


def register(shell: Shell) -> None:
    @ui.page("/files")
    async def files(project: str = "", path: str = "", start: int | None = None, end: int | None = None, q: str = "") -> None:
        with shell.page("Files") as view:
            await patiently(_Files(view).show(project, path, (start, end) if start is not None and end is not None else None, q))


class _Files:
    def __init__(self, view: View) -> None:
        self._view = view
        self._project = ""
        self._level: list[dict[str, Any]] = []

    async def show(self, project: str, path: str, span: tuple[int, int] | None, query: str) -> None:
        answer = await self._view.call("file_projects", {})
        if answer.error is not None:
            failure(answer.error)
            return
        names = [one["project"] for one in answer.output["projects"]]
        self._project = project or (names[0] if names else "")
        if self._project and self._project not in names:
            names.append(self._project)
        self._toolbar(names, query)
        self._state = ui.row().classes("w-full items-center gap-3")
        self._found = ui.column().classes("w-full gap-2")
        with ui.row().classes("w-full gap-4 items-start"):
            with ui.card().props("flat bordered").classes("grow basis-64 min-w-0 p-2").style("max-width: 24rem"):
                ui.label("Folders").classes("text-sm cp-muted")
                self._folders = ui.column().classes("w-full cp-tree")
            with ui.card().props("flat bordered").classes("grow-[3] basis-96 min-w-0"):
                self._hello = ui.column().classes("w-full")
                self._file = FileView(self._view, self._after_change)
        if not self._project:
            self._first_steps()
            return
        await self._load_tree()
        await self._load_state()
        ui.timer(STATE_SECONDS, self._load_state)
        if query and span is not None:
            with self._found:
                ui.link("Back to what was found", address("/files", project=self._project, q=query)).classes("text-sm")
        elif query:
            await self._search()
        if path:
            await self._open(path, span)
        else:
            self._greet()

    def _toolbar(self, names: list[str], query: str) -> None:
        with ui.row().classes("w-full items-center gap-2"):
            picker = ui.select(names, value=self._project or None, label="Project").props("outlined dense options-dense")
            picker.classes("min-w-40").on_value_change(lambda event: ui.navigate.to(address("/files", project=event.value)))
            self._query = ui.input("Search in this project", value=query).props("outlined dense clearable").classes("grow min-w-48")
            self._query.on("keydown.enter", self._search)
            ui.button("Search", icon="search", on_click=self._search).props("dense no-caps")
            if self._view.may_write:
                ui.button("New file", icon="note_add", on_click=self._new).props(QUIET).classes("cp-quiet")
                ui.button("Upload", icon="upload", on_click=self._upload_dialog).props(QUIET).classes("cp-quiet")
                ui.button("Restore", icon="restore_from_trash", on_click=self._restore).props(QUIET).classes("cp-quiet")

    def _first_steps(self) -> None:
        with self._hello:
            if self._view.may_write:
                empty("No project holds a file yet.", "Press New file: the project is made with it.")
            else:
                empty("No project holds a file yet.", "A key with scope write can store one.")

    def _greet(self) -> None:
        self._hello.clear()
        self._hello.set_visibility(True)
        with self._hello:
            empty("Pick a file on the left, or search in words.", "Search finds by meaning and by exact words.")

    # The tree

    async def _load_tree(self) -> None:
        self._folders.clear()
        self._level = await self._children("")
        with self._folders:
            if not self._level:
                ui.label("This project is empty.").classes("cp-muted p-2")
                return
            self._tree = ui.tree(self._level, on_select=self._picked, on_expand=self._expanded).props("dense no-transition")
            self._tree.classes("w-full")

    async def _children(self, path: str) -> list[dict[str, Any]]:
        answer = await self._view.call("file_list", {"project": self._project, "path": path, "depth": 1, "limit": LEVEL})
        if answer.error is not None:
            return []
        nodes = [_node(entry) for entry in answer.output["entries"]]
        nodes.sort(key=lambda node: ("children" not in node, node["label"]))
        if answer.output["has_more"]:
            nodes.append({"id": f"{path}/{UNLOADED}more", "label": "More than is shown: search, or open by path", "disabled": True})
        return nodes

    async def _expanded(self, event: events.ValueChangeEventArguments[list[str]]) -> None:
        for path in event.value or ():
            node = _find(self._level, path)
            if node is not None and node["children"] and str(node["children"][0]["id"]).endswith(UNLOADED):
                node["children"] = await self._children(path)
                self._redraw()

    def _redraw(self) -> None:
        self._tree.props["nodes"] = self._level  # the element keeps a copy of its own
        self._tree.update()

    async def _picked(self, event: events.ValueChangeEventArguments[str | None]) -> None:
        node = _find(self._level, event.value or "")
        if node is None or event.value == self._file.path:
            return
        if "children" in node:
            node["children"] = await self._children(str(node["id"]))
            self._redraw()
            self._tree.expand([str(node["id"])])
        else:
            await self._open(str(node["id"]))

    # One file

    async def _open(self, path: str, span: tuple[int, int] | None = None) -> None:
        if self._file.dirty and not await confirmed("Leave without saving?", f"{self._file.path} has changes.", "Leave"):
            return
        self._hello.set_visibility(False)
        where = {"start": str(span[0]), "end": span[1]} if span else {}
        query = self._query.value if span else ""
        remember(address("/files", project=self._project, path=path, q=query, **where))
        await self._file.open(self._project, path, span)

    async def _after_change(self, path: str) -> None:
        await self._load_tree()
        await self._load_state()
        if path:
            await self._open(path)
        else:
            self._file.close()
            self._greet()
            remember(address("/files", project=self._project))

    async def _new(self) -> None:
        project = self._project or await asked("Which project?", "Project name", "notes", "Next")
        path = await asked("New file", "Path", "/new.md", "Create") if project else None
        if not project or not path:
            return
        answer = await self._view.call("file_write", {"project": project, "path": path, "content": "", "mode": "TRUNCATE", "if_match": ""})
        if answer.error is not None:
            ui.notify(str(answer.error["message"]), type="negative")
        elif not self._project:
            ui.navigate.to(address("/files", project=project, path=path))
        else:
            await self._after_change(path)

    def _upload_dialog(self) -> None:
        with ui.dialog() as dialog, ui.card().classes("w-96 max-w-full"):
            ui.label("Upload text files").classes("text-base font-semibold")
            project = ui.input("Project", value=self._project or "notes").props("outlined dense").classes("w-full")
            folder = ui.input("Into folder", value="/").props("outlined dense").classes("w-full")

            async def take(event: events.UploadEventArguments) -> None:
                await self._store(event, project.value.strip(), folder.value)

            ui.upload(multiple=True, auto_upload=True, max_file_size=64 * 1024 * 1024, on_upload=take, label="Drop files here").classes(
                "w-full"
            )
            ui.button("Done", on_click=lambda: ui.navigate.to(address("/files", project=project.value.strip()))).props("no-caps")
        dialog.open()

    async def _store(self, event: events.UploadEventArguments, project: str, folder: str) -> None:
        path = f"{folder.rstrip('/')}/{event.file.name}"
        try:
            content = await event.file.text()
        except UnicodeDecodeError:
            ui.notify(f"{event.file.name} is not UTF-8 text. Encode it, for example as Base64.", type="negative")
            return
        arguments = {"project": project, "path": path, "content": content, "mode": "TRUNCATE", "if_match": ""}
        answer = await self._view.call("file_write", arguments)
        if answer.error is not None and answer.error.get("code") == "CONTENT_CHANGED":
            ui.notify(f"{path} is there already. Rename or delete it first.", type="warning")
        elif answer.error is not None:
            ui.notify(str(answer.error["message"]), type="negative")
        else:
            ui.notify(f"Stored {path}", type="positive")

    async def _restore(self) -> None:
        path = await asked("Bring back a deleted file or folder", "Path", "/", "Restore")
        if not path or not self._project:
            return
        answer = await self._view.call("file_restore", {"project": self._project, "path": path})
        if answer.error is not None:
            ui.notify(str(answer.error["message"]), type="negative")
            return
        ui.notify(f"Restored {answer.output['restored']}", type="positive")
        await self._after_change(path if answer.output["paths"] == [path] else "")

    # Search and state

    async def _search(self) -> None:
        query = (self._query.value or "").strip()
        self._found.clear()
        if not query or not self._project:
            remember(address("/files", project=self._project))
            return
        remember(address("/files", project=self._project, q=query))
        answer = await self._view.call("file_search", {"project": self._project, "query": query, "limit": FOUND, "explain": True})
        self._found.clear()
        with self._found:
            if answer.error is not None:
                failure(answer.error)
            elif not answer.output["chunks"]:
                empty("Nothing found.", "Try other words. A file written just now is found within seconds.")
            else:
                ui.label(f"Passages found: {len(answer.output['chunks'])}, best first ({answer.output['mode']}).").classes(
                    "text-sm cp-muted"
                )
                for chunk in answer.output["chunks"]:
                    self._passage(chunk, query)

    def _passage(self, chunk: dict[str, Any], query: str) -> None:
        start, end, path = chunk["file_seek_start_bytes"], chunk["file_seek_end_bytes"], chunk["file_path"]
        with ui.card().props("flat bordered").classes("w-full gap-1 p-3"):
            with ui.row().classes("w-full items-center gap-2"):
                ui.link(path, address("/files", project=self._project, path=path, start=str(start), end=end, q=query)).classes("cp-mono")
                ui.label(f"bytes {start:,} to {end:,}").classes("text-xs cp-muted")
                ui.space()
                ui.label(f"score {chunk['score']:.2f}").classes("cp-tag")
            why = chunk.get("explain", {})
            marked(str(why.get("snippet") or chunk["chunk_content"][:400]), query_terms(query))
            ui.label(_reason(why)).classes("text-xs cp-muted cp-text")

    async def _load_state(self) -> None:
        used = await self._view.call("file_usage", {"project": self._project})
        index = await self._view.call("file_index_status", {"project": self._project})
        self._state.clear()
        if used.error is not None or index.error is not None:
            return
        with self._state:
            share = used.output["size_bytes"] / max(1, used.output["limit_bytes"])
            ui.linear_progress(min(1.0, share), show_value=False, size="8px").classes("w-40").props('rounded aria-label="Quota used"')
            ui.label(f"{size(used.output['size_bytes'])} of {size(used.output['limit_bytes'])}, {used.output['files']:,} files").classes(
                "text-sm cp-muted"
            )
            waiting = index.output["pending"] + index.output["processing"]
            if index.output["dead"]:
                ui.label(f"{index.output['dead']} files could not be indexed").classes("cp-tag cp-bad")
            ui.label("search index up to date" if not waiting else f"{waiting} files wait for the search index").classes("cp-tag")


def _node(entry: dict[str, Any]) -> dict[str, Any]:
    if entry["type"] == "DIRECTORY":
        waiting = {"id": f"{entry['path']}/{UNLOADED}", "label": "Loading", "disabled": True}
        return {"id": entry["path"], "label": entry["name"], "icon": "folder", "children": [waiting]}
    return {"id": entry["path"], "label": entry["name"], "icon": "description"}


def _find(nodes: list[dict[str, Any]], path: str) -> dict[str, Any] | None:
    """The node of a path: only the branch that leads to it is looked at."""
    for node in nodes:
        if node["id"] == path:
            return node
        if "children" in node and path.startswith(f"{node['id']}/"):
            return _find(node["children"], path)
    return None


def _reason(why: dict[str, Any]) -> str:
    parts = []
    if why.get("matched"):
        parts.append(f"words found: {', '.join(why['matched'])}")
    if why.get("missing"):
        parts.append(f"not found: {', '.join(why['missing'])}")
    if why.get("cosine") is not None:
        parts.append(f"closeness in meaning {why['cosine']:.2f}")
    if why.get("bm25") is not None:
        parts.append(f"word weight {why['bm25']:.2f}")
    return "Why: " + ("; ".join(parts) or "closest of what is stored")
