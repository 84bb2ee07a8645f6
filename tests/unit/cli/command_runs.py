"""Run commands in this process."""

from __future__ import annotations

import json
from typing import Any

import pytest

from commonplace.cli import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str, expect: int = 0) -> str:
    """Run a command, check its exit code and return what it printed."""
    capsys.readouterr()
    code = main(arguments)
    captured = capsys.readouterr()
    assert code == expect, captured.err
    return captured.out


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str, expect: int = 0) -> Any:
    """Run a command with `--json` and return the document that it printed."""
    return json.loads(run(capsys, *arguments, "--json", expect=expect))
