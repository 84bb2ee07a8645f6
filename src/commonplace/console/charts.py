"""The charts of the overview, in colours that can be read on light and dark paper."""

from __future__ import annotations

from typing import Any

INK = "#7d8894"
GRID = {"lineStyle": {"color": "#88888833"}}
TEAL, AMBER = "#0f8f88", "#c98a2b"


def line_chart(*names: str, unit: str = "") -> dict[str, Any]:
    """Lines over time; more than one gets a legend."""
    colours = (TEAL, AMBER)
    return {
        "animation": False,
        "tooltip": {"trigger": "axis"},
        "legend": {"show": len(names) > 1, "top": 0, "textStyle": {"color": INK}},
        "grid": {
            "left": 8,
            "right": 16,
            "top": 32 if len(names) > 1 else 16,
            "bottom": 8,
            "containLabel": True,
        },
        "xAxis": {"type": "time", "axisLabel": {"color": INK, "hideOverlap": True}},
        "yAxis": {
            "type": "value",
            "min": 0,
            "axisLabel": {"color": INK, "formatter": f"{{value}}{unit}"},
            "splitLine": GRID,
        },
        "series": [
            {
                "type": "line",
                "name": name,
                "showSymbol": False,
                "areaStyle": {"opacity": 0.12},
                "data": [],
                "color": colours[place % 2],
            }
            for place, name in enumerate(names)
        ],
    }


def bar_chart() -> dict[str, Any]:
    return {
        "animation": False,
        "tooltip": {"trigger": "axis"},
        "legend": {"top": 0, "textStyle": {"color": INK}},
        "grid": {"left": 8, "right": 24, "top": 32, "bottom": 8, "containLabel": True},
        "xAxis": {"type": "value", "axisLabel": {"color": INK}, "splitLine": GRID},
        "yAxis": {"type": "category", "data": [], "axisLabel": {"color": INK}},
        "series": [
            {"type": "bar", "name": "p50", "data": [], "color": TEAL},
            {"type": "bar", "name": "p95", "data": [], "color": AMBER},
        ],
    }
