"""Durable writes: retries, and no traces of a failed write."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from catalogue_helpers import CALLER, add, open_service

from commonplace.instructions.store.directory import FileRetries, InstructionDirectory
from commonplace.instructions.store.staging import FileStager
from commonplace.kernel.errors import CommonplaceError


def timed(work: Callable[[], object]) -> float:
    started = time.monotonic()
    work()
    return time.monotonic() - started


def test_reads_are_retried_as_often_as_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("a.json")  # opening a socket fails, but the file exists

        def read(retries: FileRetries) -> None:
            entry = InstructionDirectory(tmp_path, retries=retries).read("a.json")
            assert entry.rejection is not None

        assert timed(lambda: read(FileRetries(reads=2, read_backoff_seconds=0.1))) >= 0.3
        assert timed(lambda: read(FileRetries(reads=0, read_backoff_seconds=5.0))) < 4


def test_writes_are_retried_as_often_as_configured(tmp_path: Path) -> None:
    (tmp_path / "a.json").mkdir()  # no file can take this name

    def write(retries: FileRetries) -> None:
        stager = FileStager(InstructionDirectory(tmp_path, retries=retries))
        (staged,) = stager.stage([("a", b"{}")])
        with pytest.raises(CommonplaceError) as failed:
            stager.place(staged)
        stager.discard([staged])
        assert failed.value.code.name == "CATALOGUE_UNWRITABLE"

    assert timed(lambda: write(FileRetries(writes=2, write_backoff_seconds=0.1))) >= 0.3
    assert timed(lambda: write(FileRetries(writes=0, write_backoff_seconds=5.0))) < 4
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_failed_write_leaves_no_trace(tmp_path: Path) -> None:
    service = open_service(tmp_path, write_retries=0)
    add(service, "ok")
    (tmp_path / "in" / "a.json").mkdir()
    before = service.list_entries(CALLER)
    with pytest.raises(CommonplaceError):
        add(service, "a")
    assert service.list_entries(CALLER) == before
    assert not list((tmp_path / "in").glob(".*.tmp"))
    assert add(service, "b").created


def test_old_temporary_files_are_deleted_and_never_served(tmp_path: Path) -> None:
    service = open_service(tmp_path)
    add(service, "a")
    old, recent = tmp_path / "in" / ".b.1-aa.tmp", tmp_path / "in" / ".c.1-bb.tmp"
    for path in (old, recent):
        path.write_text('{"id": "b", "body": "torn')
    os.utime(old, (0, 0))
    again = open_service(tmp_path)
    again.load()
    assert again.list_entries(CALLER).total == 1
    assert (old.exists(), recent.exists()) == (False, True)
