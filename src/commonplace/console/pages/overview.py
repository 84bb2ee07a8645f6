"""Overview: is it well, what does it hold, how busy was it in the last hour, what happened last,
and what needs a person.
"""

from __future__ import annotations

import time
from collections import deque
from datetime import datetime
from typing import Any

from nicegui import ui

from commonplace.console.charts import bar_chart, line_chart
from commonplace.console.parts import columns_of, counted, size
from commonplace.console.shell import Shell, View, empty, failure, patiently
from commonplace.kernel.clock import utc_now

REFRESH_SECONDS = 2.0
SLOWER_SECONDS = 6.0
LAG_POINTS = 600
SLOW_LAG_SECONDS = 30  # for 95 % of changes, see docs/reference/contracts/files.md, section 8


def register(shell: Shell) -> None:
    @ui.page("/")
    async def overview() -> None:
        with shell.page("Overview") as view:
            await patiently(_Overview(view).show())


class _Overview:
    def __init__(self, view: View) -> None:
        self._view = view
        self._last: tuple[float, int] | None = None
        self._drawn = ""
        self._lags: deque[list[float]] = deque(maxlen=LAG_POINTS)
        self._problems: list[tuple[str, str]] = []

    async def show(self) -> None:
        with (
            ui.element("div")
            .classes("grid w-full gap-3")
            .style("grid-template-columns: repeat(auto-fit, minmax(200px, 1fr))")
        ):
            self._status = _card("Status", "monitor_heart")
            self._uptime = _card("Up for", "schedule")
            self._calls = _card("Calls", "bolt", "/audit?reads=1")
            self._errors = _card("Errors", "error_outline", "/audit?outcome=refused")
            self._rules = _card("Instructions", "gavel", "/instructions")
            self._files = _card("Files", "folder", "/files")
            self._memories = _card("Memories", "psychology", "/memory")
            self._index = _card("Search index", "manage_search")
            self._memory = _card("Process memory", "memory")
        self._alerts = ui.column().classes("w-full gap-2")
        with ui.row().classes("w-full gap-4 items-stretch"):
            with _panel("Calls per second, last hour"):
                self._rate = ui.echart(line_chart("calls", "errors")).classes("w-full h-56")
            with _panel("Latency by tool, ms"):
                self._latency = ui.echart(bar_chart()).classes("w-full h-56")
            with _panel("Latency, ms, last hour"):
                self._times = ui.echart(line_chart("mean", "slowest")).classes("w-full h-56")
            with _panel("Files that wait for the search index"):
                self._lag = ui.echart(line_chart("waiting")).classes("w-full h-56")
            with _panel("Memory of the process, MiB, last hour") as self._memory_panel:
                self._memory_plot = ui.echart(line_chart("resident")).classes("w-full h-56")
            with _panel("Caches") as self._caches_panel:
                self._caches = ui.column().classes("w-full")
        with _panel("Recent changes and refusals").classes("w-full"):
            self._audit = ui.column().classes("w-full")
        await self._refresh_slower()
        await self._refresh()
        ui.timer(REFRESH_SECONDS, self._refresh)
        ui.timer(SLOWER_SECONDS, self._refresh_slower)

    async def _refresh(self) -> None:
        status = await self._view.call("server_status", {})
        snapshot = await self._view.call("metrics_snapshot", {})
        self._alerts.clear()
        if status.error is not None or snapshot.error is not None:
            self._status.text = "unreachable"
            with self._alerts:
                failure(status.error or snapshot.error or {})
            return
        methods = snapshot.output["methods"]
        calls = sum(method["count"] for method in methods)
        self._status.text = f"{status.output['status']}, {status.output['version']}"
        self._uptime.text = _duration(status.output["uptime_seconds"])
        self._calls.text = f"{calls:,}{self._rate_now(calls)}"
        self._errors.text = f"{sum(method['errors'] for method in methods):,}"
        self._show_process(status.output)
        self._plot(status.output, methods)
        with self._alerts:
            for text, action in [
                *_damage(status.output),
                *self._problems,
                *_slow_or_failing(methods),
            ]:
                _alert(text, action)

    def _rate_now(self, calls: int) -> str:
        now, before = time.monotonic(), self._last
        self._last = (now, calls)
        if before is None or now <= before[0]:
            return ""
        return f", {max(0.0, (calls - before[1]) / (now - before[0])):.1f}/s"

    def _show_process(self, status: dict[str, Any]) -> None:
        process = status.get("process")
        self._memory.text = size(process["memory_bytes"]) if process else "for admins"
        self._memory_panel.set_visibility(process is not None)
        self._caches_panel.set_visibility(process is not None)

    def _plot(self, status: dict[str, Any], methods: list[dict[str, Any]]) -> None:
        """Charts change when a slot of the hour does, or a tool was called: nothing is sent for
        nothing.
        """
        timeline = status["timeline"]
        drawn = f"{timeline[-1]['at'] if timeline else ''}"
        if drawn == self._drawn:
            return
        self._drawn = drawn
        points = _filled(timeline, status["slot_seconds"])
        seconds = status["slot_seconds"]
        _draw(
            self._rate,
            [[at, round(one["calls"] / seconds, 2)] for at, one in points],
            [[at, round(one["errors"] / seconds, 2)] for at, one in points],
        )
        _draw(
            self._times,
            [[at, one["average_ms"]] for at, one in points],
            [[at, one["maximum_ms"]] for at, one in points],
        )
        _draw(
            self._memory_plot,
            [
                [at, round(one["memory_bytes"] / 2**20, 1)]
                for at, one in points
                if one.get("memory_bytes")
            ],
        )
        busiest = sorted(methods, key=lambda method: -method["count"])[:8][::-1]
        self._latency.options["yAxis"]["data"] = [method["method"] for method in busiest]
        _draw(
            self._latency,
            [method["p50Ms"] for method in busiest],
            [method["p95Ms"] for method in busiest],
        )
        self._show_caches(status.get("caches", {}))

    def _show_caches(self, caches: dict[str, dict[str, int]]) -> None:
        self._caches.clear()
        with self._caches:
            if not caches:
                empty("No cache is in use yet.", "They fill with the first searches and documents.")
                return
            rows = [
                {"name": name, "held": _held(one), "most": _held(one, "most_")}
                for name, one in caches.items()
            ]
            table = ui.table(
                columns=columns_of((("name", "cache"), ("held", "holds"), ("most", "at most"))),
                rows=rows,
                row_key="name",
            )
            table.props("dense flat").classes("w-full")

    async def _refresh_slower(self) -> None:
        rules = await self._view.call("instructions_list", {"limit": 1})
        projects = await self._view.call("file_projects", {})
        memories = await self._view.call("memory_list", {"limit": 1})
        index = await self._view.call("file_index_status", {})
        if rules.ok:
            self._rules.text = f"{rules.output['count']:,}"
        if projects.ok:
            listed = projects.output["projects"]
            total = sum(one["files"] for one in listed)
            self._files.text = (
                f"{total:,} in {counted(len(listed), 'project')}" if listed else "none yet"
            )
        if memories.ok:
            self._memories.text = f"{memories.output['total']:,}"
        if index.ok:
            self._show_index(index.output)
        await self._refresh_audit()

    def _show_index(self, index: dict[str, Any]) -> None:
        waiting = index["pending"] + index["processing"]
        lag = _since(index["oldest_queued_at"]) if waiting and index["oldest_queued_at"] else 0.0
        self._index.text = (
            "up to date" if not waiting else f"{waiting:,} wait, {_duration(lag)} behind"
        )
        self._lags.append([time.time() * 1000, waiting])
        _draw(self._lag, list(self._lags))
        self._problems = []
        if lag > SLOW_LAG_SECONDS:
            text = f"The search index is {_duration(lag)} behind: {waiting:,} files wait."
            self._problems.append(
                (
                    text,
                    (
                        "After an import this is normal. If it does not shrink, run commonplace "
                        "doctor on the server."
                    ),
                )
            )
        if index["dead"]:
            paths = ", ".join(
                f"{one['file_path']} ({one['error'][:120]})" for one in index["dead_letters"][:5]
            )
            action = "Mend what the error names, then run commonplace files reindex."
            self._problems.append(
                (f"{index['dead']:,} files could not be indexed: {paths}", action)
            )

    async def _refresh_audit(self) -> None:
        answer = await self._view.call("audit_query", {"limit": 8})
        self._audit.clear()
        with self._audit:
            if answer.error is not None:
                ui.label("The audit trail is shown to keys with scope admin.").classes("cp-muted")
            elif not answer.output["records"]:
                empty(
                    "Nothing was changed and nothing refused yet.",
                    "What agents and people change is listed here.",
                )
            else:
                audit_table(answer.output["records"])


def audit_table(records: list[dict[str, Any]]) -> ui.table:
    """Audit records as rows, newest first."""
    names = (
        ("ts", "when"),
        ("tool", "tool"),
        ("label", "who"),
        ("outcome", "outcome"),
        ("code", "code"),
        ("duration_ms", "ms"),
    )
    rows = [
        {"id": number, **{key: record.get(key) for key, _ in names}}
        for number, record in enumerate(records)
    ]
    for row in rows:
        row["ts"] = str(row["ts"])[:19].replace("T", " ")
        row["tool"] = (
            row["tool"] or "no tool"
        )  # a refused key never got as far as a tool, and its row opens too
    return (
        ui.table(columns=columns_of(names), rows=rows, row_key="id")
        .props("dense flat")
        .classes("w-full")
    )


def _damage(status: dict[str, Any]) -> list[tuple[str, str]]:
    """What the slow check of the databases found; it is shown to admins."""
    actions = {
        "rebuild": "Only derived data: stop the server, then run commonplace rebuild.",
        "restore": "Stop the server and restore a backup: commonplace restore ARCHIVE --force.",
    }
    damage = status.get("integrity", {}).get("damage", [])
    return [
        (f"{one['file']} is damaged: {one['part']}: {one['problem']}", actions[one["remedy"]])
        for one in damage
    ]


def _slow_or_failing(methods: list[dict[str, Any]]) -> list[tuple[str, str]]:
    found = []
    for method in methods:
        if method["count"] >= 20 and method["errors"] / method["count"] > 0.2:
            share = round(100 * method["errors"] / method["count"])
            text = f"{method['method']}: {share} % of {method['count']} calls failed."
            found.append((text, "Open Audit and filter by this tool to see the codes."))
        if method["count"] >= 20 and method["p95Ms"] > 2000:
            text = (
                f"{method['method']}: 95 % of calls end within {method['p95Ms']:.0f} ms, "
                f"which is slow."
            )
            found.append((text, "Run commonplace doctor on the server."))
    return found


def _alert(text: str, action: str) -> None:
    with ui.card().props("flat bordered").classes("w-full border-l-4 border-warning gap-1 p-3"):
        ui.label(text).classes("font-semibold cp-text")
        ui.label(action).classes("cp-muted text-sm")


def _card(title: str, icon: str, page: str | None = None) -> ui.label:
    """A figure with its name; with a page, the name leads there."""
    with ui.card().props("flat bordered").classes("gap-1 p-3 min-w-0"):
        with ui.row().classes("items-center gap-2 no-wrap"):
            ui.icon(icon).classes("cp-muted")
            if page is None:
                ui.label(title).classes("text-sm cp-muted")
            else:
                ui.link(title, page).classes("text-sm")
        return ui.label("...").classes("text-lg font-semibold")


def _panel(title: str) -> ui.card:
    card = ui.card().props("flat bordered").classes("grow basis-96 min-w-0")
    with card:
        ui.label(title).classes("text-sm cp-muted")
    return card


def _draw(chart: ui.echart, *series: list[Any]) -> None:
    for place, data in enumerate(series):
        chart.options["series"][place]["data"] = data
    chart.update()


def _filled(timeline: list[dict[str, Any]], slot_seconds: int) -> list[tuple[int, dict[str, Any]]]:
    """The slots of the hour in order, those without a call as zeros."""
    silent = {"calls": 0, "errors": 0, "average_ms": 0.0, "maximum_ms": 0.0}
    found: list[tuple[int, dict[str, Any]]] = []
    step = slot_seconds * 1000
    for one in timeline:
        at = int(datetime.fromisoformat(one["at"]).timestamp() * 1000)
        if found and at - found[-1][0] > step:
            found.append((found[-1][0] + step, silent))
            if at - step > found[-1][0]:
                found.append((at - step, silent))
        found.append((at, one))
    return found


def _held(cache: dict[str, int], prefix: str = "") -> str:
    parts = []
    if f"{prefix}entries" in cache:
        parts.append(f"{cache[f'{prefix}entries']:,} entries")
    if f"{prefix}bytes" in cache:
        parts.append(size(cache[f"{prefix}bytes"]))
    return ", ".join(parts)


def _since(moment: str) -> float:
    return max(0.0, (utc_now() - datetime.fromisoformat(moment)).total_seconds())


def _duration(seconds: float) -> str:
    minutes, _ = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {int(seconds) % 60} s"
