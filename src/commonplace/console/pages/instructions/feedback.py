"""Feedback: what callers said, to read, answer by a status, and add to."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from starlette.responses import Response

from commonplace.console.caller import CallError
from commonplace.console.flash import Flash, Undo
from commonplace.console.page import Page
from commonplace.console.pages.cells import SEVERITY_KINDS
from commonplace.console.pages.instructions.permission import Permission, find_permission
from commonplace.console.pages.instructions.tabs import render_tab
from commonplace.console.rendering import url

PAGE_SIZE = 25
SEVERITIES = ("low", "medium", "high", "critical")
STATES = ("new", "acknowledged", "in-progress", "resolved", "closed")
KINDS = (
    "issue",
    "status",
    "security",
    "feature-request",
    "bug-report",
    "performance",
    "usability",
    "other",
)
OPTIONS = {"status": STATES, "severity": SEVERITIES, "kind": KINDS}
EMPTY = {"type": "issue", "severity": "medium", "title": "", "description": ""}


async def show_feedback(page: Page, permission: Permission) -> Response:
    """Show one page of the feedback that matches."""
    return await _render(page, permission, EMPTY, None)


async def _render(
    page: Page, permission: Permission, typed: Mapping[str, str], error: CallError | None
) -> Response:
    number = page.number("page", 1)
    chosen = {
        name: page.query(name) if page.query(name) in options else ""
        for name, options in OPTIONS.items()
    }
    wanted = {"type" if name == "kind" else name: value for name, value in chosen.items() if value}
    listed, stats = await asyncio.gather(
        page.call(
            "feedback_list", {**wanted, "limit": PAGE_SIZE, "offset": (number - 1) * PAGE_SIZE}
        ),
        page.call("feedback_stats", {}),
    )
    return await render_tab(
        page,
        "feedback",
        Permission(permission.is_granted),
        200 if error is None else 422,
        listed=listed,
        stats=stats.output["stats"] if stats.ok else None,
        chosen=chosen,
        states=STATES,
        severities=SEVERITIES,
        kinds=KINDS,
        severity_kinds=SEVERITY_KINDS,
        typed=typed,
        error=error,
        is_giving=bool(error) or bool(page.query("give")),
        number=number,
        page_size=PAGE_SIZE,
        page_url=lambda wanted: url("/instructions", tab="feedback", page=wanted, **chosen),
    )


async def submit(page: Page) -> Response:
    """Send feedback."""
    form = await page.form()
    typed = {name: form.text(name, default) for name, default in EMPTY.items()}
    answer = await page.call("feedback_submit", typed)
    if answer.error is not None:
        return await _render(page, await find_permission(page), typed, answer.error)
    flash = Flash("Thank you, the feedback was sent.", saved_draft="feedback")
    return page.redirect("/instructions", flash, tab="feedback")


async def change_status(page: Page) -> Response:
    """Set the status of feedback; the message offers the status of before."""
    form = await page.form()
    identity, status, before = form.text("id"), form.text("status"), form.text("before")
    answer = await page.call("feedback_update", {"id": identity, "status": status})
    back = {name: form.text(f"back-{name}") for name in (*OPTIONS, "page")}
    if answer.error is not None:
        flash = Flash(str(answer.error["message"]), "bad")
    elif not answer.output.get("success"):
        flash = Flash("This feedback no longer exists.", "bad")
    else:
        undo = Undo(url("/feedback-status"), {"id": identity, "status": before})
        flash = Flash(f"Now {status}", undo=undo if before in STATES else None)
    return page.redirect("/instructions", flash, tab="feedback", **back)
