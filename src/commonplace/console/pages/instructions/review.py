"""Review of a change: its difference, what is said about it, and the decision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from commonplace.console.caller import CallError
from commonplace.console.flash import Flash
from commonplace.console.page import Page
from commonplace.console.pages.cells import status_tag, tag
from commonplace.console.pages.instructions.permission import find_permission
from commonplace.console.rendering import quote_path, url

MAX_QUEUE = 100
COLUMNS = (
    {"key": "id", "title": "Id", "kind": "id"},
    {"key": "title", "title": "Title", "kind": "text"},
    {"key": "state", "title": "State"},
    {"key": "what", "title": "What"},
    {"key": "by", "title": "Submitted by"},
    {"key": "at", "title": "Since", "kind": "time"},
    {"key": "comments", "title": "Comments", "kind": "num"},
)
DONE = {
    "submit": "Submitted for review",
    "comment": "Comment added",
    "approve": "Approved",
    "return": "Sent back",
    "withdraw": "Withdrawn",
}
EVENTS = {
    "submit": "submitted it",
    "comment": "commented",
    "return": "sent it back",
    "withdraw": "withdrew it",
    "approve": "approved it",
    "promote": "made it from lessons",
}


async def find_queue(page: Page) -> dict[str, Any]:
    """Return what waits, as rows of a table, or the error."""
    answer = await page.call("instructions_review_list", {"state": "all", "limit": MAX_QUEUE})
    if not answer.ok:
        return {"error": answer.error, "rows": [], "total": 0, "columns": COLUMNS}
    rows = [_row(item) for item in answer.output["items"]]
    return {"error": None, "rows": rows, "total": answer.output["count"], "columns": COLUMNS}


def _row(item: Mapping[str, Any]) -> dict[str, Any]:
    proposed = item["kind"] == "proposal"
    return {
        "id": item["id"],
        "href": review_url(item["id"]),
        "title": item["title"],
        "state": tag("sent back", "warn")
        if proposed and item["state"] == "draft"
        else status_tag(item["state"]),
        "what": ("change" if proposed else "new") + (", four eyes" if item["fourEyes"] else ""),
        "by": item.get("submittedBy"),
        "at": str(item.get("submittedAt") or "")[:16].replace("T", " "),
        "comments": item["comments"] or "",
    }


def review_url(identity: str) -> str:
    """Return the address of a review."""
    return url(f"/instructions/{quote_path(identity)}/review")


async def show(page: Page) -> Response:
    """Show the change that waits."""
    return await _render(page)


async def _render(page: Page, note: str = "", error: CallError | None = None) -> Response:
    """Render the page; `note` is what a person typed if it could not be saved."""
    identity = page.parameter("identity")
    answer = await page.call("instructions_review_show", {"id": identity, "full": True})
    if not answer.ok:
        code = (answer.error or {}).get("code")
        text = "Nothing of it waits for a review." if code == "REVIEW_NOT_FOUND" else ""
        flash = Flash(text or str((answer.error or {}).get("message")), "warn")
        return page.redirect(f"/instructions/{quote_path(identity)}", flash)
    review = answer.output
    return page.render(
        "pages/instructions/review.html",
        200 if error is None else 409,
        here="/instructions",
        identity=identity,
        review=review,
        fields=field_lines(review["diff"]["fields"]),
        body=review["diff"]["bodyDiff"].splitlines()[2:],
        events=[
            {**event, "text": EVENTS[event["action"]]}
            for event in review["events"]
            if event["action"] in EVENTS
        ],
        note=note,
        error=error,
        permission=await find_permission(page),
    )


def field_lines(fields: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the fields that differ as lines of a diff."""
    lines = []
    for name, sides in fields.items():
        for sign, value in (("-", sides["from"]), ("+", sides["to"])):
            if value is not None:
                shown = ", ".join(map(str, value)) if isinstance(value, list) else value
                lines.append(f"{sign}{name}: {shown}")
    return lines


async def decide(page: Page) -> Response:
    """Submit, comment, approve, send back or withdraw."""
    form = await page.form()
    identity, action, note = page.parameter("identity"), form.text("action"), form.text("note")
    if action == "comment":
        tool, arguments = "instructions_review_comment", {"id": identity, "text": note}
    elif action == "submit":
        tool, arguments = "instructions_review_submit", {"id": identity, "note": note}
    else:
        tool = "instructions_review_decide"
        arguments = {"id": identity, "decision": action, "note": note}
        if form.text("seen"):
            arguments["reviewHash"] = form.text("seen")
    answer = await page.call(tool, arguments)
    if answer.error is not None:
        return await _render(page, note, answer.error)
    flash = Flash(f"{DONE.get(action, 'Done')}: {identity}", saved_draft=f"review:{identity}")
    if action in ("approve", "withdraw"):
        return page.redirect(f"/instructions/{quote_path(identity)}", flash)
    return page.redirect(f"/instructions/{quote_path(identity)}/review", flash)
