"""A home, a working folder and a data folder for each test of `commonplace oas`."""

from __future__ import annotations

import io
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[3]))

from commonplace.cli import main


@dataclass(frozen=True, slots=True)
class Printed:
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Shell:
    """`commonplace oas ...` in a folder."""

    def __init__(
        self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.folder = folder
        self._capsys = capsys
        self._monkeypatch = monkeypatch

    def oas(self, *arguments: str, expect: int = 0, stdin: str = "") -> Printed:
        self._monkeypatch.setattr(
            sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
        )
        self._capsys.readouterr()
        code = main(["oas", *arguments])
        captured = self._capsys.readouterr()
        assert "Traceback" not in captured.err
        assert code == expect, captured.err
        return Printed(captured.out, captured.err)

    def write(self, name: str, value: Any) -> str:
        text = value if isinstance(value, str) else json.dumps(value)
        (self.folder / name).write_text(text)
        return name

    def read(self, name: str) -> str:
        return (self.folder / name).read_text()


@pytest.fixture
def shell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Shell:
    for name in list(os.environ):
        if name.startswith(("MCP_", "COMMONPLACE_", "XDG_", "INDEX_")):
            monkeypatch.delenv(name)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(work)
    return Shell(work, capsys, monkeypatch)
