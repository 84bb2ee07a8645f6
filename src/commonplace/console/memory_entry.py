"""One memory in the console: its text, its links as a drawing, and what may be done with it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui

from commonplace.console.drawing import drawn, flowchart
from commonplace.console.parts import QUIET, confirmed
from commonplace.console.shell import View, failure

KINDS = ["bug", "pattern", "decision", "pitfall", "config", "reference"]
RELATIONS = ["related", "supersedes", "derived_from", "contradicts"]
MAX_NODES = 60
VERBS = {"related": "is related to", "supersedes": "replaces", "derived_from": "comes from"}


class EntryPage:
    def __init__(self, view: View, entry_id: str) -> None:
        self._view = view
        self._id = entry_id

    async def show(self) -> None:
        ui.link("All memories", "/memory").classes("text-sm")
        self._body = ui.column().classes("w-full gap-4")
        await self._load()

    async def _load(self) -> None:
        answer = await self._view.call("rekall_show", {"id": self._id})
        related = await self._view.call("memory_related", {"id": self._id, "depth": 2})
        self._body.clear()
        with self._body:
            if answer.error is not None:
                failure(answer.error)
                return
            self._entry = answer.output
            self._head()
            ui.label(self._entry["content"] or "No text.").classes("w-full cp-text")
            self._links()
            if related.ok and related.output["links"]:
                self._graph(related.output)

    def _head(self) -> None:
        entry = self._entry
        with ui.row().classes("w-full items-center gap-2"):
            ui.label(entry["title"]).classes("text-xl font-semibold cp-text")
            ui.label(entry["type"]).classes("cp-tag")
            if entry["status"] != "active":
                ui.label(entry["status"]).classes("cp-tag cp-bad")
            ui.space()
            if self._view.may_write:
                ui.button("Correct", icon="edit", on_click=self._edit).props("dense no-caps")
                ui.button("Link", icon="link", on_click=self._link).props(QUIET).classes("cp-quiet")
                ui.button("Delete", icon="delete", on_click=self._delete).props(QUIET).classes(
                    "cp-quiet"
                )
        facts = [
            f"confidence {entry['confidence']}",
            f"reads: {entry['access_count']}",
            f"changed {entry['updated_at'][:10]}",
        ]
        facts += [f"project {entry['project']}"] if entry["project"] else []
        facts += [f"tags {', '.join(entry['tags'])}"] if entry["tags"] else []
        ui.label("; ".join(facts)).classes("text-sm cp-muted cp-text")
        if entry.get("superseded_by"):
            ui.link(
                f"Replaced by: {entry['superseded_by']['title']}",
                f"/memory/{entry['superseded_by']['id']}",
            )

    def _links(self) -> None:
        links = self._entry["links"]
        if not links["outgoing"] and not links["incoming"]:
            ui.label("It is linked to nothing yet.").classes("text-sm cp-muted")
            return
        with ui.column().classes("w-full gap-1"):
            ui.label("Links").classes("font-semibold")
            for one in links["outgoing"]:
                with ui.row().classes("items-center gap-2"):
                    ui.label(f"this {_verb(one['relation_type'])}").classes("text-sm cp-muted")
                    ui.link(one["target_title"], f"/memory/{one['target_id']}")
            for one in links["incoming"]:
                with ui.row().classes("items-center gap-2"):
                    ui.link(one["source_title"], f"/memory/{one['source_id']}")
                    ui.label(f"{_verb(one['relation_type'])} this").classes("text-sm cp-muted")

    def _graph(self, related: dict[str, Any]) -> None:
        nodes = {self._id: self._entry["title"]} | {
            one["id"]: one["title"] for one in related["entries"][:MAX_NODES]
        }
        links = [
            (one["source_id"], one["target_id"], one["relation_type"]) for one in related["links"]
        ]
        with ui.card().props("flat bordered").classes("w-full min-w-0"):
            ui.label("Around it, two steps far").classes("text-sm cp-muted")
            drawn(self._view, flowchart(nodes, links, self._id))

    def _edit(self) -> None:
        async def store(values: dict[str, Any]) -> bool:
            answer = await self._view.call("memory_update", {"id": self._id, **values})
            if answer.error is not None:
                ui.notify(str(answer.error["message"]), type="negative")
                return False
            ui.notify("Corrected", type="positive")
            await self._load()
            return True

        entry_form("Correct this entry", self._entry, store)

    async def _delete(self) -> None:
        if not await confirmed(
            f"Delete {self._entry['title'][:80]}?", "The tab Deleted can bring it back.", "Delete"
        ):
            return
        answer = await self._view.call("memory_delete", {"id": self._id})
        if answer.error is not None:
            ui.notify(str(answer.error["message"]), type="negative")
        else:
            ui.navigate.to("/memory")

    def _link(self) -> None:
        with ui.dialog() as dialog, ui.card().classes("w-[32rem] max-w-full"):
            ui.label("Link this entry to another").classes("text-base font-semibold")
            relation = (
                ui.select(RELATIONS, value="related", label="This entry ... the other")
                .props("outlined dense")
                .classes("w-full")
            )
            field = (
                ui.input("Find the other entry")
                .props("outlined dense autofocus debounce=300")
                .classes("w-full")
            )
            rows = ui.column().classes("w-full gap-0")

            async def find() -> None:
                answer = await self._view.call(
                    "rekall_search", {"query": field.value or " ", "limit": 6}
                )
                rows.clear()
                with rows:
                    for found in answer.output["results"] if answer.ok else ():
                        if found["id"] != self._id:
                            ui.button(
                                found["title"], on_click=lambda other=found["id"]: choose(other)
                            ).props("flat dense no-caps align=left")

            async def choose(other: str) -> None:
                arguments = {
                    "source_id": self._id,
                    "target_id": other,
                    "relation_type": relation.value,
                }
                answer = await self._view.call("rekall_link", arguments)
                if answer.error is not None:
                    ui.notify(str(answer.error["message"]), type="negative")
                    return
                dialog.close()
                ui.notify("Linked", type="positive")
                await self._load()

            field.on_value_change(find)
        dialog.open()


def _verb(relation: str) -> str:
    return VERBS.get(relation, relation)


def entry_form(
    title: str, entry: dict[str, Any], store: Callable[[dict[str, Any]], Awaitable[bool]]
) -> None:
    """A dialog with the fields people fill in.

    `store` says whether it worked; then the dialog closes.
    """
    with ui.dialog() as dialog, ui.card().classes("w-[40rem] max-w-full"):
        ui.label(title).classes("text-base font-semibold")
        name = (
            ui.input("Title", value=entry.get("title", ""))
            .props("outlined dense autofocus")
            .classes("w-full")
        )
        kind = (
            ui.select(KINDS, value=entry.get("type", "pattern"), label="Kind")
            .props("outlined dense")
            .classes("w-full")
        )
        text = (
            ui.textarea("What to remember", value=entry.get("content", ""))
            .props("outlined autogrow")
            .classes("w-full")
        )
        tags = (
            ui.input("Tags, with commas", value=", ".join(entry.get("tags", ())))
            .props("outlined dense")
            .classes("w-full")
        )
        ui.label("Confidence, 0 to 5").classes("text-sm cp-muted")
        confidence = ui.slider(min=0, max=5, step=1, value=entry.get("confidence", 3)).props(
            'label snap aria-label="Confidence"'
        )
        status = None
        if entry:
            status = (
                ui.select(["active", "obsolete"], value=entry["status"], label="Status")
                .props("outlined dense")
                .classes("w-full")
            )

        async def save() -> None:
            values = {
                "title": name.value,
                "type": kind.value,
                "content": text.value or "",
                "tags": [tag.strip() for tag in (tags.value or "").split(",") if tag.strip()],
                "confidence": int(confidence.value),
            }
            if status is not None:
                values["status"] = status.value
            if await store(values):
                dialog.close()

        with ui.row().classes("w-full justify-end"):
            ui.button("Cancel", on_click=dialog.close).props(QUIET).classes("cp-quiet")
            ui.button("Save", on_click=save).props("no-caps")
    dialog.open()
