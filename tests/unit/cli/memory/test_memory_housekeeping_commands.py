"""`commonplace memory decide`, `confirm`, `timeline` and `purge`."""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import orjson
import pytest

from commonplace.cli.commands import run

Typed = Callable[..., tuple[int, str]]
IDLE = "The gateway closes idle connections after 30 seconds, so clients must reconnect."


@pytest.fixture
def typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Typed:
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("COMMONPLACE_MODELS", raising=False)
    monkeypatch.chdir(tmp_path)

    def line(*words: str) -> tuple[int, str]:
        code = run(["--data", str(tmp_path / "home"), "memory", *words])
        said = capsys.readouterr()
        assert "Traceback" not in said.out + said.err
        return code, said.out

    return line


def answer(typed: Typed, *words: str) -> Any:
    code, text = typed(*words, "--json")
    assert code == 0, text
    return orjson.loads(text)


def unwrap(text: str) -> str:
    """Return what was printed on one line, whatever the width of the terminal."""
    return " ".join(text.split())


def add(typed: Typed, title: str, content: str, project: str = "shop") -> str:
    return str(answer(typed, "add", "bug", title, "-c", content, "-p", project)["id"])


def test_duplicates_are_counted_then_merged(typed: Typed) -> None:
    first = add(typed, "Idle connections", IDLE)
    add(typed, "Idle connections again", f"{IDLE} Seen on staging.")
    code, text = typed("decide", "accept", "--kind", "duplicate", "--dry-run")
    assert (code, "duplicate" in text) == (0, True)
    assert answer(typed, "show", first)["status"] == "active"
    code, text = typed("decide", "accept", "--kind", "duplicate", "-p", "shop")
    assert (code, text.splitlines()[-1]) == (
        0,
        "accepted 1 of 1, 0 links created, 1 merged",
    )
    assert answer(typed, "show", first)["status"] == "obsolete"
    assert answer(typed, "decide", "reject")["matched"] == 0


def test_what_to_do_next_is_said(
    typed: Typed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def complaint(*words: str) -> tuple[int, str]:
        code = run(["--data", str(tmp_path / "home"), "memory", *words])
        return code, unwrap(capsys.readouterr().err)

    for decision in (("accept",), ("reject", "--dry-run")):
        code, said = complaint("decide", *decision, "-p", "nowhere")
        assert (code, "no pending suggestion matches" in said) == (0, True)
    for day in ("2026-13-01", "yesterday", "20260101"):
        code, said = complaint("timeline", "--until", day)
        assert (code, "YYYY-MM-DD" in said) == (2, True)
    assert typed("timeline", "--until", "2026-01-01")[0] == 0


def test_an_entry_is_confirmed_and_refuted(typed: Typed) -> None:
    entry = add(typed, "Pool size", "Forty.")
    assert "strength 0.68" in unwrap(typed("confirm", entry)[1])
    refuted = unwrap(typed("confirm", entry, "--refuted", "--note", "No.")[1])
    assert "(1 confirmed, 1 refuted)" in refuted
    assert "1 confirmed, 1 refuted" in unwrap(typed("show", entry)[1])
    assert "0.57" in typed("search", "pool", "size", "--explain")[1]  # its strength


def test_the_timeline_is_grouped_by_day(typed: Typed) -> None:
    entry = add(typed, "Pool size", "Forty.")
    typed("edit", entry, "--title", "Size of the pool")
    code, text = typed("timeline", "--days", "2")
    assert code == 0
    assert "1 added, 1 changed" in unwrap(text)
    assert "Size of the pool" in unwrap(text)
    found = answer(typed, "timeline", "--id", entry, "--limit", "1")
    assert (found["total"], found["has_more"]) == (2, True)
    assert typed("timeline", "--until", "tomorrow")[0] == 2


def test_the_timeline_has_the_times_of_a_zone(
    typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(typed, "Queue", "The queue is full.")
    [event] = answer(typed, "timeline")["events"]
    added = datetime.fromisoformat(event["at"])
    for name in ("Asia/Kolkata", "America/New_York"):
        monkeypatch.setenv("TZ", name)
        local = added.astimezone(ZoneInfo(name))
        _, text = typed("timeline")
        assert f"{local:%H:%M}" in text
        assert local.date().isoformat() in text
    assert f"{added:%H:%M}" in typed("timeline", "--timezone", "UTC")[1]
    assert typed("timeline", "--timezone", "Europe/Atlantis")[0] == 2


def test_time_zones_are_known_where_the_system_has_none(typed: Typed) -> None:
    zoneinfo.reset_tzpath(to=())  # as in a small container
    ZoneInfo.clear_cache()
    try:
        assert typed("timeline", "--timezone", "Europe/Paris")[0] == 0
    finally:
        zoneinfo.reset_tzpath()


def test_a_purge_asks_and_says_what_it_removed(typed: Typed, tmp_path: Path) -> None:
    entry = add(typed, "Leaked", "The word is xyzzy9.")
    typed("edit", entry, "--content", "Gone.")
    typed("rm", entry)
    assert typed("purge", "--dry-run")[1] == "would purge 1 entries and 2 earlier states\n"
    assert typed("purge", "--days", "3", "--dry-run")[1].startswith("would purge 0 entries")
    assert typed("purge")[0] != 0  # nobody answers the question
    assert typed("purge", "--yes")[1] == "purged 1 entries and 2 earlier states\n"
    assert typed("purge", "--yes")[1] == "purged 0 entries and 0 earlier states\n"
    assert typed("purge", entry, "--days", "3")[0] == 2
    stored = [path for path in (tmp_path / "home").glob("memory.db*") if path.is_file()]
    assert stored
    assert not any(b"xyzzy9" in path.read_bytes() for path in stored)


def test_an_export_has_one_project(typed: Typed, tmp_path: Path) -> None:
    add(typed, "Kept here", "One.", "shop")
    add(typed, "Not here", "Two.", "blog")
    done = answer(typed, "export", "shop.jsonl", "--project", "shop")
    assert done["entries"] == 1
    assert "Not here" not in (tmp_path / "shop.jsonl").read_text()
