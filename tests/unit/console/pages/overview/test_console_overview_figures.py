"""What the overview says about a server: figures, problems, charts and caches."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from commonplace.console.pages.overview.figures import (
    content_figures,
    find_problems,
    format_duration,
    list_caches,
    make_charts,
    make_latency_bars,
    status_figures,
)

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
STATUS: dict[str, Any] = {
    "status": "ok",
    "version": "1.2",
    "uptime_seconds": 3700,
    "slot_seconds": 10,
    "timeline": [
        {"at": "2026-01-01T11:59:40Z", "calls": 20, "errors": 5, "average_ms": 2, "maximum_ms": 9}
    ],
}
INDEX: dict[str, Any] = {
    "pending": 0,
    "processing": 0,
    "dead": 0,
    "up_to_date": True,
    "oldest_queued_at": None,
    "dead_letters": [],
}


def method(**changes: Any) -> dict[str, Any]:
    return {"method": "file_read", "count": 100, "errors": 0, "p50Ms": 1, "p95Ms": 2, **changes}


def test_a_key_without_admin_sees_no_process_and_no_caches() -> None:
    figures = {figure.title: figure.text for figure in status_figures(STATUS, [method(errors=3)])}
    assert figures == {
        "Status": "ok, 1.2",
        "Up for": "1 h 1 min",
        "Calls": "100",
        "Errors": "3",
        "Process memory": "for admins",
    }
    assert list_caches(STATUS) is None
    assert [chart.title for chart in make_charts(STATUS, NOW)] == ["Calls per second", "Latency"]


def test_an_admin_sees_process_and_caches() -> None:
    caches = {"posting lists": {"entries": 1, "bytes": 2048, "most_bytes": 4096}}
    status = {**STATUS, "process": {"memory_bytes": 1024 * 1024}, "caches": caches}
    rows = list_caches(status)
    assert rows is not None
    assert (rows[0].size, rows[0].limit) == ("1 entry, 2.0 KiB", "4.0 KiB")
    assert make_charts(status, NOW)[2].title == "Memory of the process"


def test_the_chart_shows_calls_per_second_of_the_last_hour() -> None:
    calls, errors = make_charts(STATUS, NOW)[0].lines
    assert (calls.most, errors.most) == (2.0, 0.5)


def test_a_question_that_failed_has_no_figure() -> None:
    projects = {"projects": [{"files": 2}, {"files": 3}]}
    figures = content_figures(None, projects, {"total": 7}, {**INDEX, "pending": 1200})
    assert [(figure.title, figure.text) for figure in figures] == [
        ("Files", "5 in 2 projects"),
        ("Memories", "7"),
        ("Search index", "1,200 waiting"),
    ]
    assert content_figures({"count": 4}, {"projects": []}, None, INDEX)[1].text == "none yet"


def test_a_healthy_server_has_no_problems() -> None:
    assert find_problems(STATUS, [method(), method(count=5, errors=5)], INDEX, NOW) == []


def test_damage_a_late_index_and_bad_tools_are_problems_with_a_remedy() -> None:
    damage = {"file": "memory.db", "part": "entries", "problem": "hash", "remedy": "restore"}
    status = {**STATUS, "integrity": {"damage": [damage]}}
    index = {
        **INDEX,
        "pending": 2,
        "oldest_queued_at": "2026-01-01T11:58:00Z",
        "dead": 1,
        "dead_letters": [{"file_path": "/a.md", "error": "no text"}],
    }
    methods = [method(errors=30, p95Ms=2500)]
    problems = find_problems(status, methods, index, NOW)
    assert [problem.text for problem in problems] == [
        "memory.db is damaged: entries: hash",
        "The search index is 2 min 0 s behind: 2 files waiting.",
        "1 file could not be indexed: /a.md (no text)",
        "file_read: 30 % of 100 calls failed.",
        "file_read is slow: 5 % of calls need more than 2,500 ms.",
    ]
    assert "commonplace restore" in problems[0].action
    assert all(problem.action for problem in problems)


def test_the_busiest_tools_are_compared() -> None:
    methods = [method(method=f"tool-{number}", count=number) for number in range(20)]
    assert [bar.name for bar in make_latency_bars(methods)][:2] == ["tool-19", "tool-18"]
    assert len(make_latency_bars(methods)) == 8


def test_a_duration_has_two_units() -> None:
    durations = [format_duration(seconds) for seconds in (5, 65, 3700, 90_000)]
    assert durations == ["0 min 5 s", "1 min 5 s", "1 h 1 min", "1 d 1 h"]
