"""Promote a lesson to a rule: show what everybody would read, and submit it for review."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from commonplace.console.caller import CallError
from commonplace.console.flash import Flash
from commonplace.console.form_data import FormData
from commonplace.console.page import Page
from commonplace.console.pages.instructions.permission import find_permission
from commonplace.console.rendering import quote_path

LISTS = ("applies_to", "categories")


async def show_promote(page: Page) -> Response:
    """Show the rule that the lesson suggests."""
    return await _render(page, {}, None)


async def promote(page: Page) -> Response:
    """Show the rule again with other fields, or submit what was shown."""
    form = await page.form()
    given = read_rule(form)
    if form.text("action") != "submit":
        return await _render(page, given, None)
    identity = page.parameter("identity")
    answer = await page.call(
        "memory_promote",
        {"entries": [identity], **given, "preview_hash": form.text("preview_hash")},
    )
    if answer.error is not None:
        return await _render(page, given, answer.error)
    path = f"/instructions/{quote_path(answer.output['rule']['id'])}/review"
    return page.redirect(path, Flash("Submitted for review", saved_draft=f"promote:{identity}"))


def read_rule(form: FormData) -> dict[str, Any]:
    """Return the fields of the form that are filled in."""
    given: dict[str, Any] = {
        name: form.text(name).strip() for name in ("id", "title", "body", "description", "owner")
    }
    for name in LISTS:
        parts = (part.strip() for part in form.text(name).split(","))
        given[name] = [part for part in parts if part]
    return {name: value for name, value in given.items() if value}


async def _render(page: Page, given: Mapping[str, Any], error: CallError | None) -> Response:
    identity = page.parameter("identity")
    entry = await page.ask("rekall_show", {"id": identity})
    preview = await page.call("memory_promote", {"entries": [identity], **given})
    rule = preview.output["rule"] if preview.ok else {}
    refused_for = (error or {}).get("details", {}).get("field")
    return page.render(
        "pages/memory/promote.html",
        422 if error is not None or not preview.ok else 200,
        here="/memory",
        entry=entry,
        preview=preview.output if preview.ok else None,
        rule=rule,
        values={**_values(rule), **given},
        error=error or preview.error,
        is_changed=preview.ok and refused_for == "preview_hash",
        permission=await find_permission(page),
    )


def _values(rule: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the form as the preview has them."""
    names = ("id", "title", "body", "description", "owner", "categories")
    return {
        **{name: rule.get(name, "") for name in names},
        "applies_to": rule.get("appliesTo", []),
    }
