"""`commonplace memory ...` as a person types it, in a data folder of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from commonplace.cli.commands import run
from commonplace.cli.memory import current_project

Typed = Callable[..., tuple[int, str]]


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Typed:
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / "src").mkdir()
    monkeypatch.chdir(tmp_path / "shop" / "src")

    def line(*words: str) -> tuple[int, str]:
        code = run(["--data", str(tmp_path / "home"), "memory", *words])
        return code, capsys.readouterr().out

    return line


def answer(typed: Typed, *words: str) -> Any:
    code, text = typed(*words, "--json")
    assert code == 0, text
    return orjson.loads(text)


def test_the_project_is_the_repository_around_or_the_folder(tmp_path: Path) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / "a" / "b").mkdir(parents=True)
    assert current_project(tmp_path / "shop" / "a" / "b") == "shop"
    (tmp_path / "plain").mkdir()
    assert current_project(tmp_path / "plain") == "plain"


def test_an_entry_is_added_found_shown_corrected_and_removed(typed: Typed) -> None:
    added = answer(typed, "add", "bug", "Safari drops the CORS header", "-c", "List each custom header.", "-t", "cors,safari")
    shown = answer(typed, "show", added["id"])
    assert (shown["project"], shown["tags"]) == ("shop", ["cors", "safari"])
    found = answer(typed, "search", "safari", "header", "--project", ".", "--why")
    assert [result["id"] for result in found["results"]] == [added["id"]]
    assert answer(typed, "list", "--tag", "cors")["total"] == 1
    answer(typed, "edit", added["id"], "--title", "Safari needs the header listed", "--obsolete")
    assert answer(typed, "list", "--obsolete")["entries"][0]["title"] == "Safari needs the header listed"
    assert answer(typed, "rm", added["id"])["deleted"] is True
    assert answer(typed, "list", "--deleted")["total"] == 1
    assert answer(typed, "rm", added["id"], "--restore")["deleted"] is False
    assert answer(typed, "stats")["entries"] == 1
    assert answer(typed, "reindex") == {"entries": 1, "vectors": 0}
    assert answer(typed, "stale", "--days", "1")["total"] == 0


def test_links_are_drawn_and_listed(typed: Typed) -> None:
    first = answer(typed, "add", "bug", "First entry")["id"]
    second = answer(typed, "add", "config", "Second entry")["id"]
    answer(typed, "link", first, second, "--relation", "derived_from")
    assert [node["id"] for node in answer(typed, "related", second)["entries"]] == [second, first]
    code, text = typed("graph", second)
    assert code == 0
    assert "derived_from" in text
    assert "First entry" in text


def test_suggestions_are_listed_decided_and_generalised(typed: Typed) -> None:
    ids = [answer(typed, "add", "bug", f"Deploy failed, {day}", "-c", "OSError: No space left on device. Cleared the cache.")["id"]
           for day in ("monday", "tuesday", "friday")]  # fmt: skip
    listed = answer(typed, "suggest")
    assert listed["links"]["total_pending"] > 0
    [cluster] = listed["generalize"]["suggestions"]
    code, command = typed("suggest", "--accept", cluster["id"])
    assert code == 0
    assert command.split()[:2] == ["rekall", "generalize"]
    dry = answer(typed, "generalize", *ids, "--dry-run")
    assert dry["id"] is None
    assert "No space left on device" in dry["content"]
    kept = answer(typed, "generalize", *ids, "--title", "Runners fill up")
    assert answer(typed, "show", kept["id"])["title"] == "Runners fill up"
    answer(typed, "suggest", "--reject", listed["links"]["suggestions"][0]["id"])


def test_memory_is_exported_and_imported(typed: Typed, tmp_path: Path) -> None:
    answer(typed, "add", "bug", "First entry")
    for name, format_ in (("a.rekall.zip", "archive"), ("b.jsonl", "jsonl"), ("vault", "obsidian")):
        assert answer(typed, "export", str(tmp_path / name))["format"] == format_
        done = answer(typed, "import", str(tmp_path / name), "--dry-run")
        assert (done["read"], done["known"], done["entries"]) == (1, 1, 0)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("show", "01HXAAAAAAAAAAAAAAAAAAAAAA"), 3),
        (("add", "poem", "x"), 2),
        (("import", "no-such-file.json"), 2),
        (("suggest", "--accept", "nothing"), 3),
    ],
)
def test_failures_have_their_exit_codes(typed: Typed, words: tuple[str, ...], code: int) -> None:
    assert typed(*words)[0] == code


@pytest.mark.parametrize("command", ["search x", "list", "stats", "stale", "suggest"])
def test_tables_are_printed_for_people(typed: Typed, command: str) -> None:
    answer(typed, "add", "bug", "x marks [bold]the spot[/bold]")
    code, text = typed(*command.split())
    assert code == 0
    if command in ("search x", "list"):
        assert "[bold]the" in text
