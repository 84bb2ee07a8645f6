"""Add entries to the memory and correct them; changes of others are shown before saving."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import Response

from commonplace.console.caller import CallError
from commonplace.console.flash import Flash
from commonplace.console.form_data import FormData
from commonplace.console.page import Page
from commonplace.console.pages.differences import compare_fields
from commonplace.console.pages.memory.entries import STATES, TYPES, memory_url
from commonplace.console.rendering import quote_path, url

FIELDS = ("title", "type", "content", "tags", "project", "confidence", "memory_type", "status")
LEVELS = ("0", "1", "2", "3", "4", "5")
MEMORY_TYPES = ("episodic", "semantic")
EMPTY: Mapping[str, Any] = {
    "title": "",
    "type": "pattern",
    "content": "",
    "tags": [],
    "project": "",
    "confidence": 3,
    "memory_type": "episodic",
    "status": "active",
}


@dataclass(frozen=True, slots=True)
class EntryOutcome:
    """Why a form is shown again."""

    error: CallError | None = None
    diff: list[str] = field(default_factory=list)
    is_conflict: bool = False


async def show_new(page: Page) -> Response:
    """Show an empty form."""
    return _render(page, None, EMPTY, EntryOutcome())


async def show_edit(page: Page) -> Response:
    """Show the form of an entry."""
    entry = await page.ask("rekall_show", {"id": page.parameter("identity")})
    return _render(page, entry, _values(entry), EntryOutcome())


async def create(page: Page) -> Response:
    """Add an entry."""
    form = await page.form()
    values = read_values(form)
    given = {
        name: value
        for name, value in values.items()
        if name != "status" and (value or name in ("title", "confidence"))
    }
    answer = await page.call("rekall_add", {**given, **_context(form)})
    if answer.error is not None:
        outcome = EntryOutcome(answer.error)
        return _render(page, None, {**values, "context": form.text("context")}, outcome, 422)
    output = answer.output
    notes = [str(output.get("hint") or ""), *output.get("warnings", ())]
    if output.get("secrets_masked"):
        notes.append(f"Secrets were masked: {', '.join(output['secrets_masked'])}.")
    text = " ".join(["Added." if output["created"] else "Not added again.", *filter(None, notes)])
    return page.redirect(
        f"/memory/{quote_path(output['id'])}", Flash(text, saved_draft="new-memory")
    )


def _context(form: FormData) -> dict[str, str]:
    return {"context": form.text("context")} if form.text("context") else {}


async def save(page: Page) -> Response:
    """Correct an entry, unless somebody else changed it meanwhile."""
    form = await page.form()
    entry = await page.ask("rekall_show", {"id": page.parameter("identity")})
    saved, values = _values(entry), read_values(form)
    if form.text("base") != entry["updated_at"]:
        outcome = EntryOutcome(
            diff=compare_fields(saved, values, FIELDS, "content"), is_conflict=True
        )
        return _render(page, entry, values, outcome, 409)
    changed = {name: values[name] for name in FIELDS if values[name] != saved[name]}
    path, draft = f"/memory/{quote_path(entry['id'])}", f"memory:{entry['id']}"
    if not changed:
        return page.redirect(path, Flash("Nothing was changed.", "warn", saved_draft=draft))
    answer = await page.call("memory_update", {"id": entry["id"], **changed})
    if answer.error is not None:
        return _render(page, entry, values, EntryOutcome(answer.error), 422)
    return page.redirect(path, Flash("Corrected", saved_draft=draft))


def _render(
    page: Page,
    entry: Mapping[str, Any] | None,
    values: Mapping[str, Any],
    outcome: EntryOutcome,
    status: int = 200,
) -> Response:
    return page.render(
        "pages/memory/edit.html",
        status,
        here="/memory",
        entry=entry,
        values={"context": "", **values},
        outcome=outcome,
        types=TYPES,
        states=STATES,
        memory_types=MEMORY_TYPES,
        back=url("/memory") if entry is None else memory_url(entry["id"]),
    )


def _values(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an entry as a form returns them."""
    values = {name: entry[name] for name in FIELDS}
    content = str(entry["content"]).replace("\r\n", "\n")
    return {**values, "project": entry["project"] or "", "content": content}


def read_values(form: FormData) -> dict[str, Any]:
    """Return the fields of the form; a confidence that is not a number stays a text."""
    confidence = form.text("confidence", "3")
    return {
        "title": form.text("title"),
        "type": form.text("type"),
        "content": form.text("content"),
        "tags": [tag.strip() for tag in form.text("tags").split(",") if tag.strip()],
        "project": form.text("project").strip(),
        "confidence": int(confidence) if confidence in LEVELS else confidence,
        "memory_type": form.text("memory_type", "episodic"),
        "status": form.text("status", "active"),
    }
