"""Journal and lock of a folder: lost and rotated journals, interrupted commits."""

from __future__ import annotations

from pathlib import Path

import pytest
from catalogue_helpers import CALLER, add, has, open_service, until

from commonplace.instructions.store.folder import FolderOptions
from commonplace.instructions.store.journal import Journal, state_directory
from commonplace.kernel.errors import CommonplaceError, Kind


def test_a_deleted_journal_is_noticed_and_no_change_is_missed(tmp_path: Path) -> None:
    one, two = open_service(tmp_path), open_service(tmp_path)
    add(one, "a")
    assert has(two, "a")
    (tmp_path / ".in.commonplace" / "journal").unlink()
    add(one, "b")
    until(lambda: has(two, "b"), 5)
    add(two, "c")
    until(lambda: has(one, "c"), 5)
    assert one.governance_hash(CALLER) == two.governance_hash(CALLER)


def test_no_change_is_missed_when_the_journal_is_rotated(tmp_path: Path) -> None:
    options = FolderOptions(watch=False, rotate_journal_bytes=300)
    one, two = open_service(tmp_path, options), open_service(tmp_path, options)
    for number in range(12):
        add(one if number % 2 else two, f"n{number}")
        assert has(one, f"n{number}")
        assert has(two, f"n{number}")
    assert one.list_entries(CALLER).catalogue_hash == two.list_entries(CALLER).catalogue_hash
    assert (tmp_path / ".in.commonplace" / "journal").stat().st_size < 1000


def test_only_one_process_holds_the_lock(tmp_path: Path) -> None:
    with (
        Journal(tmp_path).locked(),
        pytest.raises(CommonplaceError) as busy,
        Journal(tmp_path, lock_seconds=0.05).locked(),
    ):
        pass
    assert busy.value.code.kind is Kind.UNAVAILABLE
    assert busy.value.retryable


def test_the_state_folder_is_a_sibling_of_the_real_folder(tmp_path: Path) -> None:
    link = tmp_path / "link"
    (tmp_path / "real").mkdir()
    link.symlink_to(tmp_path / "real")
    assert state_directory(link, tmp_path / "x") == state_directory(
        tmp_path / "real", tmp_path / "y"
    )
    add(open_service(tmp_path), "a")
    assert (tmp_path / ".in.commonplace" / ".gitignore").read_text() == "*\n"
    assert sorted(path.name for path in (tmp_path / "in").iterdir()) == [
        ".catalog-version",
        "a.json",
    ]


def test_the_ids_of_an_interrupted_commit_are_those_of_the_last_intent(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    with journal.locked():
        assert journal.interrupted_ids() == []
        journal.announce_intent(["a-long-name", "another", "third"])
        assert journal.interrupted_ids() == ["a-long-name", "another", "third"]
        journal.append([("a-long-name", "0")], "token")
        assert journal.interrupted_ids() == []
        journal.announce_intent(["b"])
        assert journal.interrupted_ids() == ["b"]
    journal.close()
