"""One entry of the memory: its text, facts, links and what is around it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from commonplace.console.caller import CallError
from commonplace.console.page import Page
from commonplace.console.pages.memory.drawing import draw_links, name_nodes
from commonplace.console.pages.memory.entries import memory_url
from commonplace.console.rendering import url
from commonplace.kernel.hidden_characters import reveal

DEPTH = 2
MAX_NODES = 60
MAX_FOUND = 8
RELATIONS = ("related", "supersedes", "derived_from", "contradicts")
VERBS = {"related": "is related to", "supersedes": "replaces", "derived_from": "comes from"}


async def show(page: Page) -> Response:
    """Show an entry."""
    identity = page.parameter("identity")
    answer, related = await asyncio.gather(
        page.call("rekall_show", {"id": identity}),
        page.call("memory_related", {"id": identity, "depth": DEPTH}),
    )
    if answer.error is not None:
        is_missing = answer.error.get("code") == "ENTRY_NOT_FOUND"
        return page.render(
            "pages/memory/missing.html",
            404 if is_missing else 200,
            here="/memory",
            error=answer.error,
            is_missing=is_missing,
        )
    entry = answer.output
    nodes, source = draw_around(entry, related.output) if related.ok else ({}, "")
    names = name_nodes(nodes)
    return page.render(
        "pages/memory/entry.html",
        here="/memory",
        entry=entry,
        verb=find_verb,
        strength=describe_strength,
        can_draw=page.parts.assets.has("mermaid.js"),
        source=source,
        nodes=[(names[key], title, memory_url(key)) for key, title in nodes.items()],
        is_cut=related.ok and related.output["truncated"],
        is_raw=page.query("view") == "raw",
        confirm=page.query("confirm"),
    )


def describe_strength(reliability: Mapping[str, Any] | None) -> str:
    """Return the strength of an entry with the reports behind it."""
    if not reliability:
        return ""
    reports = f"{reliability['confirmed']} confirmed, {reliability['refuted']} refuted"
    return f"{reliability['strength']:.2f} of 1 ({reports})"


def find_verb(relation: str) -> str:
    """Return a relation as part of a sentence."""
    return VERBS.get(relation, relation)


def draw_around(entry: Mapping[str, Any], related: Mapping[str, Any]) -> tuple[dict[str, str], str]:
    """Return the titles of the entries around an entry by id, and the drawing."""
    if not related["links"]:
        return {}, ""
    nodes = {entry["id"]: reveal(entry["title"])}
    nodes |= {node["id"]: reveal(node["title"]) for node in related["entries"][:MAX_NODES]}
    links = [
        (link["source_id"], link["target_id"], link["relation_type"]) for link in related["links"]
    ]
    return nodes, draw_links(nodes, links, entry["id"])


async def show_link(page: Page) -> Response:
    """Show the form that links an entry to another one, found by words."""
    return await render_link(page, None)


async def render_link(
    page: Page, error: CallError | None, query: str | None = None, relation: str = ""
) -> Response:
    """Render the form; `error` says why the entry could not be linked."""
    identity = page.parameter("identity")
    entry = await page.ask("rekall_show", {"id": identity})
    wanted = page.query("q") if query is None else query
    found = await page.call("rekall_search", {"query": wanted or " ", "limit": MAX_FOUND})
    others = found.output["results"] if found.ok else []
    return page.render(
        "pages/memory/link.html",
        200 if error is None else 422,
        here="/memory",
        entry=entry,
        error=error or found.error,
        query=wanted,
        relation=relation or page.query("relation") or "related",
        relations=RELATIONS,
        others=[other for other in others if other["id"] != entry["id"]],
        address=url(f"{page.path}"),
    )
