"""Audit: what was changed, refused and read, each record whole, reads to run again, and the
state of the chains.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import orjson
from nicegui import ui

from commonplace.console.pages.overview import audit_table
from commonplace.console.parts import QUIET, opening, remember
from commonplace.console.shell import Shell, View, empty, failure, patiently

LIMIT = 50
OUTCOMES = ["any", "ok", "refused", "rejected", "failed"]


def register(shell: Shell) -> None:
    @ui.page("/audit")
    async def audit(
        tool: str = "", outcome: str = "any", code: str = "", reads: str = "", until: str = ""
    ) -> None:
        with shell.page("Audit") as view:
            await patiently(_AuditPage(view, tool, outcome, code, reads == "1", until).show())


class _AuditPage:
    def __init__(
        self, view: View, tool: str, outcome: str, code: str, reads: bool, until: str
    ) -> None:
        self._view = view
        self._until = until
        self._initial = (tool, outcome if outcome in OUTCOMES else "any", code, reads)
        self._records: list[dict[str, Any]] = []

    async def show(self) -> None:
        tool, outcome, code, reads = self._initial
        with ui.row().classes("w-full items-center gap-2"):
            self._tool = (
                ui.input("Tool", value=tool).props("outlined dense clearable").classes("grow")
            )
            self._outcome = (
                ui.select(OUTCOMES, value=outcome, label="Outcome")
                .props("outlined dense")
                .classes("w-36")
            )
            self._code = (
                ui.input("Code", value=code).props("outlined dense clearable").classes("w-48")
            )
            self._reads = ui.switch("Reads too", value=reads)
            ui.button("Show", icon="filter_alt", on_click=self._newest).props("dense no-caps")
            ui.button("Check the chains", icon="verified", on_click=self._verify).props(
                QUIET
            ).classes("cp-quiet")
        self._verdict = ui.column().classes("w-full")
        self._rows = ui.column().classes("w-full")
        for field in (self._tool, self._code):
            field.on("keydown.enter", self._newest)
        await self._load()

    async def _newest(self) -> None:
        self._until = ""
        await self._load()

    async def _older(self) -> None:
        self._until = str(self._records[-1]["ts"])
        await self._load()

    async def _load(self) -> None:
        wanted: dict[str, Any] = {"limit": LIMIT}
        shared: dict[str, str] = {}
        for name, value in (("tool", self._tool.value), ("code", self._code.value)):
            if value:
                wanted[name] = shared[name] = value
        if self._outcome.value != "any":
            wanted["outcome"] = shared["outcome"] = self._outcome.value
        if self._reads.value:
            wanted["reads"] = True
            shared["reads"] = "1"
        if self._until:
            wanted["until"] = shared["until"] = self._until
        remember("/audit" + (f"?{urlencode(shared)}" if shared else ""))
        answer = await self._view.call("audit_query", wanted)
        self._rows.clear()
        with self._rows:
            if answer.error is not None:
                failure(answer.error)
                return
            self._records = answer.output["records"]
            if not self._records:
                empty(
                    "No record fits.",
                    "Changes and refusals are kept for good; reads only while the server runs.",
                )
                return
            ui.label(
                f"{len(self._records)} records, newest first. Choose one to see it whole."
            ).classes("text-sm cp-muted")
            table = opening(audit_table(self._records), "tool", self._chosen)
            table.props("hover").classes("cursor-pointer")
            table.on("rowClick", lambda event: self._open(event.args[1]["id"]))
            with ui.row().classes("gap-2"):
                if self._until:
                    ui.button("Newest", icon="first_page", on_click=self._newest).props(
                        QUIET
                    ).classes("cp-quiet")
                if len(self._records) == LIMIT:
                    ui.button("Older", icon="chevron_right", on_click=self._older).props(
                        QUIET
                    ).classes("cp-quiet")

    async def _chosen(self, row: dict[str, Any]) -> None:
        self._open(int(row["id"]))

    def _open(self, number: int) -> None:
        record = self._records[number]
        text = orjson.dumps(record, option=orjson.OPT_INDENT_2).decode()
        with ui.dialog() as dialog, ui.card().classes("w-[48rem] max-w-full"):
            with ui.row().classes("w-full items-center"):
                ui.label(str(record.get("tool"))).classes("text-lg font-semibold cp-mono")
                ui.space()
                ui.button(icon="content_copy", on_click=lambda: ui.clipboard.write(text)).props(
                    'flat dense aria-label="Copy record"'
                )
                ui.button(icon="close", on_click=dialog.close).props(
                    'flat dense aria-label="Close"'
                )
            ui.code(text, language="json").classes("w-full cp-code")
            result = ui.column().classes("w-full")
            if record.get("chain") is None and replayable(record["arguments"]):
                ui.button(
                    "Run again", icon="replay", on_click=lambda: self._replay(record, result)
                ).props('aria-label="Run again"')
            elif record.get("chain") is None:
                ui.label("Parts of this call were not kept, so it cannot be run again.").classes(
                    "text-sm cp-muted"
                )
            else:
                ui.label("Changes are not run again from here.").classes("text-sm cp-muted")
        dialog.open()

    async def _replay(self, record: Mapping[str, Any], result: ui.column) -> None:
        answer = await self._view.call(str(record["tool"]), record["arguments"])
        result.clear()
        with result:
            if answer.error is not None:
                failure(answer.error)
            else:
                ui.label("Answer").classes("text-sm font-semibold")
                ui.code(
                    orjson.dumps(answer.output, option=orjson.OPT_INDENT_2, default=str).decode()[
                        :50_000
                    ],
                    language="json",
                ).classes("w-full cp-code")

    async def _verify(self) -> None:
        answer = await self._view.call("audit_verify", {})
        self._verdict.clear()
        with self._verdict:
            if answer.error is not None:
                failure(answer.error)
                return
            verdict = answer.output
            colour = "border-positive" if verdict["ok"] else "border-negative"
            with ui.card().props("flat bordered").classes(f"w-full border-l-4 {colour}"):
                ui.label(
                    "The chains are whole."
                    if verdict["ok"]
                    else "The record was tampered with or damaged."
                ).classes("font-semibold")
                ui.label(f"{verdict['records']} records in {verdict['chains']} chains.").classes(
                    "text-sm cp-muted"
                )
                for problem in verdict["problems"]:
                    ui.label(f"{problem['chain']}: {problem['problem']}").classes("text-sm cp-mono")


def replayable(arguments: Mapping[str, Any]) -> bool:
    """Whether nothing of the arguments was cut or masked when they were kept."""
    text = orjson.dumps(arguments).decode()
    return (
        "***" not in text
        and '"truncated":true' not in text
        and '"sha256"' not in text
        and '"..."' not in text
    )
