"""Hints name commands, printed commands work, global options fit in any position."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.cli import main
from commonplace.cli.wording import TOOL, as_typed, in_commands

SOURCE = Path(__file__).parents[3] / "src" / "commonplace"
BIN = Path(sys.executable).parent
SNAPSHOTS = Path(__file__).parents[2] / "contract" / "dispatch" / "snapshots"


def literals(node: ast.AST) -> str:
    """The fixed text of a string expression."""
    return "".join(
        each.value
        for each in ast.walk(node)
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    )


def hints() -> Iterator[str]:
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                yield from (literals(each.value) for each in node.keywords if each.arg == "hint")


def test_every_hint_names_commands_on_the_command_line() -> None:
    named = [hint for hint in hints() if TOOL.search(hint)]
    assert len(named) >= 8
    for hint in named:
        said = in_commands(hint)
        assert "=true" not in said
        assert not TOOL.search(re.sub(r"commonplace call \w+", "", said)), (
            said
        )  # what has no command of its own is called by its name


def test_names_of_fields_are_not_taken_for_tools() -> None:
    """A field that begins like a tool is excluded in `TOOL`."""
    fields = {
        name
        for path in SNAPSHOTS.rglob("*.json")
        for name in re.findall(r'"(\w+)": \{', path.read_text())
        if not (SNAPSHOTS / f"{name}.json").exists()
    }
    assert "memory_type" in fields
    assert [name for name in sorted(fields) if in_commands(name) != name] == []


def test_a_missing_file_leads_to_the_command_that_lists(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["files", "get", "/nothing.md", "--data", str(tmp_path)]) == 3
    assert "commonplace files ls shows what there is" in capsys.readouterr().err
    assert (
        main(["call", "file_read", "project=p", "path=/nothing.md", "--data", str(tmp_path)]) == 3
    )
    assert "file_list shows what there is" in capsys.readouterr().err


@pytest.mark.parametrize("place", ["before", "within", "behind"])
def test_global_options_are_accepted_in_any_position(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--data", str(tmp_path / "here")]
    words = {
        "before": [*options, "config", "show"],
        "within": ["config", *options, "show"],
        "behind": ["config", "show", *options],
    }[place]
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["data"] == str(tmp_path / "here")
    settings = tmp_path / "settings.yaml"
    settings.write_text("settings:\n  log:\n    slow_call_ms: 17\n")
    assert main(["config", "show", "--json", "--config", str(settings), *options]) == 0
    assert str(settings) in capsys.readouterr().out


def test_commands_do_not_log_slow_calls(tmp_path: Path) -> None:
    """Every call is slower than this; a server says so, a command does not."""
    settings = tmp_path / "settings.yaml"
    settings.write_text("settings:\n  log:\n    slow_call_ms: 1\n")
    command = [
        BIN / "commonplace",
        "instructions",
        "list",
        "--config",
        settings,
        "--data",
        tmp_path / "data",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "slow call" not in done.stderr


@pytest.mark.parametrize("on_path", [True, False])
def test_printed_commands_work_in_this_shell(on_path: bool, tmp_path: Path) -> None:
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}" if on_path else "/usr/bin:/bin"
    environment = {
        "PATH": path,
        "HOME": str(tmp_path),
        "COMMONPLACE_HOME": str(tmp_path / "data"),
        "COLUMNS": "200",
    }
    done = subprocess.run(
        [BIN / "commonplace", "keys", "list"],
        cwd=BIN.parent,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    command = (
        done.stderr.partition("Create one: ")[2]
        .strip()
        .replace("NAME", "team")
        .replace("WHO", "alice")
    )
    assert command.startswith("commonplace keys add" if on_path else "bin/commonplace keys add"), (
        done.stderr
    )
    made = subprocess.run(
        ["bash", "-c", command],
        cwd=BIN.parent,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert made.returncode == 0, made.stderr
    shown = subprocess.run(
        [BIN / "commonplace", "keys", "add", "--help"],
        cwd=BIN.parent,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert ("bin/commonplace keys add --tenant" in shown.stdout) is not on_path


def test_texts_without_commands_are_unchanged() -> None:
    for text in ("commonplace is a word", "a commonplace book", "/x/commonplace serve"):
        assert as_typed(text) == text
