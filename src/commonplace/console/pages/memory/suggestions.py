"""Suggestions: pairs and groups of entries that seem to belong together or to disagree."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from commonplace.console.flash import Flash
from commonplace.console.form_data import FormData
from commonplace.console.page import Page
from commonplace.console.pages.memory.entries import memory_url, render_tab

MAX_SUGGESTIONS = 20
MAX_TEXTS = 60  # entries whose text is read for the page
MAX_CHARS = 600
MAX_TICKED = 1_000
MAX_REFUSED = 3  # reasons in the message
KINDS = ("duplicate", "contradiction", "link", "generalize")
DECISIONS = {"accept": "rekall_accept_suggestion", "reject": "rekall_reject_suggestion"}


async def show_suggestions(page: Page) -> Response:
    """Show the pending suggestions that the filters admit, with the text of all sides."""
    chosen = {name: page.query(name) for name in ("kind", "least", "project")}
    answer = await page.call(
        "memory_decide",
        {**make_filter(chosen), "decision": "reject", "dry_run": True, "limit": MAX_SUGGESTIONS},
    )
    found = answer.output["suggestions"] if answer.ok else []
    ids = dict.fromkeys(side["id"] for suggestion in found for side in suggestion["entries"])
    read = list(ids)[:MAX_TEXTS]
    texts = dict(zip(read, await asyncio.gather(*(_read(page, id_) for id_ in read)), strict=True))
    return render_tab(
        page,
        "suggestions",
        error=answer.error,
        suggestions=[_make_card(suggestion, texts) for suggestion in found],
        total=answer.output["matched"] if answer.ok else 0,
        counts=answer.output["matched_by_type"] if answer.ok else {},
        chosen=chosen,
        kinds=KINDS,
        confirm=page.query("confirm") if page.query("confirm") in DECISIONS else "",
    )


def make_filter(chosen: Mapping[str, str]) -> dict[str, Any]:
    """Return the filters of the page as arguments; what cannot be is left out."""
    arguments: dict[str, Any] = {}
    if chosen["kind"] in KINDS:
        arguments["types"] = [chosen["kind"]]
    if chosen["project"].strip():
        arguments["project"] = chosen["project"]
    with contextlib.suppress(ValueError):
        arguments["min_score"] = min(1.0, max(0.0, float(chosen["least"])))
    return arguments


def _make_card(suggestion: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    return {
        "id": suggestion["id"],
        "reason": suggestion["reason"],
        "score": suggestion["score"],
        "kind": suggestion["type"],
        "sides": [
            {
                "id": side["id"],
                "title": side["title"],
                "address": memory_url(side["id"]),
                "text": texts.get(side["id"], ""),
            }
            for side in suggestion["entries"]
        ],
    }


async def _read(page: Page, identity: str) -> str:
    answer = await page.call("rekall_show", {"id": identity})
    if answer.error is not None:
        return str(answer.error.get("message"))
    text = str(answer.output["content"])
    return text if len(text) <= MAX_CHARS else text[:MAX_CHARS] + "…"


async def decide(page: Page) -> Response:
    """Accept or reject a suggestion, or let one side of a contradiction replace the other."""
    form = await page.form()
    if form.text("holds"):
        return await _supersede(page, form)
    tool = DECISIONS.get(form.text("decision"), DECISIONS["reject"])
    answer = await page.call(tool, {"suggestion_id": form.text("id")})
    if answer.error is not None:
        flash = Flash(str(answer.error["message"]), "bad")
    else:
        done = str(answer.output.get("action_taken", "Rejected"))
        command = answer.output.get("generalize_command")
        flash = Flash(f"{done}: {command}" if command else done)
    return page.redirect("/memory", flash, tab="suggestions", **_filters(form))


async def _supersede(page: Page, form: FormData) -> Response:
    """Let the entry that holds supersede the other one, which settles their contradiction."""
    link = {"source_id": form.text("holds"), "target_id": form.text("other")}
    answer = await page.call("rekall_link", {**link, "relation_type": "supersedes"})
    if answer.error is not None:
        flash = Flash(str(answer.error["message"]), "bad")
    else:
        titles = (str(answer.output[end]["title"]) for end in ("source", "target"))
        flash = Flash("{} replaces {}".format(*titles))
    return page.redirect("/memory", flash, tab="suggestions", **_filters(form))


async def decide_many(page: Page) -> Response:
    """Accept or reject the ticked suggestions, or all that the filters admit."""
    form = await page.form()
    chosen = _filters(form)
    decision = "accept" if form.text("decision") == "accept" else "reject"
    arguments = make_filter(chosen)
    if form.text("which") != "all":
        arguments = {"ids": form.texts("ids")[:MAX_TICKED]}
        if not arguments["ids"]:
            flash = Flash("Tick the suggestions to decide.", "warn")
            return page.redirect("/memory", flash, tab="suggestions", **chosen)
    answer = await page.call("memory_decide", {**arguments, "decision": decision})
    if answer.error is not None:
        flash = Flash(str(answer.error["message"]), "bad")
    else:
        flash = Flash(_describe(answer.output), "warn" if answer.output.get("refused") else "good")
    return page.redirect("/memory", flash, tab="suggestions", **chosen)


def _filters(form: FormData) -> dict[str, str]:
    return {name: form.text(name) for name in ("kind", "least", "project")}


def _describe(output: Mapping[str, Any]) -> str:
    parts = [f"{output['decided']} {output['decision']}"]
    if output["links_created"]:
        parts.append(f"{output['links_created']} linked")
    if output["merged"]:
        parts.append(f"{output['merged']} merged")
    refused = [f"{each['id']}: {each['reason']}" for each in output.get("refused", ())]
    return ". ".join([", ".join(parts), *refused[:MAX_REFUSED]])
