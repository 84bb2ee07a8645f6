"""Marker file of a folder: noticed changes and durable writes."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from commonplace.instructions.store.directory import MARKER
from commonplace.instructions.store.marker import SAME_SECONDS, SHARED_SECONDS, CatalogueMarker


def test_a_token_is_written_to_the_file_that_has_the_name(tmp_path: Path) -> None:
    path = tmp_path / MARKER
    marker = CatalogueMarker(path)
    assert marker.write("first and long")
    inode = path.stat().st_ino
    assert marker.write("second")
    assert (path.read_text(), path.stat().st_ino) == ("second", inode)
    (tmp_path / "other").write_text("theirs")
    (tmp_path / "other").replace(path)
    assert not marker.is_current()
    assert marker.write("third")
    assert path.read_text() == "third"
    path.unlink()
    assert marker.write("fourth")
    assert path.read_text() == "fourth"
    assert marker.is_current()
    assert marker.read() == "fourth"
    assert marker.write("fifth")
    assert path.read_text() == "fifth"
    marker.close()
    assert not CatalogueMarker(tmp_path / "missing" / MARKER).write("x")


def test_a_rewritten_marker_is_noticed_whatever_its_age(tmp_path: Path) -> None:
    path = tmp_path / MARKER
    marker = CatalogueMarker(path)
    for age in (0, 60):
        assert marker.write("ours")
        os.utime(path, (time.time() - age,) * 2)
        for _ in range(3):
            assert marker.is_current()
            time.sleep(2 * SHARED_SECONDS)
        path.write_text("them")
        assert not marker.is_current()
        assert marker.read() == "them"
        assert marker.is_current()
    (tmp_path / "elsewhere").write_text("x")
    os.link(path, tmp_path / "kept")
    (tmp_path / "elsewhere").replace(path)  # the old file still has another name
    time.sleep(2 * SAME_SECONDS)
    assert not marker.is_current()
    marker.close()
    assert not marker.is_current()


def test_a_read_only_marker_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / MARKER
    path.write_text("theirs")
    protected = path.stat().st_ino
    really_open = os.open

    def guarded(
        name: Any, flags: int, *rest: Any
    ) -> int:  # root may open anything, so the test guards the file itself
        if (
            str(name) == str(path)
            and flags & os.O_RDWR
            and path.exists()
            and path.stat().st_ino == protected
        ):
            raise PermissionError(13, "Permission denied")
        return really_open(name, flags, *rest)

    monkeypatch.setattr(os, "open", guarded)
    marker = CatalogueMarker(path)
    assert marker.read() == "theirs"
    os.link(path, tmp_path / "kept")
    assert marker.write("ours")
    assert path.read_text() == "ours"
    assert (tmp_path / "kept").read_text() == "theirs"
    marker.close()
