"""The feedback inbox beside the list of instructions."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from commonplace.console.parts import ANY, QUIET, address, choice, pager, remember, whole
from commonplace.console.shell import View, empty, failure

PAGE = 25
SEVERITIES = ["low", "medium", "high", "critical"]
STATES = ["new", "acknowledged", "in-progress", "resolved", "closed"]
KINDS = [
    "issue",
    "status",
    "security",
    "feature-request",
    "bug-report",
    "performance",
    "usability",
    "other",
]


class FeedbackPanel:
    """What callers said, to read, answer by a status, and add to."""

    def __init__(self, view: View) -> None:
        self._view = view

    async def show(self, shared: dict[str, str]) -> None:
        self._page = whole(shared.get("page"), 1)
        with ui.row().classes("w-full items-center gap-2"):
            self._status = choice("Status", STATES, known(shared, "status", STATES))
            self._severity = choice("Severity", SEVERITIES, known(shared, "severity", SEVERITIES))
            self._kind = choice("Kind", KINDS, known(shared, "kind", KINDS))
            ui.space()
            ui.button("Give feedback", icon="add_comment", on_click=self._give).props(
                "dense no-caps"
            )
        self._rows = ui.column().classes("w-full gap-2")
        for field in (self._status, self._severity, self._kind):
            field.on_value_change(self._from_start)
        await self._load()

    async def _from_start(self) -> None:
        self._page = 1
        await self._load()

    async def _load(self) -> None:
        chosen = {
            "status": self._status.value,
            "severity": self._severity.value,
            "type": self._kind.value,
        }
        wanted = {name: value for name, value in chosen.items() if value != ANY}
        page = self._page if self._page > 1 else None
        shared = {"kind" if name == "type" else name: value for name, value in wanted.items()}
        remember(address("/instructions", tab="feedback", page=page, **shared))
        answer = await self._view.call(
            "feedback_list", {**wanted, "limit": PAGE, "offset": (self._page - 1) * PAGE}
        )
        self._rows.clear()
        with self._rows:
            if answer.error is not None:
                failure(answer.error)
                return
            if not answer.output["entries"]:
                empty(
                    "No feedback fits.",
                    "Agents send it with feedback_submit; you can give some here.",
                )
                return
            ui.label(f"Feedback: {answer.output['total']:,}, newest first.").classes(
                "text-sm cp-muted"
            )
            for entry in answer.output["entries"]:
                self._entry(entry)
            pager(answer.output["total"], PAGE, self._page, self._turn)

    def _entry(self, entry: dict[str, Any]) -> None:
        with ui.card().props("flat bordered").classes("w-full gap-1 p-3"):
            with ui.row().classes("w-full items-center gap-2"):
                bad = " cp-bad" if entry["severity"] in ("high", "critical") else ""
                ui.label(entry["severity"]).classes("cp-tag" + bad)
                ui.label(entry["type"]).classes("cp-tag")
                ui.label(entry["title"]).classes("font-semibold cp-text min-w-0")
                ui.space()
                if self._view.may_write:
                    status = (
                        ui.select(STATES, value=entry["status"], label="Status")
                        .props("outlined dense options-dense")
                        .classes("w-40")
                    )
                    status.on_value_change(
                        lambda event, entry=entry: self._set(entry["id"], event.value)
                    )
                else:
                    ui.label(entry["status"]).classes("cp-tag")
            ui.label(entry["description"]).classes("text-sm cp-text")
            about = (
                f"{str(entry['timestamp'])[:16].replace('T', ' ')} by "
                f"{entry.get('submittedBy') or 'somebody'}"
            )
            ui.label(
                about + (f"; {', '.join(entry['tags'])}" if entry.get("tags") else "")
            ).classes("text-xs cp-muted cp-text")

    async def _set(self, identity: str, status: str) -> None:
        answer = await self._view.call("feedback_update", {"id": identity, "status": status})
        if answer.error is not None:
            ui.notify(str(answer.error["message"]), type="negative")
        else:
            ui.notify(f"Now {status}", type="positive")

    def _give(self) -> None:
        with ui.dialog() as dialog, ui.card().classes("w-[32rem] max-w-full"):
            ui.label("What is wrong, missing or good?").classes("text-base font-semibold")
            kind = (
                ui.select(KINDS, value="issue", label="Kind")
                .props("outlined dense")
                .classes("w-full")
            )
            severity = (
                ui.select(SEVERITIES, value="medium", label="Severity")
                .props("outlined dense")
                .classes("w-full")
            )
            title = ui.input("Title").props("outlined dense autofocus").classes("w-full")
            text = ui.textarea("What happened").props("outlined autogrow").classes("w-full")

            async def send() -> None:
                values = {
                    "type": kind.value,
                    "severity": severity.value,
                    "title": title.value or "",
                    "description": text.value or "",
                }
                answer = await self._view.call("feedback_submit", values)
                if answer.error is not None:
                    ui.notify(str(answer.error["message"]), type="negative")
                    return
                dialog.close()
                ui.notify("Thank you", type="positive")
                await self._from_start()

            with ui.row().classes("w-full justify-end"):
                ui.button("Cancel", on_click=dialog.close).props(QUIET).classes("cp-quiet")
                ui.button("Send", on_click=send).props("no-caps")
        dialog.open()

    async def _turn(self, page: int) -> None:
        self._page = page
        await self._load()


def known(shared: dict[str, str], name: str, options: list[str]) -> str:
    """A value of the address where it is one of the options."""
    return shared[name] if shared.get(name) in options else ""
