"""The annotated example configuration is valid, and each of its sections has an effect."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.cli import main
from commonplace.kernel.config.catalog import leaves, value_of
from commonplace.kernel.config.loading import load

EXAMPLE = Path(__file__).parents[3] / "docs" / "reference" / "commonplace.example.yaml"


def test_config_check_accepts_the_example(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--config", str(EXAMPLE), "--data", str(tmp_path)]
    assert main([*options, "config", "check"]) == 0
    assert capsys.readouterr().out == f"{EXAMPLE}: valid\n"


def test_every_section_of_the_example_takes_effect(tmp_path: Path) -> None:
    config = load(file=EXAMPLE, data=tmp_path, environ={}, flags={})
    changed = {
        name for name, declared in leaves() if value_of(config.settings, name) != declared.default
    }
    assert {name.rpartition(".")[0] for name in changed} == {
        "server",
        "auth",
        "limits",
        "storage",
        "log",
        "mcp.instructions",
        "mcp.files",
        "mcp.files.search",
        "mcp.memory",
        "mcp.openapi",
    }
