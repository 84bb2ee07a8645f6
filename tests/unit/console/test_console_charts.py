"""Numbers of charts: axes, bars, pauses, and the text for people who listen."""

from __future__ import annotations

import pytest

from commonplace.console.charts import (
    HEIGHT,
    WIDTH,
    bars,
    fill_pauses,
    format_value,
    line_chart,
    round_up,
)


@pytest.mark.parametrize(
    ("value", "top"), [(0, 1), (0.03, 0.05), (1, 1), (1.1, 2), (3, 5), (51, 100), (700, 1000)]
)
def test_an_axis_ends_at_a_round_number(value: float, top: float) -> None:
    assert round_up(value) == pytest.approx(top)


def test_lines_fall_to_zero_in_a_pause_and_at_both_ends() -> None:
    filled = fill_pauses([(100, 5), (110, 5), (400, 5)], 10)
    assert filled == [(90, 0), (100, 5), (110, 5), (120, 0), (390, 0), (400, 5), (410, 0)]
    assert fill_pauses([], 10) == []


def test_points_are_scaled_to_the_drawing_and_old_ones_left_out() -> None:
    chart = line_chart("Calls", {"calls": [(-5, 90), (0, 0), (50, 10), (100, 5)]}, 0, 100)
    (line,) = chart.lines
    assert chart.top == "10"
    assert line.points == f"0.0,{HEIGHT}.0 {WIDTH / 2:.1f},4.0 {WIDTH}.0,62.0"
    assert chart.summary == "Calls. calls: latest 5, at most 10."


def test_a_chart_without_values_says_so() -> None:
    chart = line_chart("Latency", {"mean": [], "slowest": []}, 0, 100, unit="ms")
    assert chart.summary == "Latency, ms. No values yet."
    assert [line.points for line in chart.lines] == ["", ""]


def test_bars_are_parts_of_the_longest() -> None:
    first, second = bars([("a", 10, 40), ("b", 0.1234, 20)], "ms")
    assert (first.percent, first.marker, first.text) == (25.0, 100.0, "10 / 40 ms")
    assert (second.marker, second.text) == (50.0, "0.123 / 20 ms")
    assert bars([("idle", 0, 0)], "ms")[0].percent == 0


def test_numbers_are_short() -> None:
    assert [format_value(value) for value in (0, 0.5, 12.345, 1234.5)] == [
        "0",
        "0.5",
        "12.3",
        "1,234",
    ]
