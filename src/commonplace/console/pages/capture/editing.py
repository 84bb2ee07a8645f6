"""One proposal: read it, change it, decide about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from commonplace.console.caller import CallError
from commonplace.console.flash import Flash
from commonplace.console.form_data import FormData
from commonplace.console.page import Page
from commonplace.console.pages.capture.proposals import KINDS, apply_decision, proposal_path
from commonplace.console.pages.memory.entries import TYPES

FIELDS = ("kind", "type", "title", "content", "tags", "project")


async def show(page: Page) -> Response:
    """Show a proposal, with a form while it waits."""
    item = await page.ask("capture_show", {"id": page.parameter("identity")})
    return _render(page, item, _values(item), None)


async def save(page: Page) -> Response:
    """Save the changes of a proposal, and accept or reject it if that was asked for."""
    form = await page.form()
    item = await page.ask("capture_show", {"id": page.parameter("identity")})
    values, saved = _read(form), _values(item)
    path, draft = proposal_path(item["id"]), f"capture:{item['id']}"
    decision = form.text("decision")
    if decision != "reject" and form.text("base") != item["updated_at"] and values != saved:
        error = {
            "code": "CONFLICT",
            "message": "Somebody changed this proposal meanwhile; nothing was saved.",
            "hint": "Your text is in the form. Compare it with the saved one and save again.",
        }
        return _render(page, item, values, error, 409)
    changed = {name: values[name] for name in FIELDS if values[name] != saved[name]}
    if values["kind"] == "rule":
        changed.pop("type", None)
    if changed and decision != "reject":
        answer = await page.call("capture_edit", {"id": item["id"], **changed})
        if answer.error is not None:
            return _render(page, item, values, answer.error, 422)
    if not decision:
        told = "Saved" if changed else "Nothing was changed."
        return page.redirect(path, Flash(told, "good" if changed else "warn", saved_draft=draft))
    flash = await apply_decision(page, form)
    if flash.kind == "bad":
        return page.redirect(path, Flash(flash.text, "bad", saved_draft=draft))
    return page.redirect("/capture", Flash(flash.text, flash.kind, saved_draft=draft))


def _values(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: item.get(name, "") for name in FIELDS}


def _read(form: FormData) -> dict[str, Any]:
    return {
        "kind": form.text("kind"),
        "type": form.text("type"),
        "title": form.text("title"),
        "content": form.text("content").replace("\r\n", "\n"),
        "tags": [tag.strip() for tag in form.text("tags").split(",") if tag.strip()],
        "project": form.text("project").strip(),
    }


def _render(
    page: Page,
    item: Mapping[str, Any],
    values: Mapping[str, Any],
    error: CallError | None,
    status: int = 200,
) -> Response:
    return page.render(
        "pages/capture/proposal.html",
        status,
        here="/capture",
        item=item,
        values=values,
        error=error,
        kinds=KINDS,
        types=TYPES,
    )
