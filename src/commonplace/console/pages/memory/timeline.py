"""The timeline of the memory: what happened to entries, by day."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from commonplace.console.page import Page
from commonplace.console.pages.memory.entries import memory_url, render_tab
from commonplace.console.rendering import url

EVENTS_SHOWN = 100
DEFAULT_DAYS = 30
MOST_DAYS = 36_500
KINDS = (
    "added",
    "changed",
    "superseded",
    "merged",
    "contradicted",
    "confirmed",
    "refuted",
    "reactivated",
    "deleted",
    "restored",
    "purged",
)
COLOURS = {"contradicted": "bad", "refuted": "bad", "superseded": "warn", "deleted": "warn"}


async def show_timeline(page: Page) -> Response:
    """Show the events of the last days, newest first."""
    typed = page.query("days")
    days = min(MOST_DAYS, max(1, int(typed))) if typed.isdecimal() else DEFAULT_DAYS
    number = max(1, int(page.query("page"))) if page.query("page").isdecimal() else 1
    kind = page.query("kind") if page.query("kind") in KINDS else ""
    project = page.query("project")
    arguments: dict[str, Any] = {
        "days": days,
        "limit": EVENTS_SHOWN,
        "offset": min(1_000_000, (number - 1) * EVENTS_SHOWN),
    }
    arguments |= {"kinds": [kind]} if kind else {}
    arguments |= {"project": project} if project.strip() else {}
    answer = await page.call("memory_timeline", arguments)
    output = answer.output if answer.ok else {"events": [], "by_day": [], "total": 0}
    chosen = {"days": days, "kind": kind, "project": project}
    return render_tab(
        page,
        "timeline",
        error=answer.error,
        total=output["total"],
        days=_group(output),
        chosen=chosen,
        kinds=KINDS,
        number=number,
        page_size=EVENTS_SHOWN,
        page_url=lambda wanted: url("/memory", tab="timeline", page=wanted, **chosen),
    )


def _group(output: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the events of each day, with all numbers of the day."""
    counts = {day["day"]: day["counts"] for day in output["by_day"]}
    days: dict[str, list[dict[str, Any]]] = {}
    for event in output["events"]:
        days.setdefault(event["at"][:10], []).append(_row(event))
    return [
        {"day": day, "counts": counts.get(day, {}), "events": events}
        for day, events in days.items()
    ]


def _row(event: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "time": event["at"][11:16],
        "kind": event["kind"],
        "colour": COLOURS.get(event["kind"], "info"),
        "entry": _link(event.get("entry")),
        "other": _link(event.get("other")),
        "detail": event.get("detail", ""),
    }


def _link(entry: Mapping[str, Any] | None) -> dict[str, str] | None:
    if entry is None:
        return None
    return {"title": entry["title"] or entry["id"], "address": memory_url(entry["id"])}
