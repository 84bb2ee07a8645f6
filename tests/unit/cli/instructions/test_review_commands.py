"""`commonplace instructions review`, `archive`, `removed` and `restore`: results and exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace.cli import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.delenv("INSTRUCTIONS_DIR", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(["--data", str(tmp_path / "home"), "instructions", *arguments])
        except SystemExit as ended:
            code = int(ended.code or 0)
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return command


def test_a_change_is_proposed_shown_and_approved(run: Run) -> None:
    run("add", "rule", "Old text.")
    code, _, error = run("review", "submit", "rule", "New text.", "-m", "why not")
    assert (code, "proposed a change of rule" in error) == (0, True)
    assert "rule" in run("review", "list")[1]
    _, shown, _ = run("review", "show", "rule")
    assert "-Old text." in shown
    assert "+New text." in shown
    assert "why not" in shown
    assert run("review", "comment", "rule", "hm")[0] == 0
    code, _, error = run("review", "approve", "rule", "--hash", "0" * 64)
    assert code == 5
    assert "is not as you saw it" in error
    assert run("review", "approve", "rule", "--yes")[0] == 0
    item = json.loads(run("show", "rule", "--json")[1])
    assert (item["body"], item["approvedBy"]) == ("New text.", "local")
    code, _, error = run("review", "show", "rule")
    assert code == 3
    assert "commonplace instructions review list" in error


def test_a_draft_goes_back_and_is_withdrawn(run: Run) -> None:
    run("review", "submit", "fresh", "A new rule.")
    code, _, error = run("review", "return", "fresh", "-m", "not yet")
    assert (code, "sent back fresh; it is draft" in error) == (0, True)
    assert json.loads(run("review", "list", "--json")[1])["count"] == 0
    assert json.loads(run("review", "list", "--state", "draft", "--json")[1])["count"] == 1


def test_a_rule_is_removed_and_archived_and_comes_back(run: Run) -> None:
    run("add", "rule", "Text.")
    code, _, error = run("remove", "rule", "--dry-run")
    assert (code, "would remove 1: rule" in error) == (0, True)
    assert run("remove", "rule", "-y")[0] == 0
    assert "rule" in run("removed")[1]
    assert run("restore", "rule")[0] == 0
    assert run("archive", "rule")[0] == 0
    assert "rule" in run("removed", "--archived")[1]
    code, _, error = run("show", "rule")
    assert code == 3
    assert "--archived" in error
    assert "Text." in run("show", "rule", "--archived")[1]
    assert run("archive", "rule", "--restore")[0] == 0
    assert run("archive", "none")[0] == 1
    assert run("restore")[0] == 2
    assert run("restore", "rule", "--backup", "x")[0] == 2


def test_a_bulk_removal_names_its_backup(run: Run) -> None:
    ids = [f"rule-{number}" for number in range(11)]
    for id_ in ids:
        run("add", id_, "Text.")
    code, _, error = run("remove", *ids, "-y")
    assert code == 0
    name = error.split("--backup ")[1].split()[0]
    assert name in run("removed", "--backups")[1]
    code, _, error = run("restore", "--backup", name)
    assert (code, "restored 11" in error) == (0, True)
    assert run("restore", "--backup", "none")[0] == 3
