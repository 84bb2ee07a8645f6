"""Replacing a file: whole or not at all, for its owner alone."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from commonplace.storage.disk.atomic_write import write_atomically


@pytest.mark.parametrize("durable", [True, False])
def test_the_content_is_replaced_and_no_draft_is_left(tmp_path: Path, durable: bool) -> None:
    path = tmp_path / "keys.json"
    path.write_text("old")
    write_atomically(path, b"new", durable=durable)
    assert path.read_bytes() == b"new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["keys.json"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_missing_folder_is_an_error_and_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "missing" / "keys.json", b"new")
    assert list(tmp_path.iterdir()) == []
