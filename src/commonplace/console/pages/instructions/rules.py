"""The list of instructions: search, filters, order, pages, and actions on selected rows."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

from starlette.responses import Response

from commonplace.console.caller import Answer
from commonplace.console.flash import Flash, Undo
from commonplace.console.live import stream_parts
from commonplace.console.page import Page
from commonplace.console.pages.cells import day, status_tag
from commonplace.console.pages.instructions.permission import Permission
from commonplace.console.pages.instructions.tabs import render_tab
from commonplace.console.rendering import quote_path, render, url
from commonplace.kernel.clock import iso, utc_now

PAGE_SIZE = 25
MAX_SELECTED = 100
MAX_RANKED = 1000  # a search returns no more
MAX_CATEGORIES = 500
LIVE_SECONDS = 5.0
STATES = ("draft", "review", "approved", "deprecated")
TIERS = ("P1", "P2", "P3", "P4")
REQUIREMENTS = ("mandatory", "critical", "recommended", "optional", "deprecated")
FILTERS = {
    "category": "categories",
    "status": "status",
    "tier": "priorityTiers",
    "requirement": "requirements",
    "owner": "owners",
}
SORTS = {"title": "title", "priority": "priority", "updated": "updatedAt", "created": "createdAt"}
COLUMNS = (
    {"key": "id", "title": "Id", "kind": "id", "sort": "id"},
    {"key": "title", "title": "Title", "kind": "text", "sort": "title"},
    {"key": "tier", "title": "Tier", "sort": "priority"},
    {"key": "status", "title": "Status"},
    {"key": "requirement", "title": "Requirement"},
    {"key": "owner", "title": "Owner"},
    {"key": "due", "title": "Review due", "kind": "time"},
    {"key": "updated", "title": "Changed", "kind": "time", "sort": "updated"},
)


async def show_rules(page: Page, permission: Permission) -> Response:
    """Show one page of the instructions that match."""
    number = page.number("page", 1)
    chosen = {name: page.query(name) for name in ("q", *FILTERS, "sort", "dir")}
    categories, answer = await asyncio.gather(
        page.call("instructions_categories", {}),
        _search(page, chosen, number)
        if _is_ranked(chosen)
        else page.call("instructions_query", _arguments(chosen, number)),
    )
    named = None
    if answer.ok and chosen["q"] and not any(chosen[name] for name in FILTERS) and number == 1:
        named = await _find_by_id(page, chosen["q"])
    known = categories.output["categories"] if categories.ok else ()
    return await render_tab(
        page,
        "rules",
        permission,
        chosen=chosen,
        categories=[category["name"] for category in known][:MAX_CATEGORIES],
        states=STATES,
        tiers=TIERS,
        requirements=REQUIREMENTS,
        error=answer.error,
        columns=COLUMNS,
        is_narrowed=any(chosen[name] for name in ("q", *FILTERS)),
        sort_url=lambda sort: _sort_url(chosen, sort),
        page_url=lambda wanted: url("/instructions", **chosen, page=wanted),
        page_size=PAGE_SIZE,
        number=number,
        **_result(answer.output if answer.ok else None, named),
    )


def _is_ranked(chosen: Mapping[str, str]) -> bool:
    """Tell whether the best matches come first: a search without an order of its own."""
    return bool(chosen["q"]) and not any(
        chosen[name] for name in ("sort", "tier", "requirement", "owner")
    )


async def _search(page: Page, chosen: Mapping[str, str], number: int) -> Answer:
    """Return one page of a search, in the shape of a query."""
    arguments: dict[str, Any] = {
        argument: [chosen[name]]
        for name, argument in FILTERS.items()
        if name in ("category", "status") and chosen[name]
    }
    arguments |= {"q": chosen["q"], "limit": min(number * PAGE_SIZE, MAX_RANKED), "full": True}
    answer = await page.call("instructions_search", arguments)
    if not answer.ok:
        return answer
    first = (number - 1) * PAGE_SIZE
    shown = answer.output["items"][first : first + PAGE_SIZE]
    return replace(
        answer, output={**answer.output, "items": shown, "total": answer.output["count"]}
    )


def _arguments(chosen: Mapping[str, str], number: int) -> dict[str, Any]:
    filters: dict[str, Any] = {
        argument: [chosen[name]] for name, argument in FILTERS.items() if chosen[name]
    }
    if chosen["q"]:
        filters["text"] = chosen["q"]
    arguments: dict[str, Any] = {
        "filters": filters,
        "limit": PAGE_SIZE,
        "offset": (number - 1) * PAGE_SIZE,
        "full": True,
    }
    if chosen["sort"] in SORTS:
        direction = "desc" if chosen["dir"] == "desc" else "asc"
        arguments["sort"] = {"field": SORTS[chosen["sort"]], "direction": direction}
    return arguments


def _sort_url(chosen: Mapping[str, str], sort: str) -> str:
    is_turned = sort == chosen["sort"] and chosen["dir"] != "desc" and sort in SORTS
    wanted = {**chosen, "sort": "" if sort == "id" else sort, "dir": "desc" if is_turned else ""}
    return url("/instructions", **wanted)


async def _find_by_id(page: Page, query: str) -> dict[str, Any] | None:
    """Return the instruction whose id was typed: the search reads titles and bodies."""
    answer = await page.call("instructions_get", {"id": query[:400]})
    item: dict[str, Any] | None = answer.output.get("item") if answer.ok else None
    return item


def _result(found: Mapping[str, Any] | None, named: dict[str, Any] | None) -> dict[str, Any]:
    if found is None:
        return {"rows": [], "total": 0, "catalogue_hash": ""}
    items = [item for item in found["items"] if named is None or item["id"] != named["id"]]
    is_extra = named is not None and len(items) == len(found["items"])
    shown = ([named] if named is not None else []) + items
    return {
        "rows": [make_row(item) for item in shown],
        "total": found["total"] + is_extra,
        "catalogue_hash": found["hash"],
    }


def make_row(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cells of an instruction."""
    return {
        "id": item["id"],
        "href": instruction_url(item["id"]),
        "title": item.get("title"),
        "tier": item.get("priorityTier"),
        "status": status_tag(item.get("status")),
        "requirement": item.get("requirement"),
        "owner": item.get("owner"),
        "due": day(item.get("nextReviewDue")),
        "updated": day(item.get("updatedAt")),
    }


def instruction_url(identity: str, **query: object) -> str:
    """Return the address of an instruction."""
    return url(f"/instructions/{quote_path(identity)}", **query)


def read_back(text: str) -> dict[str, str]:
    """Return the filters of the list that a form came from; other parameters are left out."""
    names = {"q", *FILTERS, "sort", "dir", "page"}
    return {name: value for name, value in parse_qsl(text) if name in names}


async def stream_news(page: Page) -> Response:
    """Tell an open list that the catalogue has changed, without moving its rows."""
    shown_hash = page.query("hash")

    async def render_parts() -> Mapping[str, str]:
        answer = await page.call("instructions_list", {"limit": 1})
        is_changed = answer.ok and answer.output["hash"] != shown_hash
        html = render(
            page.parts.environment,
            "pages/instructions/news.html",
            {
                "is_changed": is_changed,
                "address": url("/instructions", **read_back(page.query("back"))),
            },
        )
        return {"catalogue-news": html}

    return stream_parts(page, render_parts, LIVE_SECONDS)


async def change_selected(page: Page) -> Response:
    """Mark the selected instructions as reviewed, or ask before removing them."""
    form = await page.form()
    ids = list(dict.fromkeys(form.texts("ids")))[:MAX_SELECTED]
    back = read_back(form.text("back"))
    if not ids:
        return page.redirect(
            "/instructions", Flash("Tick the instructions first.", kind="warn"), **back
        )
    if form.text("action") == "review":
        return page.redirect("/instructions", await mark_reviewed(page, ids), **back)
    if not form.has("confirmed"):
        return page.render(
            "pages/instructions/confirm_removal.html",
            here="/instructions",
            ids=ids,
            back=form.text("back"),
            back_url=url("/instructions", **back),
        )
    return page.redirect("/instructions", await remove(page, ids), **back)


async def mark_reviewed(page: Page, ids: list[str]) -> Flash:
    """Set the time of the last review to now; the tier decides when the next one is due."""
    now = iso(utc_now())
    done: dict[str, str] = {}
    for identity in ids:
        answer = await page.call(
            "instructions_governance_update", {"id": identity, "patch": {"lastReviewedAt": now}}
        )
        if answer.error is not None:
            return Flash(
                f"{len(done)} marked as reviewed. {identity}: {answer.error['message']}", "bad"
            )
        done[identity] = str(answer.output.get("governanceHash", ""))
    return Flash(f"{len(done)} marked as reviewed", undo=undo_of(done))


async def remove(page: Page, ids: list[str]) -> Flash:
    """Remove instructions; the message offers to bring them back."""
    answer = await page.call(
        "instructions_remove", {"ids": ids, "confirm": True, "missingOk": True}
    )
    if answer.error is not None:
        return Flash(f"{answer.error['message']} {answer.error.get('hint') or ''}".strip(), "bad")
    removed = answer.output["removedIds"]
    failed = "".join(f" {error['id']}: {error['error']}" for error in answer.output["errors"][:3])
    what = removed[0] if len(removed) == 1 else f"{len(removed)} instructions"
    undo = undo_of(dict.fromkeys(removed, "")) if removed else None
    return Flash(f"Removed {what}.{failed}", "bad" if failed else "good", undo)


def undo_of(changed: Mapping[str, str]) -> Undo:
    """Return the form that takes the latest change of instructions back.

    `changed` contains the hash of each after the change, or an empty text. An instruction with
    another hash was changed again, so that the form does not take the newer change back.
    """
    ids = (f"{identity}={hash_}" if hash_ else identity for identity, hash_ in changed.items())
    return Undo(url("/undo-instructions"), {"ids": ",".join(ids)})


async def undo_changes(page: Page) -> Response:
    """Take the latest change of each instruction back."""
    form = await page.form()
    changed = [part.partition("=") for part in form.text("ids").split(",") if part]
    ids = [identity for identity, _, _ in changed][:MAX_SELECTED]
    for count, (identity, _, hash_) in enumerate(changed[:MAX_SELECTED]):
        expected = {"expectedHash": hash_} if hash_ else {}
        answer = await page.call("instructions_restore", {"id": identity, **expected})
        if answer.error is not None:
            text = f"{count} of {len(ids)} undone. {identity}: {answer.error['message']}"
            return page.redirect("/instructions", Flash(text, "bad"))
    if len(ids) == 1:
        return page.redirect(f"/instructions/{quote_path(ids[0])}", Flash("Undone"))
    return page.redirect("/instructions", Flash(f"{len(ids)} changes undone"))
