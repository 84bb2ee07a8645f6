"""Replaced files are detected, and private files are for their owner alone."""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.disk.identity import DataFolderIdentity
from commonplace.storage.disk.private_files import find_exposed_paths, restrict_data_folder
from commonplace.storage.sqlite.database import Connection, Database


def add(connection: Connection) -> None:
    connection.execute("CREATE TABLE IF NOT EXISTS line (text)")
    connection.execute("INSERT INTO line VALUES ('x')")


@pytest.mark.parametrize("lost", ["", "-wal"])
@pytest.mark.parametrize("how", ["removed", "replaced", "moved"])
def test_a_write_to_a_deleted_file_is_refused(lost: str, how: str, tmp_path: Path) -> None:
    path = tmp_path / "data" / "x.db"
    database = Database(path)
    try:
        database.write_now(add)
        victim = Path(f"{path}{lost}")
        victim.rename(tmp_path / "away")
        if how == "replaced":
            shutil.copy(tmp_path / "away", victim)
        if how != "moved":
            (tmp_path / "away").unlink()
        with pytest.raises(CommonplaceError) as refused:
            database.write_now(add)
        assert refused.value.code.name == "STORAGE_REPLACED"
        assert str(tmp_path) not in refused.value.message
        if how == "moved":
            (tmp_path / "away").rename(victim)
            database.write_now(add)
    finally:
        database.close()


def test_the_check_costs_little_beside_a_commit(tmp_path: Path) -> None:
    database = Database(tmp_path / "x.db")

    def fastest(work: Callable[[], object], times: int) -> float:
        """Return the least time of a call: other programs cannot make it smaller."""
        taken = []
        for _ in range(times):
            begun = time.perf_counter()
            work()
            taken.append(time.perf_counter() - begun)
        return min(taken)

    def commit() -> None:
        database.write_now(
            lambda connection: connection.execute("INSERT INTO line VALUES ('y')") and None
        )

    try:
        database.write_now(add)
        assert 2 * fastest(database.check_identity, 2000) < fastest(commit, 100) / 2
    finally:
        database.close()


def test_a_recreated_data_folder_is_noticed(tmp_path: Path) -> None:
    """Its inode may be used again at once; the open folder prevents that."""
    folder = DataFolderIdentity(tmp_path / "data")
    (tmp_path / "data").mkdir()
    folder.hold()
    try:
        folder.check()
        for _ in range(20):
            (tmp_path / "data").rmdir()
            with pytest.raises(CommonplaceError):
                folder.check()
            (tmp_path / "data").mkdir()
            with pytest.raises(CommonplaceError) as refused:
                folder.check()
        assert refused.value.code.name == "STORAGE_REPLACED"
    finally:
        folder.release()


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


def test_a_database_and_its_log_are_for_their_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        database = Database(tmp_path / "data" / "x.db")
        database.write_now(add)
        assert modes(tmp_path / "data") == {"x.db": 0o600, "x.db-wal": 0o600, "x.db-shm": 0o600}
        assert modes(tmp_path)["data"] == 0o700
        database.close()
    finally:
        os.umask(before)


def test_files_of_an_older_version_are_restricted_to_their_owner(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o755)
    for name in ("x.db", "x.db-wal", "x.db-shm", "feedback.json"):
        (data / name).touch(mode=0o644)
        (data / name).chmod(0o644)
    (data / "vectors").mkdir()
    (data / "vectors").chmod(0o755)
    database = Database(data / "x.db")
    assert modes(data)["x.db"] == 0o600
    database.close()
    assert restrict_data_folder(data) == 2
    assert modes(data)["feedback.json"] == 0o600
    assert modes(data)["vectors"] == 0o700
    assert [path.name for path in find_exposed_paths(data)] == ["data"]
