"""`commonplace rules check`: drift, losses and contradictions, for CI."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace.cli import main
from commonplace.kernel.json_types import Json

Run = Callable[..., Json]


@pytest.fixture
def run(clean_home: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str | Path, code: int = 0) -> Json:
        assert main([*map(str, arguments)]) == code
        printed = capsys.readouterr().out
        return json.loads(printed) if printed.startswith("{") else printed

    return run


@pytest.fixture
def repo(clean_home: Path, run: Run) -> Path:
    """A repository in step with the catalogue, with exported files."""
    repo = clean_home / "shop"
    (repo / "src").mkdir(parents=True)
    (repo / "src/a.go").touch()
    (repo / "AGENTS.md").write_text("# Shop\n\nUse tabs.\n")
    (repo / ".cursor/rules").mkdir(parents=True)
    (repo / ".cursor/rules/go.mdc").write_text('---\nglobs: "**/*.go"\n---\n# Go\n\nUse gofmt.\n')
    run("rules", "import", repo)
    run("rules", "export", repo, "--to", "kiro")
    run("rules", "sync", repo)
    return repo


def codes(report: Json) -> list[tuple[str, str]]:
    return [(finding["path"], finding["code"]) for finding in report["findings"]]


def test_a_repository_in_step_passes(repo: Path, run: Run) -> None:
    assert codes(run("rules", "check", repo, "--json")) == []
    assert codes(run("rules", "check", repo, "--catalogue", "--json")) == []


def test_drift_is_found_by_markers_and_records_without_a_catalogue(repo: Path, run: Run) -> None:
    edited = repo / ".kiro/steering/go.md"
    edited.write_text(edited.read_text().replace("gofmt", "gofumpt"))
    (repo / ".kiro/steering/agents-shop.md").unlink()
    report = run("rules", "check", repo, "--json", code=1)
    assert (".kiro/steering/go.md", "drift") in codes(report)
    assert (".kiro/steering/agents-shop.md", "drift") in codes(report)


def test_drift_and_conflicts_with_the_catalogue_are_found(repo: Path, run: Run) -> None:
    (repo / ".cursor/rules/go.mdc").write_text('---\nglobs: "**/*.go"\n---\n# Go\n\nNew.\n')
    report = run("rules", "check", repo, "--catalogue", "--json", code=1)
    assert (".cursor/rules/go.mdc", "drift") in codes(report)
    entry = {"id": "go", "body": "Catalogue.", "lax": True}
    run("call", "instructions_add", json.dumps({"entry": entry, "overwrite": True}))
    report = run("rules", "check", repo, "--catalogue", "--json", code=1)
    assert (".cursor/rules/go.mdc", "conflict") in codes(report)


def test_what_a_file_cannot_hold_is_a_loss(repo: Path, run: Run) -> None:
    entry = {"id": "agents-shop", "activation": "manual", "lax": True}
    run("call", "instructions_add", json.dumps({"entry": entry, "overwrite": True}))
    run("rules", "sync", repo)
    report = run("rules", "check", repo, "--catalogue", "--json")
    assert ("AGENTS.md", "loss") in codes(report)


def test_statements_that_contradict_each_other_are_found_with_their_lines(
    repo: Path, run: Run
) -> None:
    (repo / ".clinerules").mkdir()
    (repo / ".clinerules/style.md").write_text("# Style\n\nBe plain.\n\n- Use tabs.\n")
    (repo / ".claude/rules").mkdir(parents=True)
    (repo / ".claude/rules/format.md").write_text("# Format\n\n- Indent with 4 spaces.\n")
    (repo / ".claude/rules/sql.md").write_text(
        '---\npaths: ["**/*.sql"]\n---\n# SQL\n\nUse spaces.\n'
    )
    report = run("rules", "check", repo, "--json")
    found = [finding for finding in report["findings"] if finding["code"] == "conflict"]
    assert [(finding["path"], finding["line"]) for finding in found] == [
        (".clinerules/style.md", 5)
    ]
    assert ".claude/rules/format.md" in found[0]["message"]


def test_copies_that_contradict_each_other_are_found(repo: Path, run: Run) -> None:
    (repo / ".claude/rules").mkdir(parents=True)
    (repo / ".claude/rules/go.md").write_text("---\npaths: [src/**]\n---\n# Go\n\nUse gofmt.\n")
    (repo / ".clinerules").mkdir()
    (repo / ".clinerules/go.md").write_text("# Go\n\nUse goimports.\n")
    report = run("rules", "check", repo, "--json")
    found = [finding for finding in report["findings"] if finding["code"] == "conflict"]
    assert {finding["path"] for finding in found} >= {".clinerules/go.md"}
    assert run("rules", "check", repo, "--strict", code=1)


def test_sarif_names_places_that_hosts_can_open(repo: Path, run: Run) -> None:
    (repo / ".clinerules").mkdir()
    (repo / ".clinerules/a b#c.md").write_bytes(b"\xff")
    log = run("rules", "check", repo, "--sarif", code=1)
    assert set(log) == {"$schema", "version", "runs"}
    (sarif,) = log["runs"]
    rules = [rule["id"] for rule in sarif["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules))
    for result in sarif["results"]:
        assert result["ruleId"] in rules
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"]
        (place,) = result["locations"]
        assert place["physicalLocation"].get("region", {"startLine": 1})["startLine"] >= 1
    uris = {
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for result in sarif["results"]
    }
    assert ".clinerules/a%20b%23c.md" in uris


def test_loose_files_of_a_collection_are_scanned(repo: Path, run: Run) -> None:
    loose = repo / "collection/go.mdc"
    loose.parent.mkdir()
    loose.write_text("---\nglobs: **/*.nothing\n---\n# Go\n\nUse gofmt\u200b.\n")
    report = run("rules", "check", repo, "--json", code=1)
    found = [item["code"] for item in report["findings"] if item["path"] == "collection/go.mdc"]
    assert found == ["invalid-front-matter", "hidden-character"]
