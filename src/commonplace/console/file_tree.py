"""The tree of a project's files: a level is loaded when it is opened, and a large one page by
page.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import events, ui

from commonplace.console.shell import View, failure

PAGE = 200
MARK = "\0"  # in the id of a node that is no path; no path can hold it
Node = dict[str, Any]


class FileTree:
    """Fills its container. `opened(path, is_folder)` is called when a person picks something."""

    def __init__(self, view: View, opened: Callable[[str, bool], Awaitable[None]]) -> None:
        self._view = view
        self._opened = opened
        self._nodes: list[Node] = []
        self._box = ui.column().classes("w-full cp-tree")
        self._tree: ui.tree | None = None
        self.project = ""

    async def load(self, project: str, reveal: str = "") -> None:
        """The first level, opened down to `reveal`."""
        self.project = project
        self._nodes = await self._children("", "")
        self._box.clear()
        self._tree = None
        with self._box:
            if not self._nodes:
                ui.label("This project is empty.").classes("cp-muted p-2")
                return
            self._tree = ui.tree(
                self._nodes, on_select=self._picked, on_expand=self._expanded
            ).props("dense no-transition")
            self._tree.classes("w-full")
        if reveal:
            await self._reveal(reveal)

    async def _children(self, path: str, after: str) -> list[Node]:
        answer = await self._view.call(
            "file_browse", {"project": self.project, "path": path, "after": after, "limit": PAGE}
        )
        if answer.error is not None:
            if answer.error.get("code") != "NOT_FOUND":
                with self._box:
                    failure(answer.error)
            return []
        nodes = [_node(entry) for entry in answer.output["entries"]]
        if answer.output["next"] is not None:
            nodes.append(
                {
                    "id": f"{answer.output['next']}{MARK}{path}",
                    "label": "Show more",
                    "icon": "more_horiz",
                }
            )
        return nodes

    async def _expanded(self, event: events.ValueChangeEventArguments[list[str]]) -> None:
        for path in event.value or ():
            node = find(self._nodes, path)
            if node is not None and _unloaded(node):
                node["children"] = await self._children(path, "")
                self._redraw()

    async def _picked(self, event: events.ValueChangeEventArguments[str | None]) -> None:
        chosen = event.value or ""
        if MARK in chosen:
            await self._more(chosen)
            return
        node = find(self._nodes, chosen)
        if node is None:
            return
        if "children" in node:
            if _unloaded(node):
                node["children"] = await self._children(chosen, "")
                self._redraw()
            if self._tree is not None:
                self._tree.expand([chosen])
        await self._opened(chosen, "children" in node)

    async def _more(self, marker: str) -> None:
        after, _, path = marker.partition(MARK)
        node = find(self._nodes, path) if path else None
        level = self._nodes if node is None else node["children"]
        level[-1:] = await self._children(path, after)
        self._redraw()

    async def _reveal(self, path: str) -> None:
        parts = path.split("/")
        above = ["/".join(parts[:depth]) for depth in range(2, len(parts))]
        for folder in above:
            node = find(self._nodes, folder)
            if node is None:
                break
            if _unloaded(node):
                node["children"] = await self._children(folder, "")
        self._redraw()
        if self._tree is not None and above:
            self._tree.expand(above)

    def _redraw(self) -> None:
        if self._tree is not None:
            self._tree.props["nodes"] = self._nodes  # the element keeps a copy of its own
            self._tree.update()


def _node(entry: dict[str, Any]) -> Node:
    if entry["type"] == "DIRECTORY":
        waiting = {"id": f"{MARK}{entry['path']}", "label": "Loading", "disabled": True}
        return {
            "id": entry["path"],
            "label": entry["name"],
            "icon": "folder",
            "children": [waiting],
        }
    return {"id": entry["path"], "label": entry["name"], "icon": "description"}


def _unloaded(node: Node) -> bool:
    return bool(node["children"]) and str(node["children"][0]["id"]).startswith(MARK)


def find(nodes: list[Node], path: str) -> Node | None:
    """The node of a path: only the branch that leads to it is looked at."""
    for node in nodes:
        if node["id"] == path:
            return node
        if "children" in node and path.startswith(f"{node['id']}/"):
            return find(node["children"], path)
    return None
