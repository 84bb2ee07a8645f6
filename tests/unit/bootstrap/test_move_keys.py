"""Keys of a data folder move into the database of a team."""

from __future__ import annotations

from pathlib import Path

from commonplace.bootstrap.move_keys import KeyMover
from commonplace.kernel.auth import Scope
from commonplace.storage.credentials.keys import KeyStore
from commonplace.storage.credentials.postgres_keys import PostgresKeys
from commonplace.storage.postgres.database import open_database


def ignore_progress(done: int, total: int) -> None:
    assert done <= total


def test_moved_keys_keep_working_and_a_second_move_changes_nothing(
    tmp_path: Path, postgres_url: str
) -> None:
    folder = KeyStore(tmp_path / "keys.json")
    record, token = folder.add("team-a", "alice", Scope.WRITE, description="laptop")
    revoked, old = folder.add("team-b", "bob", Scope.READ)
    folder.revoke(revoked.id)
    with open_database(postgres_url, pool_size=2) as database:
        keys = PostgresKeys(database)
        mover = KeyMover(keys)
        assert sorted(mover.lacking(tmp_path)) == sorted([record.id, revoked.id])
        first = mover.move(tmp_path, ignore_progress)
        assert (first.found, first.added, first.present, first.kept) == (2, 2, 0, ())
        assert mover.lacking(tmp_path) == []
        assert keys.find(token) == record
        assert keys.find(old) is None
        second = mover.move(tmp_path, ignore_progress)
        assert (second.found, second.added, second.present) == (2, 0, 2)
        assert second.digest == first.digest


def test_a_key_that_changed_in_the_database_is_kept_and_named(
    tmp_path: Path, postgres_url: str
) -> None:
    folder = KeyStore(tmp_path / "keys.json")
    record, token = folder.add("team-a", "alice", Scope.WRITE)
    with open_database(postgres_url, pool_size=2) as database:
        keys = PostgresKeys(database)
        mover = KeyMover(keys)
        mover.move(tmp_path, ignore_progress)
        keys.revoke(record.id)
        moved = mover.move(tmp_path, ignore_progress)
        assert (moved.added, moved.present, moved.kept) == (0, 0, (record.id,))
        assert keys.find(token) is None


def test_a_folder_without_keys_lacks_nothing(tmp_path: Path, postgres_url: str) -> None:
    with open_database(postgres_url, pool_size=1) as database:
        mover = KeyMover(PostgresKeys(database))
        assert mover.lacking(tmp_path) == []
        assert mover.move(tmp_path, ignore_progress).found == 0
