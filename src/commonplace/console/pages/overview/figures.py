"""What the overview says, worked out from the answers of the tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from commonplace.console.charts import Bar, LineChart, Point, bars, fill_pauses, line_chart
from commonplace.console.rendering import format_count, format_size, url

HOUR = 3600
SLOW_LAG_SECONDS = 30  # for 95 % of changes, see docs/reference/contracts/files.md, section 8
MIN_CALLS = 20  # fewer say nothing about a tool
MAX_ERROR_SHARE = 0.2
SLOW_MILLISECONDS = 2000
MAX_TOOLS = 8
REMEDIES = {
    "rebuild": "Only derived data: stop the server, then run commonplace rebuild.",
    "restore": "Stop the server and restore a backup: commonplace restore ARCHIVE --force.",
}

Output = Mapping[str, Any]
"""The output of a tool."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its name; the name may lead to a page."""

    title: str
    text: str
    address: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that needs a person, and what to do."""

    text: str
    action: str


@dataclass(frozen=True, slots=True)
class CacheRow:
    """How full a cache is."""

    name: str
    size: str
    limit: str


def status_figures(status: Output, methods: Sequence[Output]) -> list[Figure]:
    """Say how the server is, from its status and its counters."""
    calls = sum(method["count"] for method in methods)
    errors = sum(method["errors"] for method in methods)
    process = status.get("process")
    return [
        Figure("Status", f"{status['status']}, {status['version']}"),
        Figure("Up for", format_duration(status["uptime_seconds"])),
        Figure("Calls", f"{calls:,}", url("/audit", reads="1")),
        Figure("Errors", f"{errors:,}", url("/audit", outcome="refused")),
        Figure("Process memory", format_size(process["memory_bytes"]) if process else "for admins"),
    ]


def content_figures(
    rules: Output | None, projects: Output | None, memories: Output | None, index: Output | None
) -> list[Figure]:
    """Say how much is stored; a question that failed has no figure."""
    found = []
    if rules is not None:
        found.append(Figure("Instructions", f"{rules['count']:,}", url("/instructions")))
    if projects is not None:
        listed = projects["projects"]
        files = sum(project["files"] for project in listed)
        text = f"{files:,} in {format_count(len(listed), 'project')}" if listed else "none yet"
        found.append(Figure("Files", text, url("/files")))
    if memories is not None:
        found.append(Figure("Memories", f"{memories['total']:,}", url("/memory")))
    if index is not None:
        found.append(Figure("Search index", describe_index(index)))
    return found


def waiting_files(index: Output) -> int:
    """Return how many files wait for the search index."""
    return int(index["pending"]) + int(index["processing"])


def index_lag(index: Output, now: datetime) -> float:
    """Return for how many seconds the oldest change has been waiting."""
    oldest = index["oldest_queued_at"]
    if not waiting_files(index) or not oldest:
        return 0.0
    return max(0.0, (now - datetime.fromisoformat(oldest)).total_seconds())


def describe_index(index: Output) -> str:
    """Say whether the search index is up to date."""
    waiting = waiting_files(index)
    if waiting:
        return f"{waiting:,} waiting"
    return "up to date" if index["up_to_date"] else "catching up"


def find_problems(
    status: Output, methods: Sequence[Output], index: Output | None, now: datetime
) -> list[Problem]:
    """Collect what needs a person: damage, a late index, failing and slow tools."""
    return [
        *_find_damage(status),
        *(_find_index_problems(index, now) if index is not None else ()),
        *_find_tool_problems(methods),
    ]


def _find_damage(status: Output) -> list[Problem]:
    """Report what the slow check of the databases found; admins see it."""
    return [
        Problem(
            f"{damage['file']} is damaged: {damage['part']}: {damage['problem']}",
            REMEDIES[damage["remedy"]],
        )
        for damage in status.get("integrity", {}).get("damage", [])
    ]


def _find_index_problems(index: Output, now: datetime) -> list[Problem]:
    found = []
    lag = index_lag(index, now)
    if lag > SLOW_LAG_SECONDS:
        found.append(
            Problem(
                f"The search index is {format_duration(lag)} behind: "
                f"{format_count(waiting_files(index), 'file')} waiting.",
                "After an import this is normal. If the number does not fall, run "
                "commonplace doctor on the server.",
            )
        )
    if index["dead"]:
        paths = ", ".join(
            f"{letter['file_path']} ({letter['error'][:120]})"
            for letter in index["dead_letters"][:5]
        )
        found.append(
            Problem(
                f"{format_count(index['dead'], 'file')} could not be indexed: {paths}",
                "Fix what the error names, then run commonplace files reindex.",
            )
        )
    return found


def _find_tool_problems(methods: Sequence[Output]) -> list[Problem]:
    found = []
    for method in methods:
        if method["count"] < MIN_CALLS:
            continue
        if method["errors"] / method["count"] > MAX_ERROR_SHARE:
            share = round(100 * method["errors"] / method["count"])
            found.append(
                Problem(
                    f"{method['method']}: {share} % of {method['count']:,} calls failed.",
                    "Open Audit and filter by this tool to see the codes.",
                )
            )
        if method["p95Ms"] > SLOW_MILLISECONDS:
            found.append(
                Problem(
                    f"{method['method']} is slow: 5 % of calls need more than "
                    f"{method['p95Ms']:,.0f} ms.",
                    "Run commonplace doctor on the server.",
                )
            )
    return found


def make_charts(status: Output, now: datetime) -> list[LineChart]:
    """Draw the last hour of calls."""
    slot = status["slot_seconds"]
    end = now.timestamp()

    def values(name: str, factor: float = 1.0) -> list[Point]:
        points = [
            (datetime.fromisoformat(entry["at"]).timestamp(), entry[name] * factor)
            for entry in status["timeline"]
            if entry.get(name) is not None
        ]
        return points if name == "memory_bytes" else fill_pauses(points, slot)

    charts = [
        line_chart(
            "Calls per second",
            {"calls": values("calls", 1 / slot), "errors": values("errors", 1 / slot)},
            end - HOUR,
            end,
        ),
        line_chart(
            "Latency",
            {"mean": values("average_ms"), "slowest": values("maximum_ms")},
            end - HOUR,
            end,
            unit="ms",
        ),
    ]
    if status.get("process"):
        memory = {"resident": values("memory_bytes", 1 / 2**20)}
        charts.append(line_chart("Memory of the process", memory, end - HOUR, end, unit="MiB"))
    return charts


def make_latency_bars(methods: Sequence[Output]) -> list[Bar]:
    """Compare the tools that are called most."""
    busiest = sorted(methods, key=lambda method: -int(method["count"]))[:MAX_TOOLS]
    return bars([(entry["method"], entry["p50Ms"], entry["p95Ms"]) for entry in busiest], "ms")


def list_caches(status: Output) -> list[CacheRow] | None:
    """Say how full the caches are; None if this person may not see it."""
    if not status.get("process"):
        return None
    return [
        CacheRow(name, _cache_size(cache, ""), _cache_size(cache, "most_"))
        for name, cache in status.get("caches", {}).items()
    ]


def _cache_size(cache: Mapping[str, int], prefix: str) -> str:
    parts = []
    if f"{prefix}entries" in cache:
        parts.append(format_count(cache[f"{prefix}entries"], "entry", "entries"))
    if f"{prefix}bytes" in cache:
        parts.append(format_size(cache[f"{prefix}bytes"]))
    return ", ".join(parts)


def format_duration(seconds: float) -> str:
    """Format a time span with its two largest units."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
