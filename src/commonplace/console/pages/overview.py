"""Overview: is it well, how busy is it, what happened last, and what needs a person."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

from nicegui import ui

from commonplace.console.shell import Shell, View, empty, failure, patiently

REFRESH_SECONDS = 2.0
POINTS = 90


def register(shell: Shell) -> None:
    @ui.page("/")
    async def overview() -> None:
        with shell.page("Overview") as view:
            await patiently(_Overview(view).show())


class _Overview:
    def __init__(self, view: View) -> None:
        self._view = view
        self._last: tuple[float, int] | None = None
        self._rates: deque[list[Any]] = deque(maxlen=POINTS)

    async def show(self) -> None:
        with ui.row().classes("w-full gap-4"):
            self._status = _card("Status", "monitor_heart")
            self._uptime = _card("Up for", "schedule")
            self._calls = _card("Calls", "bolt")
            self._errors = _card("Errors", "error_outline")
        self._alerts = ui.column().classes("w-full gap-2")
        with ui.row().classes("w-full gap-4 items-stretch"):
            with _panel("Calls per second"):
                self._rate = ui.echart(_line_chart()).classes("w-full h-56")
            with _panel("Latency by tool, ms"):
                self._latency = ui.echart(_bar_chart()).classes("w-full h-56")
        with _panel("Recent changes and refusals").classes("w-full"):
            self._audit = ui.column().classes("w-full")
        await self._refresh()
        await self._refresh_audit()
        ui.timer(REFRESH_SECONDS, self._refresh)
        ui.timer(REFRESH_SECONDS * 3, self._refresh_audit)

    async def _refresh(self) -> None:
        health = await self._view.call("health_check", {})
        snapshot = await self._view.call("metrics_snapshot", {})
        self._alerts.clear()
        if health.error is not None or snapshot.error is not None:
            self._status.text = "unreachable"
            with self._alerts:
                failure(health.error or snapshot.error or {})
            return
        methods = snapshot.output["methods"]
        calls = sum(method["count"] for method in methods)
        errors = sum(method["errors"] for method in methods)
        self._status.text = f"{health.output['status']}, {health.output['version']}"
        self._uptime.text = _duration(snapshot.output["uptimeSeconds"])
        self._calls.text = f"{calls:,}"
        self._errors.text = f"{errors:,}"
        self._plot_rate(calls)
        self._plot_latency(methods)
        with self._alerts:
            _alerts(methods)

    def _plot_rate(self, calls: int) -> None:
        now = time.time()
        if self._last is not None and now > self._last[0]:
            self._rates.append([int(now * 1000), round(max(0.0, (calls - self._last[1]) / (now - self._last[0])), 2)])
        self._last = (now, calls)
        self._rate.options["series"][0]["data"] = list(self._rates)
        self._rate.update()

    def _plot_latency(self, methods: list[dict[str, Any]]) -> None:
        busiest = sorted(methods, key=lambda method: -method["count"])[:8][::-1]
        self._latency.options["yAxis"]["data"] = [method["method"] for method in busiest]
        self._latency.options["series"][0]["data"] = [method["p50Ms"] for method in busiest]
        self._latency.options["series"][1]["data"] = [method["p95Ms"] for method in busiest]
        self._latency.update()

    async def _refresh_audit(self) -> None:
        answer = await self._view.call("audit_query", {"limit": 8})
        self._audit.clear()
        with self._audit:
            if answer.error is not None:
                ui.label("The audit trail is shown to keys with scope admin.").classes("cp-muted")
            elif not answer.output["records"]:
                empty("Nothing was changed and nothing refused yet.")
            else:
                audit_table(answer.output["records"])


def audit_table(records: list[dict[str, Any]]) -> ui.table:
    """Audit records as rows, newest first."""
    columns = [
        {"name": name, "label": label, "field": name, "align": "left"}
        for name, label in (
            ("ts", "when"),
            ("tool", "tool"),
            ("label", "who"),
            ("outcome", "outcome"),
            ("code", "code"),
            ("duration_ms", "ms"),
        )
    ]
    keys = ("ts", "tool", "label", "outcome", "code", "duration_ms")
    rows = [{"id": number, **{key: record.get(key) for key in keys}} for number, record in enumerate(records)]
    return ui.table(columns=columns, rows=rows, row_key="id").props("dense flat").classes("w-full")


def _alerts(methods: list[dict[str, Any]]) -> None:
    for method in methods:
        if method["count"] >= 20 and method["errors"] / method["count"] > 0.2:
            share = round(100 * method["errors"] / method["count"])
            _alert(
                f"{method['method']}: {share} % of {method['count']} calls failed.", "Open Audit and filter by this tool to see the codes."
            )
        if method["count"] >= 20 and method["p95Ms"] > 2000:
            _alert(
                f"{method['method']}: 95 % of calls end within {method['p95Ms']:.0f} ms, which is slow.",
                "Run commonplace doctor on the server.",
            )


def _alert(text: str, action: str) -> None:
    with ui.card().props("flat bordered").classes("w-full border-l-4 border-warning"):
        ui.label(text).classes("font-semibold")
        ui.label(action).classes("cp-muted text-sm")


def _card(title: str, icon: str) -> ui.label:
    with ui.card().props("flat bordered").classes("grow min-w-40"):
        with ui.row().classes("items-center gap-2 cp-muted"):
            ui.icon(icon)
            ui.label(title).classes("text-sm")
        return ui.label("...").classes("text-xl font-semibold")


def _panel(title: str) -> ui.card:
    card = ui.card().props("flat bordered").classes("grow basis-96 min-w-0")
    with card:
        ui.label(title).classes("text-sm cp-muted")
    return card


def _duration(seconds: float) -> str:
    minutes, _ = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {int(seconds) % 60} s"


INK = "#7d8894"  # readable on light and dark paper


def _line_chart() -> dict[str, Any]:
    return {
        "animation": False,
        "grid": {"left": 48, "right": 16, "top": 16, "bottom": 28},
        "xAxis": {"type": "time", "axisLabel": {"color": INK}},
        "yAxis": {"type": "value", "min": 0, "axisLabel": {"color": INK}, "splitLine": {"lineStyle": {"color": "#88888833"}}},
        "series": [{"type": "line", "showSymbol": False, "areaStyle": {"opacity": 0.15}, "data": [], "color": "#0f8f88"}],
    }


def _bar_chart() -> dict[str, Any]:
    return {
        "animation": False,
        "legend": {"top": 0, "textStyle": {"color": INK}},
        "grid": {"left": 8, "right": 24, "top": 32, "bottom": 8, "containLabel": True},
        "xAxis": {"type": "value", "axisLabel": {"color": INK}, "splitLine": {"lineStyle": {"color": "#88888833"}}},
        "yAxis": {"type": "category", "data": [], "axisLabel": {"color": INK}},
        "series": [
            {"type": "bar", "name": "p50", "data": [], "color": "#0f8f88"},
            {"type": "bar", "name": "p95", "data": [], "color": "#c98a2b"},
        ],
    }
