"""The command line and the log of hooks."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from commonplace.cli.hooks.entry import UnusableOptionsError, read_options
from commonplace.cli.hooks.log import LOG_NAME, MOST_BYTES, log_problem, read_problems

HEAVY = {"asyncio", "pydantic", "orjson", "typer", "rich", "argparse", "re2", "mcp"}


def test_options_are_read_in_any_order() -> None:
    expected = {"event": "Stop", "client": "codex", "data": "/d"}
    assert read_options(["Stop", "--client", "codex", "--data=/d"]) == expected
    assert read_options(["--data=/d", "--client=codex", "Stop"]) == expected


@pytest.mark.parametrize("arguments", [[], ["--client", "x"], ["A", "B"], ["A", "--nonsense"]])
def test_wrong_options_are_refused(arguments: list[str]) -> None:
    with pytest.raises(UnusableOptionsError):
        read_options(arguments)


def test_the_log_is_private_bounded_and_read_back(tmp_path: Path) -> None:
    for number in range(MOST_BYTES // 100):
        log_problem(str(tmp_path), {"event": "Stop"}, ValueError(f"problem {number} " + "x" * 200))
    path = tmp_path / LOG_NAME
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.stat().st_size <= MOST_BYTES + 1_000
    assert path.with_name("hook.log.1").exists()
    last = read_problems(str(tmp_path))[-1]
    assert (last["event"], last["error"][:18]) == ("Stop", "ValueError: proble")
    path.write_bytes(b"broken\n[]\n" + json.dumps(last).encode() + b"\n")
    assert read_problems(str(tmp_path)) == [last]
    assert read_problems(str(tmp_path / "nowhere")) == []


def test_a_hook_imports_nothing_large_before_it_asks() -> None:
    code = (
        "import commonplace.cli, commonplace.cli.hooks.entry, commonplace.cli.hooks.answers, "
        "commonplace.context.delivery.hook, commonplace.kernel.config.locations, sys; "
        "print(*sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert HEAVY.isdisjoint(ran.stdout.split())
