"""Suggestions: pairs and groups of entries that seem to belong together or to disagree."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from commonplace.console.flash import Flash
from commonplace.console.page import Page
from commonplace.console.pages.memory.entries import memory_url, render_tab

MAX_SUGGESTIONS = 20
MAX_TEXTS = 60  # entries whose text is read for the page
MAX_CHARS = 600
DECISIONS = {"accept": "rekall_accept_suggestion", "reject": "rekall_reject_suggestion"}


async def show_suggestions(page: Page) -> Response:
    """Show the pending suggestions with the text of both sides."""
    links, groups = await asyncio.gather(
        page.call("rekall_suggest_links", {"limit": MAX_SUGGESTIONS}),
        page.call("rekall_suggest_generalize", {"limit": MAX_SUGGESTIONS}),
    )
    pairs = links.output["suggestions"] if links.ok else []
    clusters = groups.output["suggestions"] if groups.ok else []
    found = [(pair, [pair["entry_a"], pair["entry_b"]]) for pair in pairs]
    found += [(cluster, cluster["entries"]) for cluster in clusters]
    ids = list(dict.fromkeys(side["id"] for _, sides in found for side in sides))[:MAX_TEXTS]
    texts = dict(zip(ids, await asyncio.gather(*(_read(page, id_) for id_ in ids)), strict=True))
    return render_tab(
        page,
        "suggestions",
        error=links.error or groups.error,
        suggestions=[_make_card(suggestion, sides, texts) for suggestion, sides in found],
        total=sum(answer.output["total_pending"] for answer in (links, groups) if answer.ok),
    )


def _make_card(
    suggestion: Mapping[str, Any], sides: list[Mapping[str, Any]], texts: Mapping[str, str]
) -> dict[str, Any]:
    return {
        "id": suggestion["id"],
        "reason": suggestion["reason"],
        "score": suggestion["score"],
        "kind": suggestion.get("suggestion_type", "generalize"),
        "sides": [
            {
                "title": side["title"],
                "address": memory_url(side["id"]),
                "text": texts.get(side["id"], ""),
            }
            for side in sides
        ],
    }


async def _read(page: Page, identity: str) -> str:
    answer = await page.call("rekall_show", {"id": identity})
    if answer.error is not None:
        return str(answer.error.get("message"))
    text = str(answer.output["content"])
    return text if len(text) <= MAX_CHARS else text[:MAX_CHARS] + "…"


async def decide(page: Page) -> Response:
    """Accept or reject a suggestion."""
    form = await page.form()
    tool = DECISIONS.get(form.text("decision"), DECISIONS["reject"])
    answer = await page.call(tool, {"suggestion_id": form.text("id")})
    if answer.error is not None:
        flash = Flash(str(answer.error["message"]), "bad")
    else:
        done = str(answer.output.get("action_taken", "Rejected"))
        command = answer.output.get("generalize_command")
        flash = Flash(f"{done}: {command}" if command else done)
    return page.redirect("/memory", flash, tab="suggestions")
