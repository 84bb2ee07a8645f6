"""Governance: reviews, what can be brought back, gates, and reviews that are overdue."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from commonplace.console.flash import Flash
from commonplace.console.page import Page
from commonplace.console.pages.cells import day
from commonplace.console.pages.instructions import rules
from commonplace.console.pages.instructions.kept import find_kept
from commonplace.console.pages.instructions.permission import Permission
from commonplace.console.pages.instructions.review import find_queue
from commonplace.console.pages.instructions.tabs import render_tab
from commonplace.console.rendering import quote_path, url

MAX_LINES = 10  # of one kind
MAX_BARS = 8
DIVISIONS = (
    ("status", "Status"),
    ("priorityTier", "Tier"),
    ("requirement", "Requirement"),
    ("owner", "Owner"),
    ("classification", "Classification"),
)
COLUMNS = (
    {"key": "id", "title": "Id", "kind": "id"},
    {"key": "title", "title": "Title", "kind": "text"},
    {"key": "owner", "title": "Owner"},
    {"key": "tier", "title": "Tier"},
    {"key": "due", "title": "Due since", "kind": "time"},
)
STALE_COLUMNS = (
    {"key": "id", "title": "Id", "kind": "id"},
    {"key": "title", "title": "Title", "kind": "text"},
    {"key": "owner", "title": "Owner"},
    {"key": "status", "title": "Status"},
    {"key": "lessons", "title": "Lessons", "kind": "text"},
)
GATES_EXAMPLE = """{
  "gates": [
    {"id": "some-mandatory-rule", "type": "count", "where": {"requirement": "mandatory"},
     "op": ">=", "value": 1, "severity": "error", "description": "At least one rule is mandatory."}
  ]
}"""


async def show_governance(page: Page, permission: Permission) -> Response:
    """Show the state of the catalogue; `verify` in the address also checks all hashes."""
    number = page.number("page", 1)
    offset = (number - 1) * rules.PAGE_SIZE
    queue, kept, gates, health, reviews, digest = await asyncio.gather(
        find_queue(page),
        find_kept(page),
        page.call("gates_evaluate", {}),
        page.call("instructions_health", {}),
        page.call("instructions_reviews", {"limit": rules.PAGE_SIZE, "offset": offset}),
        page.call("instructions_governance_hash", {}),
    )
    verified = await page.call("integrity_verify", {}) if page.query("verify") else None
    due = reviews.output["items"] if reviews.ok else ()
    return await render_tab(
        page,
        "governance",
        permission,
        queue=queue,
        kept=kept,
        gates=gates,
        gates_example=GATES_EXAMPLE,
        health=health,
        unread=find_unread(health.output) if health.ok else [],
        reviews=reviews,
        digest=digest.output["governanceHash"] if digest.ok else "",
        verified=verified,
        bars=make_bars(reviews.output) if reviews.ok else [],
        columns=COLUMNS,
        rows=[_row(item) for item in due],
        stale_columns=STALE_COLUMNS,
        stale=[_stale_row(rule) for rule in reviews.output["staleLessons"]] if reviews.ok else [],
        number=number,
        page_size=rules.PAGE_SIZE,
        page_url=lambda wanted: url("/instructions", tab="governance", page=wanted),
    )


def _row(item: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": item["id"],
        "href": rules.instruction_url(item["id"]),
        "title": item.get("title"),
        "owner": item.get("owner"),
        "tier": item.get("priorityTier"),
        "due": day(item.get("nextReviewDue")),
    }


def _stale_row(rule: Mapping[str, Any]) -> dict[str, Any]:
    stale = ", ".join(f"{count} {reason}" for reason, count in rule["stale"].items())
    return {
        "id": rule["id"],
        "href": rules.instruction_url(rule["id"]),
        "title": rule["title"],
        "owner": rule["owner"],
        "status": rule["status"],
        "lessons": f"{stale} of {rule['lessons']}",
    }


def find_unread(health: Mapping[str, Any]) -> list[str]:
    """Return sentences about files and values that the server cannot read as written."""
    rejected = health.get("rejectedFiles", ())
    values = health.get("unreadableValues", ())
    lines = [
        f"{file['file']} is not served: {file['detail'] or file['reason']}"
        for file in rejected[:MAX_LINES]
    ]
    lines += [
        f"{value['id']}, {value['field']}: {value['problem']}" for value in values[:MAX_LINES]
    ]
    folders = health.get("ignoredFolders", ())
    if folders:
        lines.append(f"Files in subfolders are not read: {', '.join(folders[:MAX_LINES])}")
    lines += [f"{name}: {text}" for name, text in health.get("configurationProblems", {}).items()]
    if health.get("writeProblem"):
        lines.append(str(health["writeProblem"]))
    left_out = health.get("unreadableCount", 0) - len(values[:MAX_LINES])
    left_out += health.get("rejectedCount", 0) - len(rejected[:MAX_LINES])
    if left_out > 0:
        lines.append(f"{left_out:,} more: commonplace instructions lint lists all.")
    return lines


def make_bars(reviews: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return how the catalogue divides: the largest parts of each division."""
    total = max(1, reviews["total"])
    bars = []
    for name, title in DIVISIONS:
        counts = list(reviews["counts"].get(name, {}).items())
        parts = [(part, count, count / total) for part, count in counts[:MAX_BARS]]
        bars.append({"title": title, "parts": parts, "more": max(0, len(counts) - MAX_BARS)})
    return bars


async def review_selected(page: Page) -> Response:
    """Mark the selected instructions as reviewed now."""
    form = await page.form()
    ids = list(dict.fromkeys(form.texts("ids")))[: rules.MAX_SELECTED]
    if not ids:
        text = "Tick the instructions that were reviewed."
        return page.redirect("/instructions", Flash(text, "warn"), tab="governance")
    flash = await rules.mark_reviewed(page, ids)
    if form.has("entry"):
        return page.redirect(f"/instructions/{quote_path(ids[0])}", flash, view="governance")
    return page.redirect("/instructions", flash, tab="governance")
