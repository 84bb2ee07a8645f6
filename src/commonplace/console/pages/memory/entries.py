"""The page Memory: entries by search and filters, stale and deleted ones, page by page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from starlette.responses import Response

from commonplace.console.live import stream_parts
from commonplace.console.page import Page
from commonplace.console.pages.cells import day, status_tag
from commonplace.console.rendering import quote_path, render, url

PAGE_SIZE = 20
MAX_FOUND = 20
MAX_STALE = 100
MAX_DAYS = 36_500
LIVE_SECONDS = 5.0
TYPES = ("bug", "pattern", "decision", "pitfall", "config", "reference")
STATES = ("active", "obsolete")
TITLES = {
    "entries": "Entries",
    "suggestions": "Suggestions",
    "timeline": "Timeline",
    "stale": "Stale",
    "deleted": "Deleted",
}
FILTERS = {"kind": "type", "project": "project", "tag": "tag", "status": "status"}
COLUMNS = (
    {"key": "title", "title": "Title", "kind": "text"},
    {"key": "type", "title": "Type"},
    {"key": "tags", "title": "Tags"},
    {"key": "project", "title": "Project"},
    {"key": "status", "title": "Status"},
    {"key": "updated", "title": "Changed", "kind": "time"},
)

TabHandler = Callable[[Page], Awaitable[Response]]


def choose_tab(tabs: Mapping[str, TabHandler]) -> TabHandler:
    """Return the handler of /memory, which shows the tab that the address names."""

    async def show(page: Page) -> Response:
        return await tabs.get(page.query("tab"), tabs["entries"])(page)

    return show


def render_tab(page: Page, name: str, /, **values: object) -> Response:
    """Render a tab below the links to all tabs."""
    tabs = [
        (title, url("/memory", tab=None if tab == "entries" else tab), tab == name)
        for tab, title in TITLES.items()
    ]
    return page.render(
        f"pages/memory/{name}.html",
        200,
        here="/memory",
        tabs=tabs,
        tab_title=TITLES[name],
        **values,
    )


def memory_url(identity: str, **query: object) -> str:
    """Return the address of an entry."""
    return url(f"/memory/{quote_path(identity)}", **query)


def read_filters(page: Page) -> dict[str, str]:
    """Return the filters of the address; values that cannot exist are left out."""
    chosen = {name: page.query(name) for name in FILTERS}
    if chosen["kind"] not in TYPES:
        chosen["kind"] = ""
    if chosen["status"] not in STATES:
        chosen["status"] = ""
    return chosen


def make_arguments(chosen: Mapping[str, str]) -> dict[str, Any]:
    """Return the filters as arguments of tools."""
    return {FILTERS[name]: value for name, value in chosen.items() if value}


def make_rows(entries: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the cells of entries."""
    return [
        {
            "id": entry["id"],
            "href": memory_url(entry["id"]),
            "title": entry["title"],
            "type": entry["type"],
            "tags": ", ".join(entry["tags"]),
            "project": entry["project"],
            "status": "" if entry["status"] == "active" else status_tag(entry["status"]),
            "updated": day(entry["updated_at"]),
        }
        for entry in entries
    ]


async def show_entries(page: Page) -> Response:
    """Search the memory as an agent does, or list the newest entries."""
    query, chosen = page.query("q"), read_filters(page)
    if query:
        return await _show_found(page, query, chosen)
    return await _show_list(page, "entries", chosen)


async def show_deleted(page: Page) -> Response:
    """List entries that were deleted and can be brought back."""
    return await _show_list(page, "deleted", read_filters(page))


async def _show_list(page: Page, tab: str, chosen: Mapping[str, str]) -> Response:
    number = page.number("page", 1)
    answer = await page.call(
        "memory_list",
        {
            "limit": PAGE_SIZE,
            "offset": (number - 1) * PAGE_SIZE,
            "deleted": tab == "deleted",
            **make_arguments(chosen),
        },
    )
    entries = answer.output["entries"] if answer.ok else []
    return render_tab(
        page,
        tab,
        query="",
        context=page.query("context"),
        chosen=chosen,
        types=TYPES,
        states=STATES,
        error=answer.error,
        search=None,
        total=answer.output["total"] if answer.ok else 0,
        columns=COLUMNS,
        rows=make_rows(entries),
        newest=_version(answer.output) if answer.ok and number == 1 else "",
        number=number,
        page_size=PAGE_SIZE,
        page_url=lambda wanted: url(
            "/memory", tab=None if tab == "entries" else tab, page=wanted, **chosen
        ),
    )


async def _show_found(page: Page, query: str, chosen: Mapping[str, str]) -> Response:
    from commonplace.search.lexical.text import query_terms

    arguments = make_arguments({name: chosen[name] for name in ("kind", "project")})
    if page.query("context"):
        arguments["context"] = page.query("context")
    answer = await page.call(
        "rekall_search", {"query": query, "limit": MAX_FOUND, "why": True, **arguments}
    )
    return render_tab(
        page,
        "entries",
        query=query,
        context=page.query("context"),
        chosen=chosen,
        types=TYPES,
        states=STATES,
        error=answer.error,
        search=answer.output if answer.ok else None,
        terms=query_terms(query),
        explain=lambda why: explain(why, query),
        newest="",
    )


def explain(why: Mapping[str, Any] | None, query: str) -> str:
    """Return the reason why an entry was found."""
    from commonplace.search.lexical.text import matches

    why = why or {}
    parts = []
    if why.get("terms"):
        words = {query[start:end]: None for start, end, _ in matches(query, why["terms"])}
        parts.append(f"words found: {', '.join(words) or ', '.join(why['terms'])}")
    if why.get("semantic") is not None:
        parts.append(f"closeness in meaning {why['semantic']:.2f}")
    if why.get("lexical") is not None:
        parts.append(f"match of words {why['lexical']:.2f}")
    if why.get("order_weight", 1.0) < 1.0:
        reasons = f"strength {why['strength']:.2f}, freshness {why['freshness']:.2f}"
        parts.append(f"weight {why['order_weight']:.2f} in the order ({reasons})")
    return "Why: " + ("; ".join(parts) or "closest of what is remembered")


async def show_stale(page: Page) -> Response:
    """List entries whose code changed, and entries that nobody has read for long."""
    days = min(MAX_DAYS, page.number("days", 0, 0))
    answer = await page.call(
        "memory_stale", {"limit": MAX_STALE, **({"days": days} if days else {})}
    )
    entries = answer.output["entries"] if answer.ok else []
    return render_tab(
        page,
        "stale",
        error=answer.error,
        total=answer.output["total"] if answer.ok else 0,
        days=answer.output["days"] if answer.ok else days,
        columns=COLUMNS,
        rows=make_rows(entries),
        code=answer.output.get("code", []) if answer.ok else [],
        code_total=answer.output.get("code_total", 0) if answer.ok else 0,
    )


def _version(listed: Mapping[str, Any]) -> str:
    """Return a text that changes when the first page of a list does."""
    first = listed["entries"][0] if listed["entries"] else {}
    return f"{listed['total']} {first.get('id', '')} {first.get('updated_at', '')}"


async def stream_news(page: Page) -> Response:
    """Tell an open list that entries were added or changed, without moving its rows."""
    shown = page.query("version")
    names = {*FILTERS, "page"}
    back = {name: text for name, text in parse_qsl(page.query("back")) if name in names}

    async def render_parts() -> Mapping[str, str]:
        answer = await page.call("memory_list", {"limit": 1, **make_arguments(read_filters(page))})
        html = render(
            page.parts.environment,
            "pages/memory/news.html",
            {
                "is_changed": answer.ok and _version(answer.output) != shown,
                "address": url("/memory", **back),
            },
        )
        return {"memory-news": html}

    return stream_parts(page, render_parts, LIVE_SECONDS)
