"""`commonplace rules sync` on a catalogue in a folder and in PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace.cli import main
from commonplace.kernel.json_types import Json

Run = Callable[..., Json]
CURSOR = "---\n# kept as it is\nglobs: **/*.go\nalwaysApply: false\n---\n\n# Go\n\nUse gofmt.\n"


@pytest.fixture(params=["folder", "postgresql"])
def run(
    clean_home: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> Run:
    """Run a command on a catalogue of each kind."""
    config = clean_home / "catalogue.yaml"
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else ""
    config.write_text(f"settings:\n  storage:\n    url: {url}\n" if url else "settings: {}\n")

    def run(*arguments: str | Path, code: int = 0) -> Json:
        assert main(["--config", str(config), *map(str, arguments), "--json"]) == code
        printed = capsys.readouterr().out
        return json.loads(printed) if printed else None

    return run


@pytest.fixture
def repo(clean_home: Path) -> Path:
    repo = clean_home / "shop"
    (repo / ".cursor/rules").mkdir(parents=True)
    (repo / ".cursor/rules/go.mdc").write_text(CURSOR)
    (repo / "AGENTS.md").write_text("# Shop\n\nUse tabs.\n")
    return repo


def body_of(run: Run, id_: str) -> str | None:
    answer = run("call", "instructions_get", json.dumps({"id": id_}))
    return answer["item"]["body"] if "item" in answer else None


def edit(run: Run, id_: str, **fields: Json) -> None:
    entry = {"id": id_, "lax": True, **fields}
    run("call", "instructions_add", json.dumps({"entry": entry, "overwrite": True}))


def changes(report: Json) -> dict[str, Json]:
    names = ("to_catalogue", "to_files", "removed_from_catalogue", "removed_from_files")
    return {name: report[name] for name in (*names, "conflicts", "problems") if report[name]}


def test_changes_go_both_ways_and_nothing_moves_twice(repo: Path, run: Run) -> None:
    first = run("rules", "sync", repo)
    assert first["to_catalogue"] == [".cursor/rules/go.mdc", "AGENTS.md"]
    assert first["in_step"] == 2
    assert changes(run("rules", "sync", repo)) == {}
    edit(run, "go", body="# Go\n\nUse gofumpt.")
    (repo / "AGENTS.md").write_text("# Shop\n\nUse spaces.\n")
    assert changes(run("rules", "sync", repo, "--dry-run")) == {
        "to_catalogue": ["AGENTS.md"],
        "to_files": [".cursor/rules/go.mdc"],
    }
    report = run("rules", "sync", repo)
    assert changes(report) == {
        "to_catalogue": ["AGENTS.md"],
        "to_files": [".cursor/rules/go.mdc"],
    }
    assert (repo / ".cursor/rules/go.mdc").read_text() == CURSOR.replace("gofmt", "gofumpt")
    assert body_of(run, "agents-shop") == "# Shop\n\nUse spaces."
    assert changes(run("rules", "sync", repo)) == {}


def test_a_conflict_leaves_both_sides_until_somebody_decides(repo: Path, run: Run) -> None:
    run("rules", "sync", repo)
    edit(run, "agents-shop", body="Catalogue.")
    (repo / "AGENTS.md").write_text("File.\n")
    for _ in range(2):
        report = run("rules", "sync", repo, code=1)
        assert report["conflicts"] == {
            "AGENTS.md": "changed in the folder, changed in the catalogue"
        }
        assert (repo / "AGENTS.md").read_text() == "File.\n"
        assert body_of(run, "agents-shop") == "Catalogue."
    assert (repo / ".commonplace/conflicts/AGENTS.md").read_text() == "Catalogue.\n"
    run("rules", "sync", repo, "--prefer", "catalogue")
    assert (repo / "AGENTS.md").read_text() == "Catalogue.\n"
    backups = list((repo / ".commonplace/backup").rglob("AGENTS.md"))
    assert [backup.read_text() for backup in backups] == ["File.\n"]
    assert changes(run("rules", "sync", repo)) == {}


def test_removals_follow_unless_the_other_side_changed(repo: Path, run: Run) -> None:
    run("rules", "sync", repo)
    (repo / "AGENTS.md").unlink()
    run("call", "instructions_remove", '{"ids": ["go"]}')
    assert changes(run("rules", "sync", repo)) == {
        "removed_from_catalogue": ["AGENTS.md"],
        "removed_from_files": [".cursor/rules/go.mdc"],
    }
    assert not (repo / ".cursor/rules/go.mdc").exists()
    assert [copy.read_text() for copy in repo.rglob("backup/*/.cursor/rules/go.mdc")] == [CURSOR]
    assert body_of(run, "agents-shop") is None
    assert changes(run("rules", "sync", repo)) == {}


def test_a_file_that_cannot_be_read_removes_nothing(repo: Path, run: Run) -> None:
    run("rules", "sync", repo)
    (repo / "AGENTS.md").write_bytes(b"# Shop \xff\n")
    (repo / ".cursor/rules/go.mdc").unlink()
    (repo / ".cursor/rules/go.mdc").symlink_to("/nowhere/else.mdc")
    for arguments in ((), ("--to", "cursor", "--dry-run")):
        report = run("rules", "sync", repo, *arguments, code=1)
        assert changes(report).keys() == {"problems"}
        assert report["problems"].keys() == {"AGENTS.md", ".cursor/rules/go.mdc"}
        assert report["only_in_catalogue"] == []
    assert body_of(run, "agents-shop") == "# Shop\n\nUse tabs."
    (repo / "AGENTS.md").write_text("# Shop\n\nUse spaces.\n")
    (repo / ".cursor/rules/go.mdc").unlink()
    assert changes(run("rules", "sync", repo)) == {
        "to_catalogue": ["AGENTS.md"],
        "removed_from_catalogue": [".cursor/rules/go.mdc"],
    }


def test_an_emptied_file_removes_its_rule(repo: Path, run: Run) -> None:
    run("rules", "sync", repo)
    (repo / "AGENTS.md").write_text("\n")
    assert changes(run("rules", "sync", repo)) == {"removed_from_catalogue": ["AGENTS.md"]}


def test_a_sync_of_one_folder_leaves_the_rest_alone(repo: Path, run: Run) -> None:
    run("rules", "sync", repo)
    (repo / ".cursor/rules/go.mdc").write_text(CURSOR.replace("gofmt", "gofumpt"))
    assert changes(run("rules", "sync", repo / ".cursor/rules")) == {
        "to_catalogue": [".cursor/rules/go.mdc"]
    }
    assert body_of(run, "agents-shop") == "# Shop\n\nUse tabs."
    assert changes(run("rules", "sync", repo)) == {}


def test_line_ends_and_byte_order_mark_of_a_file_stay(repo: Path, run: Run) -> None:
    file = repo / ".cursor/rules/go.mdc"
    written = ("\ufeff" + CURSOR).replace("\n", "\r\n").encode()
    file.write_bytes(written)
    run("rules", "sync", repo)
    edit(run, "go", body="# Go\n\nUse gofumpt.")
    run("rules", "sync", repo)
    assert file.read_bytes() == written.replace(b"gofmt", b"gofumpt")
    assert changes(run("rules", "sync", repo)) == {}


def test_a_renamed_file_keeps_its_rule(repo: Path, run: Run) -> None:
    run("rules", "sync", repo)
    edit(run, "go", priority=7, owner="platform")
    moved = repo / ".cursor/rules/languages/golang.mdc"
    moved.parent.mkdir()
    (repo / ".cursor/rules/go.mdc").rename(moved)
    for arguments in (("--dry-run",), ()):
        report = run("rules", "sync", repo, *arguments)
        assert report["renamed"] == {".cursor/rules/go.mdc": ".cursor/rules/languages/golang.mdc"}
        assert changes(report) == {}
    item = run("call", "instructions_get", '{"id": "go"}')["item"]
    assert (item["priority"], item["owner"]) == (7, "platform")
    assert item["origin"]["file"] == ".cursor/rules/languages/golang.mdc"
    moved.write_text(CURSOR.replace("gofmt", "gofumpt"))
    report = run("rules", "sync", repo)
    assert (report["renamed"], report["to_catalogue"]) == (
        {},
        [".cursor/rules/languages/golang.mdc"],
    )
    assert body_of(run, "go") == "# Go\n\nUse gofumpt."


def test_a_rename_that_leaves_a_choice_is_not_followed(repo: Path, run: Run) -> None:
    run("rules", "sync", repo)
    for name in ("a", "b"):
        (repo / f".cursor/rules/{name}.mdc").write_text(CURSOR)
    (repo / ".cursor/rules/go.mdc").unlink()
    report = run("rules", "sync", repo)
    assert report["renamed"] == {}
    assert report["removed_from_catalogue"] == [".cursor/rules/go.mdc"]


def test_an_edit_survives_the_removal_on_the_other_side(repo: Path, run: Run) -> None:
    run("rules", "sync", repo)
    (repo / "AGENTS.md").unlink()
    edit(run, "agents-shop", body="Still wanted.")
    report = run("rules", "sync", repo, code=1)
    assert report["conflicts"] == {"AGENTS.md": "removed in the folder, changed in the catalogue"}
    run("rules", "sync", repo, "--prefer", "catalogue")
    assert (repo / "AGENTS.md").read_text() == "Still wanted.\n"


def test_most_of_a_side_is_not_removed_without_a_confirmation(repo: Path, run: Run) -> None:
    for number in range(12):
        (repo / f".cursor/rules/r{number}.mdc").write_text(f"Rule {number}.\n")
    run("rules", "sync", repo)
    for path in (repo / ".cursor/rules").glob("r*.mdc"):
        path.unlink()
    run("rules", "sync", repo, "--dry-run", code=2)
    run("rules", "sync", repo, code=2)
    assert run("call", "instructions_list", "{}")["count"] == 14
    assert len(run("rules", "sync", repo, "--allow-removals")["removed_from_catalogue"]) == 12


def test_the_state_of_another_catalogue_removes_nothing(
    repo: Path, run: Run, clean_home: Path
) -> None:
    run("rules", "sync", repo)
    other = clean_home / "other.yaml"
    other.write_text("settings: {}\n")
    (clean_home / "other").mkdir()
    arguments = ["--config", str(other), "--data", str(clean_home / "other")]
    assert main([*arguments, "rules", "sync", str(repo)]) == 0
    assert (repo / "AGENTS.md").exists()
    assert main([*arguments, "call", "instructions_get", '{"id": "agents-shop"}']) == 0


def test_a_field_that_the_file_cannot_say_stays_in_the_catalogue(repo: Path, run: Run) -> None:
    run("rules", "sync", repo)
    edit(run, "agents-shop", activation="manual", priority=7)
    report = run("rules", "sync", repo)
    assert [loss["field"] for loss in report["losses"]] == ["activation"]
    (repo / "AGENTS.md").write_text("# Shop\n\nChanged.\n")
    run("rules", "sync", repo)
    item = run("call", "instructions_get", '{"id": "agents-shop"}')["item"]
    assert (item["body"], item["activation"], item["priority"]) == (
        "# Shop\n\nChanged.",
        "manual",
        7,
    )
    assert changes(run("rules", "sync", repo)) == {}


def test_exported_files_are_synchronised_by_their_markers(repo: Path, run: Run) -> None:
    edit(run, "house", body="House rule.", activation="always", priority=5)
    run("rules", "export", repo, "--to", "gemini", "--id", "house")
    assert changes(run("rules", "sync", repo))["to_catalogue"] == [
        ".cursor/rules/go.mdc",
        "AGENTS.md",
    ]
    gemini = repo / "GEMINI.md"
    gemini.write_text(gemini.read_text().replace("House rule.", "House rule, edited."))
    assert changes(run("rules", "sync", repo)) == {"to_catalogue": ["GEMINI.md#house"]}
    assert body_of(run, "house") == "House rule, edited."
    edit(run, "house", body="House rule, again.")
    assert changes(run("rules", "sync", repo)) == {"to_files": ["GEMINI.md#house"]}
    assert "House rule, again." in gemini.read_text()
    assert changes(run("rules", "sync", repo)) == {}


def test_a_rule_with_several_files_stays_one_rule(repo: Path, run: Run) -> None:
    run("rules", "sync", repo)
    run("rules", "export", repo, "--to", "kiro")
    assert changes(run("rules", "sync", repo)) == {}
    copy = repo / ".kiro/steering/go.md"
    copy.write_text(copy.read_text().replace("gofmt", "gofumpt"))
    report = run("rules", "sync", repo)
    assert report["to_catalogue"] == [".kiro/steering/go.md"]
    assert report["to_files"] == [".cursor/rules/go.mdc"]
    assert "gofumpt" in (repo / ".cursor/rules/go.mdc").read_text()
    copy.unlink()
    assert changes(run("rules", "sync", repo)) == {}
    assert body_of(run, "go") == "# Go\n\nUse gofumpt."
    assert run("call", "instructions_list", "{}")["count"] == 2
    report = run("rules", "import", repo)
    assert not {"imported", "updated", "conflict"} & set(report["counts"])


def make_org_rules(run: Run) -> None:
    edit(run, "house", body="House rule.", categories=["style"])
    edit(run, "keys", body="Never log keys.", categories=["security"], appliesTo=["src/**"])
    edit(run, "core", body="Core team.", categories=["security"], teamIds=["core"])
    edit(run, "idea", body="Not yet.", categories=["security"], status="draft")


def test_rules_of_the_catalogue_are_written_for_the_chosen_client(repo: Path, run: Run) -> None:
    make_org_rules(run)
    run("rules", "sync", repo)
    assert sorted(run("rules", "sync", repo)["only_in_catalogue"]) == [
        "core",
        "house",
        "idea",
        "keys",
    ]
    chosen = ("rules", "sync", repo, "--to", "cursor", "--category", "security")
    assert changes(run(*chosen, "--dry-run")) == {"to_files": [".cursor/rules/keys.mdc"]}
    assert not (repo / ".cursor/rules/keys.mdc").exists()
    assert changes(run(*chosen)) == {"to_files": [".cursor/rules/keys.mdc"]}
    content = (repo / ".cursor/rules/keys.mdc").read_text()
    assert 'globs: "src/**"' in content
    assert "<!-- commonplace rule=keys hash=" in content
    assert changes(run("rules", "sync", repo)) == {}


def test_what_the_catalogue_gains_later_is_written_by_the_next_sync(repo: Path, run: Run) -> None:
    make_org_rules(run)
    run("rules", "sync", repo, "--to", "kiro", "--to", "cursor")
    edit(run, "later", body="Later rule.")
    paths = [".cursor/rules/later.mdc", ".kiro/steering/later.md"]
    findings = run("rules", "check", repo, "--catalogue", code=1)["findings"]
    assert [f["message"] for f in findings if "later" in f["message"]] == [
        "The catalogue's rule later has no file for cursor.",
        "The catalogue's rule later has no file for kiro.",
    ]
    assert sorted(changes(run("rules", "sync", repo))["to_files"]) == paths
    assert changes(run("rules", "sync", repo)) == {}
    copy = repo / paths[0]
    copy.write_text(copy.read_text().replace("Later rule.", "Later rule, edited."))
    report = run("rules", "sync", repo)
    assert changes(report) == {"to_catalogue": [paths[0]], "to_files": [paths[1]]}
    assert body_of(run, "later") == "Later rule, edited."
    run("call", "instructions_remove", '{"ids": ["later"]}')
    assert changes(run("rules", "sync", repo)) == {"removed_from_files": paths}
    run("rules", "sync", repo, "--to", "none")
    edit(run, "unwanted", body="Another rule.")
    assert changes(run("rules", "sync", repo)) == {}


def test_a_named_rule_that_cannot_be_written_is_a_problem(repo: Path, run: Run) -> None:
    make_org_rules(run)
    named = ("--to", "cursor", "--id", "idea", "--id", "nothing", "--id", "core")
    report = run("rules", "sync", repo, *named, code=1)
    assert report["problems"] == {
        "idea": "its status is draft",
        "nothing": "there is no such rule",
    }
    assert ".cursor/rules/core.mdc" in report["to_files"]


def test_both_sides_of_a_written_rule_may_change(repo: Path, run: Run) -> None:
    make_org_rules(run)
    run("rules", "sync", repo, "--to", "cursor")
    path = repo / ".cursor/rules/house.mdc"
    path.write_text(path.read_text().replace("House rule.", "File."))
    edit(run, "house", body="Catalogue.")
    report = run("rules", "sync", repo, code=1)
    assert [*report["conflicts"]] == [".cursor/rules/house.mdc"]
    assert "File." in path.read_text()
    assert body_of(run, "house") == "Catalogue."


def test_a_deleted_file_of_an_organisation_rule_is_not_written_again(repo: Path, run: Run) -> None:
    make_org_rules(run)
    run("rules", "sync", repo, "--to", "cursor")
    path = repo / ".cursor/rules/house.mdc"
    path.unlink()
    report = run("rules", "sync", repo)
    assert (changes(report), report["declined"]) == ({}, ["house"])
    assert body_of(run, "house") == "House rule."
    findings = run("rules", "check", repo, "--catalogue")["findings"]
    assert [finding for finding in findings if finding["severity"] == "error"] == []
    (repo / ".commonplace/rules-sync.json").unlink()  # as in another clone
    report = run("rules", "sync", repo)
    assert (changes(report), report["declined"]) == ({}, ["house"])
    report = run("rules", "sync", repo, "--id", "house")
    assert changes(report) == {"to_files": [".cursor/rules/house.mdc"]}
    assert path.exists()


def test_files_of_people_are_not_touched_by_rules_of_the_catalogue(repo: Path, run: Run) -> None:
    make_org_rules(run)
    edit(run, "go", body="Go, of the organisation.")
    run("rules", "sync", repo)
    report = run("rules", "sync", repo, "--to", "cursor")
    assert ".cursor/rules/go-2.mdc" in report["to_files"]
    assert (repo / ".cursor/rules/go.mdc").read_text() == CURSOR
    report = run("rules", "sync", repo, "--to", "agents-md", "--scope", "team=core", code=1)
    assert report["to_files"] == []
    assert report["problems"]["AGENTS.md#core"].startswith("written by a person")
    assert (repo / "AGENTS.md").read_text() == "# Shop\n\nUse tabs.\n"


def test_sections_of_shared_files_are_added_and_stay_deleted(repo: Path, run: Run) -> None:
    make_org_rules(run)
    run("rules", "sync", repo)
    report = run("rules", "sync", repo, "--to", "gemini", "--category", "style")
    assert report["to_files"] == ["GEMINI.md#house"]
    edit(run, "tidy", body="Tidy up.", categories=["style"])
    assert run("rules", "sync", repo)["to_files"] == ["GEMINI.md#tidy"]
    gemini = repo / "GEMINI.md"
    assert gemini.read_text().count("commonplace begin=") == 2
    kept = gemini.read_text().partition("<!-- commonplace begin=tidy")[0]
    gemini.write_text(kept)
    report = run("rules", "sync", repo)
    assert (changes(report), report["declined"]) == ({}, ["tidy"])
    assert body_of(run, "tidy") == "Tidy up."
    assert gemini.read_text() == kept


def test_a_clone_has_no_drift_where_a_file_cannot_say_everything(repo: Path, run: Run) -> None:
    edit(run, "tests", body="Name tests.", appliesTo=["**/*_test.py"])
    report = run("rules", "sync", repo, "--to", "gemini", "--to", "cline")
    assert {loss["field"] for loss in report["losses"]}
    (repo / ".commonplace/rules-sync.json").unlink()  # as in another clone
    findings = run("rules", "check", repo, "--catalogue")["findings"]
    assert [finding for finding in findings if finding["code"] == "drift"] == []
    assert changes(run("rules", "sync", repo)) == {}


@pytest.mark.parametrize(
    "arguments",
    [
        ("--to", "emacs"),
        ("--to", "cursor", "--scope", "galaxy"),
        ("--to", "cursor", "--scope", "team="),
        ("--category", "style"),
    ],
)
def test_choices_that_make_no_sense_are_refused(
    repo: Path, run: Run, arguments: tuple[str, ...]
) -> None:
    run("rules", "sync", repo, *arguments, code=2)
    assert not (repo / ".commonplace-rules.json").exists()
