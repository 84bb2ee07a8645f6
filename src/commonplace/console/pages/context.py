"""The page Context: what an agent gets for a task, why, and what was left out.

The form is sent by GET, so that the address of an answer can be shared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from starlette.responses import Response

from commonplace.console.page import Page, PageRoute
from commonplace.console.rendering import url
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.kernel.ref import Ref, RefKind

DEFAULT_BUDGET = 2_000
MAX_TASK = 4_000  # characters; addresses have limits
SECTIONS = {
    "rules": ("Rules in effect", "rule", "rules"),
    "lessons": ("Lessons", "lesson", "lessons"),
    "files": ("Passages of files", "passage", "passages"),
    "operations": ("API operations", "operation", "operations"),
}


@dataclass(frozen=True, slots=True)
class ContextForm:
    """The question of a person, as the address says it."""

    task: str
    paths: str
    project: str
    budget: int
    since: str
    explain: bool

    @property
    def arguments(self) -> JsonObject:
        """Return the arguments of the tool."""
        arguments: JsonObject = {"task": self.task, "budget": self.budget, "explain": self.explain}
        if paths := [path for path in re.split(r"[\s,]+", self.paths) if path]:
            arguments["paths"] = list(paths)
        if self.project:
            arguments["project"] = self.project
        if self.since:
            arguments["since"] = self.since
        return arguments

    def address(self, since: str) -> str:
        """Return the address of the same question after a pack."""
        return url(
            "/context",
            task=self.task,
            paths=self.paths or None,
            project=self.project or None,
            budget=self.budget,
            since=since,
            explain="on" if self.explain else None,
        )


@dataclass(frozen=True, slots=True)
class ShownItem:
    """An item of a pack with the address of its page."""

    item: Mapping[str, Json]
    address: str
    language: str  # name of the file, of a passage
    line: int

    @property
    def scores(self) -> Sequence[tuple[str, Json]]:
        """Return what `explain` tells, as pairs."""
        explained = self.item.get("explain")
        return list(explained.items()) if isinstance(explained, dict) else ()


async def show(page: Page) -> Response:
    """Show the form, and the pack if there is a task or a path."""
    form = ContextForm(
        page.query("task")[:MAX_TASK],
        page.query("paths"),
        page.query("project"),
        page.number("budget", DEFAULT_BUDGET),
        page.query("since"),
        page.query("explain") == "on",
    )
    shown: JsonObject = {
        "form": form,
        "max_task": MAX_TASK,
        "is_cut": len(page.query("task")) > MAX_TASK,
    }
    if not (form.task or form.paths):
        return page.render("pages/context.html", pack=None, error=None, **shown)
    answer = await page.call("context", form.arguments)
    if answer.error is not None:
        return page.render("pages/context.html", pack=None, error=answer.error, **shown)
    pack = answer.output
    sections = [
        (*SECTIONS[name], [_show_item(item) for item in pack[name]])
        for name in SECTIONS
        if pack.get(name)
    ]
    return page.render(
        "pages/context.html",
        **shown,
        pack=pack,
        error=None,
        sections=sections,
        left_out=_left_out(pack),
        next_address=form.address(str(pack["pack_id"])),
    )


def _show_item(item: Mapping[str, Json]) -> ShownItem:
    text = str(item["ref"])
    try:
        ref = Ref.parse(text)
    except CommonplaceError:  # a name that was escaped, or a rule file outside of the store
        return ShownItem(item, "", "", 1)
    is_passage = ref.kind is RefKind.FILE and ref.lines is not None
    return ShownItem(
        item,
        url("/open", ref=text),
        ref.key.rpartition("/")[2] if is_passage else "",
        ref.lines[0] if ref.lines is not None else 1,
    )


def _left_out(pack: Mapping[str, Json]) -> list[str]:
    """Say what the pack does not have, and why."""
    said = []
    if empty := pack.get("empty"):
        assert isinstance(empty, list)
        names = ", ".join(SECTIONS[str(name)][2] for name in empty)
        said.append(f"Nothing stored is about this task among: {names}.")
    if cut := pack.get("cut"):
        assert isinstance(cut, dict)
        counts = [
            f"{count} {SECTIONS[name][1 if count == 1 else 2]}" for name, count in cut.items()
        ]
        said.append(f"The budget had no room for {', '.join(counts)}.")
    if known := pack.get("known"):
        said.append(f"Already shown in this session: {known}.")
    notes = pack.get("notes")
    return [*said, *(map(str, notes) if isinstance(notes, list) else ())]


ROUTES = (PageRoute("/context", show),)
