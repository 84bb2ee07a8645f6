"""One instruction: its text, facts, relations, governance and history."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from commonplace.console.caller import CallError
from commonplace.console.flash import Flash
from commonplace.console.page import Page
from commonplace.console.pages.instructions import rules
from commonplace.console.pages.instructions.permission import find_permission
from commonplace.console.pages.instructions.review import review_url
from commonplace.console.rendering import quote_path

VIEWS = {"": "Text", "source": "Source", "history": "History", "governance": "Governance"}
HISTORY_LIMIT = 20
MAX_HISTORY_LIMIT = 50
MAX_NEIGHBOURS = 8
BUMPS = ("none", "patch", "minor", "major")
CLASSIFICATIONS = ("public", "internal", "restricted")
GOVERNED = ("owner", "status", "classification", "priorityTier", "nextReviewDue")
FACTS = (
    ("audience", "Audience"),
    ("owner", "Owner"),
    ("classification", "Classification"),
    ("reviewIntervalDays", "Review interval in days"),
    ("workspaceId", "Workspace"),
    ("userId", "User"),
    ("teamIds", "Teams"),
    ("appliesTo", "Applies to"),
    ("languages", "Languages"),
    ("activation", "Activation"),
    ("semanticSummary", "Summary"),
    ("rationale", "Rationale"),
)
RELATIONS = (
    ("supersedes", "Replaces"),
    ("deprecatedBy", "Replaced by"),
    ("conflictsWith", "Contradicts"),
)


async def show(page: Page) -> Response:
    """Show an instruction, or the history of one that was removed."""
    view = page.query("view")
    return await _render(page, view if view in VIEWS else "")


async def _render(
    page: Page,
    view: str,
    governance: Mapping[str, str] | None = None,
    error: CallError | None = None,
) -> Response:
    """Render a view; `governance` is what a person typed if it could not be saved."""
    identity = page.parameter("identity")
    wanted = {"id": identity, "limit": _history_limit(page), "full": True}
    answer, history, permission = await asyncio.gather(
        page.ask("instructions_get", {"id": identity}),
        page.call("instructions_history", wanted),
        find_permission(page),
    )
    changes = history.output if history.ok else {"changes": [], "count": 0}
    archived = answer.get("archived")
    if archived:
        answer = await page.ask("instructions_get", {"id": identity, "archived": True})
    if answer.get("notFound"):
        return page.render(
            "pages/instructions/missing.html",
            404,
            here="/instructions",
            identity=identity,
            permission=permission,
            history=changes,
        )
    item = answer["item"]
    neighbours = [] if view else await _find_neighbours(page, item)
    return page.render(
        "pages/instructions/entry.html",
        200 if error is None else 422,
        error=error,
        governance={**item, **(governance or {})},
        here="/instructions",
        identity=item["id"],
        item=item,
        view=view,
        tabs=[
            (title, rules.instruction_url(item["id"], view=name), name == view)
            for name, title in VIEWS.items()
        ],
        permission=permission,
        history=changes,
        history_limit=MAX_HISTORY_LIMIT,
        facts=[(title, _fact(item.get(name))) for name, title in FACTS] + _origin(item),
        relations=_relations(item),
        neighbours=neighbours,
        states=rules.STATES,
        tiers=rules.TIERS,
        bumps=BUMPS,
        classifications=CLASSIFICATIONS,
        confirm=page.query("confirm"),
        archived=bool(archived),
        review_url=review_url(item["id"]),
        is_waiting=await _is_waiting(page, item),
    )


async def _is_waiting(page: Page, item: Mapping[str, Any]) -> bool:
    """Tell whether a change of an instruction waits for a review, or it was never approved."""
    answer = await page.call("instructions_review_show", {"id": item["id"]})
    return answer.ok


def _history_limit(page: Page) -> int:
    return min(MAX_HISTORY_LIMIT, page.number("changes", HISTORY_LIMIT))


def _fact(value: object) -> object:
    return ", ".join(str(part) for part in value) if isinstance(value, list) else value


def _origin(item: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the file that an instruction was imported from."""
    origin = item.get("origin")
    if not isinstance(origin, dict):
        return []
    return [("Imported from", f"{origin['file']}, line {origin.get('line', 1)}")]


def _relations(item: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return the instructions that an instruction names: title, id and address."""
    found = []
    for name, title in RELATIONS:
        value = item.get(name)
        for other in value if isinstance(value, list) else [value] if value else ():
            found.append((title, str(other), rules.instruction_url(str(other))))
    return found


async def _find_neighbours(page: Page, item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return a few other instructions of the same primary category."""
    answer = await page.call(
        "instructions_query",
        {"filters": {"categories": [item["primaryCategory"]]}, "limit": MAX_NEIGHBOURS + 1},
    )
    if not answer.ok:
        return []
    others = [other for other in answer.output["items"] if other["id"] != item["id"]]
    return others[:MAX_NEIGHBOURS]


async def remove(page: Page) -> Response:
    """Remove an instruction; the message offers to bring it back."""
    await page.form()
    return page.redirect("/instructions", await rules.remove(page, [page.parameter("identity")]))


async def restore(page: Page) -> Response:
    """Take a change back: the one that the form names, or the latest."""
    form = await page.form()
    identity = page.parameter("identity")
    arguments: dict[str, Any] = {"id": identity}
    change = form.text("change")
    if change.isascii() and change.isdigit():
        arguments["change"] = int(change[:9])
    if form.text("expected"):
        arguments["expectedHash"] = form.text("expected")
    answer = await page.call("instructions_restore", arguments)
    path = f"/instructions/{quote_path(identity)}"
    if answer.error is not None:
        return page.redirect(path, Flash(_problem(answer.error), "bad"))
    if answer.output.get("removed"):
        return page.redirect("/instructions", Flash(f"Undone: {identity} is removed again."))
    return page.redirect(path, Flash("Undone"))


async def change_governance(page: Page) -> Response:
    """Change owner, status, tier, classification or dates of an instruction."""
    form = await page.form()
    identity = page.parameter("identity")
    path = f"/instructions/{quote_path(identity)}"
    patch: dict[str, Any] = {name: form.text(name) for name in GOVERNED if form.text(name)}
    interval = form.text("reviewIntervalDays")
    if interval:
        patch["reviewIntervalDays"] = int(interval) if interval.isdecimal() else interval
    if "nextReviewDue" in patch and len(patch["nextReviewDue"]) == len("2026-01-01"):
        patch["nextReviewDue"] += "T00:00:00.000Z"
    arguments: dict[str, Any] = {"id": identity, "patch": patch}
    if form.text("bump") in BUMPS:
        arguments["bump"] = form.text("bump")
    if form.text("expected"):
        arguments["expectedHash"] = form.text("expected")
    answer = await page.call("instructions_governance_update", arguments)
    if answer.error is not None:
        typed = {name: form.text(name) for name in (*GOVERNED, "reviewIntervalDays", "bump")}
        return await _render(page, "governance", typed, answer.error)
    if not answer.output.get("changed"):
        return page.redirect(path, Flash("Nothing was changed.", "warn"), view="governance")
    flash = Flash(
        f"Saved as version {answer.output['newVersion']}",
        undo=rules.undo_of({identity: str(answer.output.get("governanceHash", ""))}),
        saved_draft=f"governance:{identity}",
    )
    return page.redirect(path, flash, view="governance")


def _problem(error: Mapping[str, Any]) -> str:
    return f"{error['message']} {error.get('hint') or ''}".strip()
