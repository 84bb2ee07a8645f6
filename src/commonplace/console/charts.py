"""Charts as numbers for SVG: `templates/parts/charts.html` draws them without a script."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WIDTH = 600
HEIGHT = 120
Point = tuple[float, float]
"""A moment in seconds and a value."""


@dataclass(frozen=True, slots=True)
class Line:
    """One series of a chart."""

    name: str
    points: str  # of an SVG polyline
    area: str  # of an SVG polygon, down to the axis
    latest: float
    most: float


@dataclass(frozen=True, slots=True)
class LineChart:
    """Lines over time, with the texts of both axes and an alternative for people who listen."""

    title: str
    unit: str
    lines: Sequence[Line]
    top: str
    start: str
    end: str
    summary: str
    width: int = WIDTH
    height: int = HEIGHT


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a chart: its length in percent of the longest, and the number beside it."""

    name: str
    percent: float
    marker: float
    text: str


def line_chart(
    title: str,
    series: Mapping[str, Sequence[Point]],
    start: float,
    end: float,
    *,
    unit: str = "",
    span: tuple[str, str] = ("1 h ago", "now"),
) -> LineChart:
    """Scale series to the drawing. Points outside of the time span are left out."""
    kept = {
        name: [point for point in points if start <= point[0] <= end]
        for name, points in series.items()
    }
    top = round_up(max((value for points in kept.values() for _, value in points), default=0.0))
    lines = [_line(name, points, start, end, top) for name, points in kept.items()]
    said = "; ".join(
        f"{line.name}: latest {format_value(line.latest)}, at most {format_value(line.most)}"
        for line in lines
        if line.points
    )
    label = f"{title}{f', {unit}' if unit else ''}. {said or 'No values yet'}."
    return LineChart(title, unit, lines, format_value(top), *span, label)


def _line(name: str, points: Sequence[Point], start: float, end: float, top: float) -> Line:
    if not points:
        return Line(name, "", "", 0.0, 0.0)
    seconds = max(end - start, 1.0)
    placed = [
        ((moment - start) / seconds * WIDTH, HEIGHT - value / top * (HEIGHT - 4))
        for moment, value in points
    ]
    drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
    area = f"{placed[0][0]:.1f},{HEIGHT} {drawn} {placed[-1][0]:.1f},{HEIGHT}"
    return Line(name, drawn, area, points[-1][1], max(value for _, value in points))


def bars(rows: Sequence[tuple[str, float, float]], unit: str) -> list[Bar]:
    """Scale rows of a name, a value and a higher value that is drawn as a marker."""
    longest = max((higher for _, _, higher in rows), default=0.0) or 1.0
    return [
        Bar(
            name,
            round(100 * value / longest, 1),
            round(100 * higher / longest, 1),
            f"{format_value(value)} / {format_value(higher)} {unit}",
        )
        for name, value, higher in rows
    ]


def fill_pauses(points: Sequence[Point], step: float) -> list[Point]:
    """Add zeros where nothing was recorded for longer than a step, so that lines fall to zero."""
    if not points:
        return []
    filled: list[Point] = [(points[0][0] - step, 0.0), points[0]]
    for (before, _), (moment, value) in itertools.pairwise(points):
        if moment - before > step:
            filled.append((before + step, 0.0))
            if moment - step > before + step:
                filled.append((moment - step, 0.0))
        filled.append((moment, value))
    return [*filled, (points[-1][0] + step, 0.0)]


def round_up(value: float) -> float:
    """Return the next 1, 2 or 5 times a power of ten, for the top of an axis."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value)


def format_value(value: float) -> str:
    """Format a number of a chart with at most three digits after the point."""
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"
