"""Fixtures of the command tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

VARIABLES = ("INSTRUCTIONS_DIR", "INDEX_FEATURES", "WORKSPACE_ID", "CODEX_HOME")


@pytest.fixture
def clean_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use a new home, working directory and data folder, without the variables of this machine."""
    for name in list(os.environ):
        if name.startswith(("MCP_", "COMMONPLACE_", "XDG_")) or name in VARIABLES:
            monkeypatch.delenv(name)
    (tmp_path / "home").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path
