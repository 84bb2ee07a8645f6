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


def test_a_check_of_clean_rule_files_succeeds(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / "a.ts").touch()
    (repo / ".cursor/rules/ts.mdc").write_text('---\nglobs: "**/*.ts"\n---\nNo any.\n')
    assert main(["rules", "check", str(repo)]) == 0
    assert "2 checked, nothing found" in capsys.readouterr().err


def test_a_check_fails_on_errors_and_strictly_on_warnings(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rules", "check", str(repo)]) == 0
    assert main(["rules", "check", str(repo), "--strict"]) == 1
    (repo / "CLAUDE.md").write_text("zero\u200bwidth | pipe\n")
    capsys.readouterr()
    assert main(["rules", "check", str(repo), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["counts"]["error"] == 1
    assert {file["client"] for file in report["files"]} == {"agents-md", "claude-code", "cursor"}


def test_reports_have_the_forms_of_code_hosts(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / "CLAUDE.md").write_text("zero\u200bwidth | pipe `x`\n")
    assert main(["rules", "check", str(repo), "--sarif"]) == 1
    log = json.loads(capsys.readouterr().out)
    results = log["runs"][0]["results"]
    assert log["version"] == "2.1.0"
    assert {result["ruleId"] for result in results} == {
        rule["id"] for rule in log["runs"][0]["tool"]["driver"]["rules"]
    }
    place = results[-1]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "CLAUDE.md"}, "region": {"startLine": 1}}
    assert main(["rules", "check", str(repo), "--markdown"]) == 1
    summary = capsys.readouterr().out
    assert "\u200b" not in summary
    assert "`U+200B ZERO WIDTH SPACE is not visible. <U+200B>width ¦ pipe 'x'`" in summary


def test_the_rules_in_effect_come_from_catalogue_and_files(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "data"))
    added = ["add", "kind", "Be kind.", "--applies-to", "src/**", "--owner", "ann"]
    assert main(["instructions", *added, "--requirement", "mandatory"]) == 0
    assert main(["instructions", "add", "mine", "Only mine.", "--activation", "manual"]) == 0
    assert main(["instructions", "show", "kind"]) == 0
    assert "src/**" in capsys.readouterr().out
    asked = ["rules", "for", "src/a.ts", "src/b.py", "--repo", str(repo)]
    assert main([*asked, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    refs = [rule["ref"] for rule in answer["rules"]]
    assert refs == ["instruction:kind", ".cursor/rules/ts.mdc", "AGENTS.md"]
    assert main([*asked, "--rule", "mine"]) == 0
    shown = capsys.readouterr()
    assert "src/a.ts matches src/**" in shown.out
    assert "instruction:mine" in shown.out
    assert "of 8,000 tokens" in shown.err
    assert main([*asked, "--text"]) == 0
    assert capsys.readouterr().out == "Be kind.\n\nNo any.\n\nUse tabs.\n"
    assert main([*asked, "--as", "cursor"]) == 2
    assert main(["rules", "for", "../x", "--repo", str(repo)]) == 2
