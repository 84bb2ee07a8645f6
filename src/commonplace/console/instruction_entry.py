"""One instruction in the console: read it, change it with the differences shown first, look back
and undo.
"""

from __future__ import annotations

import difflib
from typing import Any

from nicegui import ui

from commonplace.console.parts import QUIET, confirmed, editor
from commonplace.console.shell import View, empty, failure

REQUIREMENTS = ["mandatory", "critical", "recommended", "optional", "deprecated"]
FIELDS = ("title", "priority", "requirement", "audience", "owner", "categories", "body")
NEW: dict[str, Any] = {
    "id": "",
    "title": "",
    "priority": 50,
    "requirement": "optional",
    "audience": "all",
    "owner": "",
    "categories": [],
    "body": "",
}


class InstructionPage:
    """`identity` None: a new one."""

    def __init__(self, view: View, identity: str | None) -> None:
        self._view = view
        self._id = identity
        self._item: dict[str, Any] = dict(NEW)

    async def show(self) -> None:
        ui.link("All instructions", "/instructions").classes("text-sm")
        self._writable = await writable(self._view)
        self._body = ui.column().classes("w-full gap-4")
        await self._load()

    async def _load(self) -> None:
        if self._id is not None:
            answer = await self._view.call("instructions_get", {"id": self._id})
            self._body.clear()
            if answer.error is not None or answer.output.get("notFound"):
                with self._body:
                    if answer.error is not None:
                        failure(answer.error)
                    else:
                        place = ui.column().classes("w-full")
                        removed = await self._history()
                        with place:
                            hint = (
                                "It was removed; its history is below."
                                if removed
                                else "All instructions lists what there is."
                            )
                            empty(f"No instruction is called {self._id}.", hint)
                return
            self._item = answer.output["item"]
        with self._body:
            self._head()
            self._form()
            if self._id is not None:
                await self._history()

    def _head(self) -> None:
        item = self._item
        with ui.row().classes("w-full items-center gap-2"):
            ui.label(self._id or "New instruction").classes("text-xl font-semibold cp-mono cp-text")
            for name in ("priorityTier", "status", "version"):
                if item.get(name):
                    ui.label(str(item[name])).classes("cp-tag")
            ui.space()
            if self._writable:
                ui.button("Save", icon="save", on_click=self._save).props("dense no-caps")
            if self._writable and self._id is not None:
                ui.button("Remove", icon="delete", on_click=self._remove).props(QUIET).classes(
                    "cp-quiet"
                )
        if item.get("nextReviewDue"):
            ui.label(
                f"Review due {item['nextReviewDue'][:10]}; risk score {item.get('riskScore')}"
            ).classes("text-sm cp-muted")
        self._problems = ui.column().classes("w-full")

    def _form(self) -> None:
        item, look = self._item, "outlined dense" + ("" if self._writable else " readonly")
        with ui.row().classes("w-full gap-3"):
            if self._id is None:
                self._name = ui.input("Id").props(look).classes("grow min-w-48")
            self._title = (
                ui.input("Title", value=item["title"]).props(look).classes("grow min-w-48")
            )
            self._owner = (
                ui.input("Owner", value=item.get("owner", "")).props(look).classes("min-w-32")
            )
            self._requirement = (
                ui.select(REQUIREMENTS, value=item["requirement"], label="Requirement")
                .props(look)
                .classes("min-w-40")
            )
            self._priority = (
                ui.number("Priority", value=item["priority"], min=1, max=100, precision=0)
                .props(look)
                .classes("w-24")
            )
            self._audience = (
                ui.input("Audience", value=item["audience"]).props(look).classes("w-32")
            )
            self._categories = ui.input(
                "Categories, with commas", value=", ".join(item["categories"])
            ).props(look)
            self._categories.classes("grow min-w-48")
        self._text = editor(
            self._view, item["body"], "Markdown", editable=self._writable, label="Body"
        )

    def _values(self) -> dict[str, Any]:
        return {
            "title": self._title.value or "",
            "priority": int(self._priority.value or 0),
            "requirement": self._requirement.value,
            "audience": self._audience.value or "",
            "owner": self._owner.value or "",
            "categories": [
                one.strip() for one in (self._categories.value or "").split(",") if one.strip()
            ],
            "body": self._text.value or "",
        }

    async def _save(self) -> None:
        values = self._values()
        changed = {
            name: values[name] for name in FIELDS if values[name] != self._item.get(name, NEW[name])
        }
        if self._id is None:
            await self._store(
                {
                    "id": self._name.value or "",
                    **{name: value for name, value in values.items() if value not in ("", [])},
                },
                {},
            )
        elif not changed:
            ui.notify("Nothing was changed.")
        elif await self._agreed(changed):
            await self._store(
                {"id": self._id, **changed},
                {"overwrite": True, "expectedHash": self._item["governanceHash"]},
            )

    async def _agreed(self, changed: dict[str, Any]) -> bool:
        """Show what would change, and ask."""
        lines = [
            f"{name}: {self._item.get(name)} -> {value}"
            for name, value in changed.items()
            if name != "body"
        ]
        if "body" in changed:
            lines += difflib.unified_diff(
                self._item["body"].splitlines(),
                changed["body"].splitlines(),
                "before",
                "after",
                lineterm="",
                n=2,
            )
        with ui.dialog() as dialog, ui.card().classes("w-[48rem] max-w-full"):
            ui.label("Save these changes?").classes("text-base font-semibold")
            ui.code("\n".join(lines)[:20_000], language="diff").classes("w-full cp-code")
            with ui.row().classes("w-full justify-end"):
                ui.button("Cancel", on_click=lambda: dialog.submit(False)).props(QUIET).classes(
                    "cp-quiet"
                )
                ui.button("Save changes", on_click=lambda: dialog.submit(True)).props("no-caps")
        agreed = bool(await dialog)
        dialog.delete()
        return agreed

    async def _store(self, entry: dict[str, Any], options: dict[str, Any]) -> None:
        answer = await self._view.call("instructions_add", {"entry": entry, "lax": True, **options})
        self._problems.clear()
        if answer.error is not None:
            with self._problems:
                failure(answer.error)
        elif answer.output.get("error"):
            with self._problems:
                hint = str(answer.output.get("feedbackHint", ""))
                failure({"code": "Not saved", "message": answer.output["error"], "hint": hint})
                for one in answer.output.get("validation", ()):
                    ui.label(f"{one['field']} {one['problem']}").classes("text-sm cp-bad")
        elif answer.output.get("skipped"):
            with self._problems:
                failure(
                    {
                        "code": "Not saved",
                        "message": "An instruction with this id is there already.",
                        "hint": "Open it and change it.",
                    }
                )
        else:
            ui.notify("Saved", type="positive")
            if self._id is None:
                ui.navigate.to(f"/instructions/{answer.output['id']}")
            else:
                await self._load()

    async def _remove(self) -> None:
        if not await confirmed(
            f"Remove {self._id}?",
            "Its history stays, and Undo on this page brings it back.",
            "Remove",
        ):
            return
        answer = await self._view.call("instructions_remove", {"ids": [self._id]})
        if answer.error is not None:
            ui.notify(str(answer.error["message"]), type="negative")
        else:
            ui.notify("Removed", type="positive")
            await self._load()

    async def _history(self) -> bool:
        answer = await self._view.call("instructions_history", {"id": self._id, "limit": 20})
        if answer.error is not None or not answer.output["changes"]:
            return False
        ui.label("History").classes("font-semibold")
        for number, change in enumerate(answer.output["changes"]):
            with ui.card().props("flat bordered").classes("w-full gap-1 p-3"):
                with ui.row().classes("w-full items-center gap-2"):
                    ui.label(change["action"]).classes("cp-tag")
                    when = change["at"][:16].replace("T", " ")
                    ui.label(f"{when} by {change['by']}, version {change['version']}").classes(
                        "text-sm"
                    )
                    ui.space()
                    if self._writable:
                        title = "Undo" if number == 0 else "Go back to before this"
                        ui.button(
                            title,
                            icon="undo",
                            on_click=lambda change=change: self._undo(change["change"]),
                        ).props(QUIET).classes("cp-quiet")
                if change["diff"]["bodyDiff"]:
                    ui.code(change["diff"]["bodyDiff"], language="diff").classes("w-full cp-code")
                fields = [name for name in change["diff"]["fields"] if name != "body"]
                if fields:
                    ui.label(f"Fields: {', '.join(fields)}").classes("text-xs cp-muted cp-text")
        return True

    async def _undo(self, change: int) -> None:
        answer = await self._view.call("instructions_restore", {"id": self._id, "change": change})
        if answer.error is not None:
            ui.notify(str(answer.error["message"]), type="negative")
            return
        ui.notify("Undone", type="positive")
        await self._load()


async def writable(view: View) -> bool:
    """Whether this person may change the catalogue here; where not, the page says why and what
    to do.
    """
    answer = await view.call("instructions_capabilities", {})
    if answer.ok and not answer.output["mutationEnabled"]:
        note(
            "The catalogue is read-only on this server.",
            "To change it, set MCP_ENABLE_MUTATION=1 in the server's environment and restart.",
        )
        return False
    if not view.may_write:
        note("Your key may read only.", "Sign in with a key of scope write to change instructions.")
        return False
    return answer.ok


def note(text: str, hint: str) -> None:
    with ui.card().props("flat bordered").classes("w-full border-l-4 border-warning gap-1 p-3"):
        ui.label(text).classes("font-semibold")
        ui.label(hint).classes("text-sm cp-muted")
