"""A folder in git and the catalogue of a team, kept in step both ways."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.instructions.assembly import open_shared_store
from commonplace.instructions.engine.codec import prepare_change
from commonplace.instructions.engine.mirror import Side
from commonplace.instructions.engine.normalise import ReadingRules
from commonplace.instructions.errors import CONFIRMATION_REQUIRED
from commonplace.instructions.model import Author, InstructionChange
from commonplace.instructions.store.mirror_folder import MirrorFolder
from commonplace.instructions.store.postgres.contents import SharedContents
from commonplace.instructions.store.postgres.leadership import SyncLeadership
from commonplace.instructions.use_cases.mirroring import CatalogueMirror, MirrorReport
from commonplace.kernel.clock import iso, utc_now
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import InstructionsSettings
from commonplace.storage.postgres.database import PostgresDatabase, open_database

ANN = Author("local", "ann")


class Team:
    """A catalogue in PostgreSQL, and folders that are synchronised with it."""

    def __init__(self, database: PostgresDatabase) -> None:
        self.database = database
        settings = InstructionsSettings(watch=False)
        self.store = open_shared_store(database, settings, lambda: iso(utc_now()))
        self.store.open()
        self.contents = SharedContents(database, self.store)

    def write(self, id_: str, body: str) -> None:
        change = prepare_change({"id": id_, "title": id_, "body": body}, "add", ReadingRules())
        with self.store.exclusive():
            self.store.commit([change], ANN)

    def remove(self, *ids: str) -> None:
        with self.store.exclusive():
            self.store.commit([InstructionChange(id_, None, None, "remove") for id_ in ids], ANN)

    def mirror(
        self, folder: Path, prefer: Side | None = None, *, allow_removals: bool = False
    ) -> CatalogueMirror:
        mirrored = MirrorFolder(folder, self.contents.identity())
        return CatalogueMirror(
            self.store, self.contents, mirrored, ANN, prefer=prefer, allow_removals=allow_removals
        )

    def sync(
        self, folder: Path, prefer: Side | None = None, *, allow_removals: bool = False
    ) -> MirrorReport:
        mirror = self.mirror(folder, prefer, allow_removals=allow_removals)
        return mirror.apply(mirror.compare())

    def body(self, id_: str) -> str | None:
        entry = self.store.catalogue.get(id_)
        return None if entry is None else str(entry.document["body"])


@pytest.fixture
def team(postgres_url: str) -> Iterator[Team]:
    with open_database(postgres_url, pool_size=2) as database:
        opened = Team(database)
        yield opened
        opened.store.close()


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    folder = tmp_path / "rules"
    folder.mkdir()
    return folder


def put(folder: Path, id_: str, body: str) -> Path:
    path = folder / f"{id_}.json"
    path.write_text(json.dumps({"id": id_, "body": body}))
    return path


def body_in(folder: Path, id_: str) -> str:
    return str(json.loads((folder / f"{id_}.json").read_text())["body"])


def test_changes_go_both_ways_byte_by_byte(team: Team, rules: Path) -> None:
    team.write("a", "From the team")
    path = put(rules, "b", "From the folder")
    written = path.read_bytes()
    report = team.sync(rules)
    assert (report.to_database, report.to_folder, report.in_step) == (["b.json"], ["a.json"], 2)
    assert path.read_bytes() == written  # not rewritten, whatever its layout
    assert team.store.read_bytes("b") == written
    assert (rules / "a.json").read_bytes() == team.store.read_bytes("a")
    assert not team.sync(rules).changed
    team.write("a", "Changed by the team")
    put(rules, "b", "Changed in the folder")
    team.sync(rules)
    assert (body_in(rules, "a"), team.body("b")) == ("Changed by the team", "Changed in the folder")
    team.remove("a")
    path.unlink()
    report = team.sync(rules)
    assert (report.removed_from_folder, report.removed_from_database) == (["a.json"], ["b.json"])
    assert [change.action for change in team.store.history("b")] == ["sync", "sync", "sync"]


def test_a_conflict_keeps_both_sides_until_it_is_resolved(team: Team, rules: Path) -> None:
    team.write("a", "First")
    team.sync(rules)
    team.write("a", "Of the team")
    put(rules, "a", "Of the folder")
    for _ in range(2):  # it is reported until it is resolved
        report = team.sync(rules)
        assert report.conflicts == {"a.json": "changed in the folder, changed in the database"}
        assert (body_in(rules, "a"), team.body("a")) == ("Of the folder", "Of the team")
    copy = rules / ".commonplace" / "conflicts" / "a.database.json"
    assert json.loads(copy.read_text())["body"] == "Of the team"
    assert (rules / ".commonplace" / ".gitignore").read_text() == "*\n"
    assert team.sync(rules, "folder").to_database == ["a.json"]
    assert team.body("a") == "Of the folder"
    assert not copy.exists()
    assert not team.sync(rules).conflicts


def test_the_side_that_loses_a_conflict_can_be_found_again(team: Team, rules: Path) -> None:
    team.write("a", "First")
    team.sync(rules)
    team.write("a", "Of the team")
    put(rules, "a", "Of the folder")
    team.sync(rules, "database")
    assert body_in(rules, "a") == "Of the team"
    lost = rules / ".commonplace" / "conflicts" / "a.folder.json"
    assert json.loads(lost.read_text())["body"] == "Of the folder"


def test_a_removal_against_a_change_is_a_conflict(team: Team, rules: Path) -> None:
    team.write("a", "First")
    team.write("b", "First")
    team.sync(rules)
    (rules / "a.json").unlink()
    team.write("a", "Changed")
    team.remove("b")
    put(rules, "b", "Changed")
    report = team.sync(rules)
    assert report.conflicts == {
        "a.json": "removed in the folder, changed in the database",
        "b.json": "changed in the folder, removed in the database",
    }
    assert (team.body("a"), body_in(rules, "b")) == ("Changed", "Changed")


def test_files_that_are_not_valid_stay_where_they_are(team: Team, rules: Path) -> None:
    (rules / "broken.json").write_text("{")
    (rules / "gates.json").write_text('{"gates": 5}')
    (rules / "README.md").write_text("Rules")
    report = team.sync(rules)
    assert sorted(report.invalid) == ["broken.json", "gates.json"]
    assert report.invalid["broken.json"].startswith("parse")
    assert team.contents.hashes() == {}
    put(rules, "broken", "Repaired")
    assert team.sync(rules).to_database == ["broken.json"]


def test_configuration_files_are_mirrored(team: Team, rules: Path) -> None:
    (rules / "gates.json").write_text('{"gates": []}')
    assert team.sync(rules).to_database == ["gates.json"]
    assert team.store.documents.get("gates.json") == b'{"gates": []}'
    with team.store.exclusive():
        team.store.commit_document("owners.json", b'{"ownership": []}', ANN)
    assert team.sync(rules).to_folder == ["owners.json"]
    (rules / "gates.json").unlink()
    assert team.sync(rules).removed_from_database == ["gates.json"]
    assert team.store.documents.get("gates.json") is None


def test_a_fresh_clone_and_a_copy_lose_nothing(team: Team, rules: Path, tmp_path: Path) -> None:
    team.write("a", "First")
    team.sync(rules)
    copy, clone = tmp_path / "copy", tmp_path / "clone"
    shutil.copytree(rules, copy)
    shutil.copytree(rules, clone, ignore=shutil.ignore_patterns(".commonplace"))
    team.write("a", "Second")
    team.sync(rules)
    assert team.sync(copy).to_folder == ["a.json"]  # an old copy does not undo the change
    assert team.body("a") == "Second"
    assert list(team.sync(clone).conflicts) == ["a.json"]


def test_most_files_of_a_side_are_removed_only_when_that_is_allowed(
    team: Team, rules: Path
) -> None:
    for number in range(12):
        put(rules, f"r{number}", "Rule")
    team.sync(rules)
    for path in rules.glob("*.json"):
        path.unlink()
    with pytest.raises(CommonplaceError) as refused:
        team.sync(rules)
    assert refused.value.code is CONFIRMATION_REQUIRED
    assert len(team.store.catalogue) == 12
    report = team.sync(rules, allow_removals=True)
    assert len(report.removed_from_database) == 12


def test_a_change_after_the_comparison_is_not_overwritten(team: Team, rules: Path) -> None:
    team.write("a", "First")
    team.write("b", "First")
    team.sync(rules)
    put(rules, "a", "Of the folder")
    team.write("b", "Of the team")
    mirror = team.mirror(rules)
    plan = mirror.compare()
    team.write("a", "Of the team")
    put(rules, "b", "Of the folder")
    report = mirror.apply(plan)
    assert not report.changed
    assert (team.body("a"), body_in(rules, "b")) == ("Of the team", "Of the folder")
    assert sorted(team.sync(rules).conflicts) == ["a.json", "b.json"]


def test_one_process_leads(team: Team) -> None:
    one, two = SyncLeadership(team.database), SyncLeadership(team.database)
    assert one.try_acquire()
    assert one.try_acquire()
    assert not two.try_acquire()
    one.release()
    assert two.try_acquire()
    two.release()
