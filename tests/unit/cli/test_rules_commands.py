"""`commonplace rules`: what a person sees of a client's rule files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commonplace.cli import main


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "AGENTS.md").write_text("Use tabs.\n")
    (tmp_path / ".cursor/rules").mkdir(parents=True)
    (tmp_path / ".cursor/rules/ts.mdc").write_text("---\nglobs: **/*.ts\n---\nNo any.\n")
    return tmp_path


def test_the_rules_of_a_file_are_listed_with_reasons(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--repo", str(repo), "--as", "cursor", "--no-home"]
    assert main(["rules", "for", "src/a.ts", *options, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [rule["path"] for rule in answer["loaded"]] == [".cursor/rules/ts.mdc", "AGENTS.md"]
    assert main(["rules", "for", "a.py", *options]) == 0
    shown = capsys.readouterr().out
    assert "no touched file matches its globs" in shown
    assert main(["rules", "for", str(repo / "src/a.ts"), *options, "--text"]) == 0
    assert capsys.readouterr().out == "No any.\n\nUse tabs.\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["x", "--as", "nobody"],
        ["../../x", "--as", "codex"],
        ["x", "--as", "codex", "--setting", "novalue"],
        ["x", "--as", "codex", "--cwd", "/"],
    ],
)
def test_wrong_arguments_are_refused_with_a_hint(
    repo: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rules", "for", *arguments, "--repo", str(repo)]) == 2
    assert "hint:" in capsys.readouterr().err
