"""`commonplace instructions`: results, messages and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commonplace.cli import main


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
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


def test_a_catalogue_from_start_to_restore(
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # type: ignore[no-untyped-def]
    code, _, error = run("init")
    assert code == 0
    assert "gates.json" in error
    assert "already" in run("init")[2]
    listing = json.loads(run("list", "--json")[1])
    assert listing["count"] == 4
    code, _, error = run("add", "be-kind", "Be kind.", "-c", "people", "--priority", "7")
    assert (code, "added be-kind 1.0.0" in error) == (0, True)
    assert run("add", "be-kind", "Again.")[0] == 1
    assert run("add", "Bad Id", "x")[0] == 1
    monkeypatch.setenv("EDITOR", "sed -i s/kind/kinder/")
    assert "changed be-kind 1.0.1" in run("edit", "be-kind")[2]
    assert "Be kinder." in run("show", "be-kind")[1]
    assert "+Be kinder." in run("show", "be-kind", "--history")[1]
    assert "be-kind" in run("search", "kinder")[1]
    assert run("lint")[0] == 0
    assert "flowchart TB" in run("graph")[1]
    assert run("remove", "--yes", "be-kind")[0] == 0
    code, _, error = run("show", "be-kind")
    assert (code, "no instruction be-kind" in error) == (3, True)
    assert run("restore", "be-kind")[0] == 0
    assert "Be kinder." in run("show", "be-kind")[1]


def test_export_and_import_move_a_catalogue(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    run("init")
    assert run("export", str(tmp_path / "all.json"))[0] == 0
    for name in ("secrets-stay-out", "amend-do-not-add"):
        run("remove", "-y", name)
    code, out, _ = run("import", str(tmp_path / "all.json"), "--json")
    assert code == 0
    assert {name: json.loads(out)[name] for name in ("imported", "skipped", "total")} == {
        "imported": 2,
        "skipped": 2,
        "total": 4,
    }
    folder = tmp_path / "folder"
    folder.mkdir()
    assert run("export", str(folder), "--id", "secrets-stay-out")[0] == 0
    assert run("import", str(folder), "--mode", "overwrite")[0] == 0
    (folder / "bad.json").write_text("[3]")
    assert run("import", str(folder))[0] == 1


def test_a_folder_with_gates_and_criteria_is_imported_like_any_other(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    run("init")
    run("add", "be-kind", "Be kind.")
    taken = tmp_path / "taken"
    (tmp_path / "home" / "instructions").rename(taken)
    code, out, _ = run("import", str(taken), "--json")
    assert (code, json.loads(out)["imported"], json.loads(out)["errors"]) == (0, 5, [])


def editor(folder: Path, script: str) -> str:
    path = folder / "editor"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_a_draft_that_cannot_be_saved_is_kept(
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # type: ignore[no-untyped-def]
    run("add", "be-kind", "Be kind.")
    stored = tmp_path / "home" / "instructions" / "be-kind.json"
    somebody_else = f"sed -i 's/Be kind/Be kinder/' {stored}"
    monkeypatch.setenv("EDITOR", editor(tmp_path, f"echo 'An hour of work.' > $1; {somebody_else}"))
    code, _, error = run("edit", "be-kind")
    assert code == 5
    kept = Path(error.split("your text is kept in ")[1].split()[0])
    assert kept.read_text() == "An hour of work.\n"
    assert "Be kinder." in run("show", "be-kind")[1]


@pytest.mark.parametrize(
    ("script", "says", "kept"),
    [("exit 3", "ended with 3", False), ("printf '\\377' > $1", "UTF-8", True)],
)
def test_an_editor_that_fails_changes_nothing(  # type: ignore[no-untyped-def]
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, says: str, kept: bool
) -> None:
    run("add", "be-kind", "Be kind.")
    monkeypatch.setenv("EDITOR", editor(tmp_path, script))
    code, _, error = run("edit", "be-kind")
    assert (code, says in error, "your text is kept" in error) == (2, True, kept)
    assert "Be kind." in run("show", "be-kind")[1]


def test_lint_finds_problems(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    run("init")
    catalogue = tmp_path / "home" / "instructions"
    (catalogue / "broken.json").write_text("{")
    (catalogue / "drifted.json").write_text(
        json.dumps({"id": "drifted", "body": "x", "sourceHash": "0" * 64, "dependencies": ["gone"]})
    )
    (catalogue / "twin.json").write_text(
        json.dumps({"id": "twin", "body": "x", "nextReviewDue": "2020-01-01T00:00:00Z"})
    )
    code, out, _ = run("lint", "--json")
    assert code == 1
    found = {(problem["where"], problem["severity"]) for problem in json.loads(out)["problems"]}
    assert found == {
        ("broken.json", "error"),
        ("drifted", "error"),
        ("drifted", "warn"),
        ("twin", "warn"),
    }


def test_lint_reports_unreadable_values(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    run("init")
    catalogue = tmp_path / "home" / "instructions"
    (catalogue / "a.json").write_text(
        json.dumps(
            {"id": "a", "body": "x", "priority": "high", "categories": "a,b", "prioritty": 1}
        )
    )
    (catalogue / "team").mkdir()
    (catalogue / "team" / "b.json").write_text("{}")
    code, out, _ = run("lint", "--json")
    problems = {(problem["where"], problem["problem"]) for problem in json.loads(out)["problems"]}
    assert code == 0
    assert ("a", 'priority: "high" cannot be read; it is read as 50') in problems
    assert ("a", 'categories: "a,b" cannot be read; it is read as uncategorized') in problems
    assert ("a", "prioritty: is not a field of an instruction. Did you mean priority?") in problems
    assert any(where == "team/" for where, _ in problems)


def test_the_starter_set_passes_its_own_gates_and_rules(run) -> None:  # type: ignore[no-untyped-def]
    run("init")
    assert run("lint", "--json")[0] == 0
    code, out, _ = run("groom", "--dry-run", "--json")
    assert (code, json.loads(out)["notes"]) == (0, [])
