"""The queue of proposals, page by page, and the decision about each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from commonplace.console.flash import Flash
from commonplace.console.form_data import FormData
from commonplace.console.page import Page
from commonplace.console.rendering import quote_path, url

PAGE_SIZE = 20
STATES = {"pending": "Waiting", "accepted": "Accepted", "rejected": "Rejected"}
KINDS = ("lesson", "rule")
DRAFT = "new-capture"


async def show(page: Page) -> Response:
    """Show the proposals of one state, newest first."""
    state = page.query("state") if page.query("state") in STATES else "pending"
    kind = page.query("kind") if page.query("kind") in KINDS else ""
    number = page.number("page", 1)
    arguments: dict[str, Any] = {
        "state": state,
        "limit": PAGE_SIZE,
        "offset": (number - 1) * PAGE_SIZE,
    }
    answer = await page.call("capture_list", arguments | ({"kind": kind} if kind else {}))
    counts = answer.output["counts"] if answer.ok else {}

    def address(to: int) -> str:
        return url("/capture", state=state, kind=kind or None, page=to)

    return page.render(
        "pages/capture/list.html",
        200,
        here="/capture",
        error=answer.error,
        items=answer.output["items"] if answer.ok else [],
        total=answer.output["total"] if answer.ok else 0,
        tabs=[
            (_title(name, counts), url("/capture", state=name, kind=kind or None), name == state)
            for name in STATES
        ],
        state=state,
        kind=kind,
        kinds=KINDS,
        back=url("/capture", state=state, kind=kind or None, page=number),
        number=number,
        page_size=PAGE_SIZE,
        page_url=address,
    )


def _title(state: str, counts: Mapping[str, Mapping[str, int]]) -> str:
    total = sum(counts.get(state, {}).values())
    return f"{STATES[state]} ({total})" if total else STATES[state]


async def decide(page: Page) -> Response:
    """Accept or reject a proposal."""
    form = await page.form()
    flash = await apply_decision(page, form)
    back = {
        "state": form.text("state") or None,
        "kind": form.text("kind") or None,
        "page": form.text("page") or None,
    }
    return page.redirect("/capture", flash, **back)


async def apply_decision(page: Page, form: FormData) -> Flash:
    """Call the tool of a decision; return what to tell the person."""
    is_accepted = form.text("decision") == "accept"
    tool = "capture_accept" if is_accepted else "capture_reject"
    answer = await page.call(tool, {"id": form.text("id")})
    if answer.error is not None:
        hint = str(answer.error.get("hint") or "")
        return Flash(f"{answer.error['message']} {hint}".strip(), "bad")
    if not is_accepted:
        return Flash("Rejected. It is not proposed again.")
    output = answer.output
    told = [f"Added as {output['result']}." if output["created"] else "It was there already."]
    told += [f"{note[:1].upper()}{note[1:]}." for note in output["notes"]]
    if output["similar"]:
        told.append(f"Similar: {', '.join(output['similar'])}.")
    if output["contradicts"]:
        told.append(f"Contradicts {', '.join(output['contradicts'])}; see the suggestions.")
    return Flash(" ".join(told), "warn" if output["contradicts"] else "good")


async def show_new(page: Page) -> Response:
    """Show the form that takes a transcript."""
    return _render_new(page, {}, None)


async def propose(page: Page) -> Response:
    """Propose lessons and rules from a transcript that a person pasted."""
    form = await page.form()
    values = {"text": form.text("text"), "project": form.text("project").strip()}
    answer = await page.call("capture_transcript", values)
    if answer.error is not None:
        return _render_new(page, values, answer.error, 422)
    output = answer.output
    found, known = len(output["queued"]) + len(output["accepted"]), len(output["duplicates"])
    text = f"{found} new proposals." if found != 1 else "1 new proposal."
    text += f" {known} were known already." if known else ""
    return page.redirect("/capture", Flash(text, "good" if found else "warn", saved_draft=DRAFT))


def _render_new(
    page: Page, values: Mapping[str, str], error: Mapping[str, Any] | None, status: int = 200
) -> Response:
    return page.render(
        "pages/capture/new.html", status, here="/capture", values=values, error=error, draft=DRAFT
    )


def proposal_path(identity: str) -> str:
    """Return the path of a proposal below /console."""
    return f"/capture/{quote_path(identity)}"
