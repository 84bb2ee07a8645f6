"""Locks on files: exclusive or shared, between processes and between handles of one process."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from commonplace.storage.locks.file_lock import (
    FileLock,
    exclusive_lock,
    lock_descriptor,
    unlock_descriptor,
)


def test_only_one_holder_has_the_exclusive_lock(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert first.acquire(wait=False)
    assert first.acquire(wait=False), "acquiring it again changes nothing"
    assert not second.acquire(wait=False)
    assert not second.acquire(shared=True, wait=False)
    first.release()
    assert second.acquire(wait=False)
    second.release()
    second.release()


def test_the_shared_lock_has_many_holders(tmp_path: Path) -> None:
    readers = [FileLock(tmp_path / "lock") for _ in range(3)]
    assert all(reader.acquire(shared=True, wait=False) for reader in readers)
    assert not FileLock(tmp_path / "lock").acquire(wait=False)
    for reader in readers:
        reader.release()
    assert FileLock(tmp_path / "lock").acquire(wait=False)


def test_a_waiting_holder_follows_the_one_before(tmp_path: Path) -> None:
    order: list[str] = []
    entered = threading.Event()

    def work() -> None:
        entered.set()
        with exclusive_lock(tmp_path / "lock"):
            order.append("second")

    with exclusive_lock(tmp_path / "lock"):
        thread = threading.Thread(target=work)
        thread.start()
        assert entered.wait(10)
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]


def test_a_process_that_ends_frees_its_lock(tmp_path: Path) -> None:
    code = (
        "import pathlib, sys\n"
        "from commonplace.storage.locks.file_lock import FileLock\n"
        "print(FileLock(pathlib.Path(sys.argv[1])).acquire(wait=False), flush=True)\n"
        "sys.stdin.read()\n"
    )
    path = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdin is not None
        assert child.stdout.readline().strip() == "True"
        assert not FileLock(path).acquire(wait=False)
        child.kill()
        child.wait()
    assert FileLock(path).acquire(wait=False)


def test_the_file_is_for_its_owner_and_its_folder_must_exist(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    lock.acquire()
    assert stat.S_IMODE((tmp_path / "lock").stat().st_mode) == 0o600
    with pytest.raises(FileNotFoundError):
        FileLock(tmp_path / "missing" / "lock").acquire()


def test_an_open_file_can_be_locked_and_unlocked(tmp_path: Path) -> None:
    first = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    second = os.open(tmp_path / "lock", os.O_RDWR)
    assert lock_descriptor(first)
    assert not lock_descriptor(second, wait=False)
    unlock_descriptor(first)
    assert lock_descriptor(second, wait=False)
    os.close(first)
    os.close(second)
