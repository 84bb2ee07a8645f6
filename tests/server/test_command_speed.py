"""Short commands stay fast, measured as ratios; `python -m benchmarks.cli` prints times."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(sys.executable).with_name("commonplace")
FLOOR = "import asyncio, typer, pydantic\nclass Model(pydantic.BaseModel):\n    number: int = 1\n"
ROUNDS = 5


def cpu(command: list[str | Path], environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ratio(first: list[str | Path], second: list[str | Path], environment: dict[str, str]) -> float:
    """The least time of one command over that of another, run in turn; byte code is written
    before.
    """
    for command in (first, second):
        cpu(command, environment)
    pairs = [(cpu(first, environment), cpu(second, environment)) for _ in range(ROUNDS)]
    return min(pair[0] for pair in pairs) / min(pair[1] for pair in pairs)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {
        **kept,
        "COMMONPLACE_HOME": str(tmp_path / "data"),
        "PYTHONPYCACHEPREFIX": str(tmp_path / "bytecode"),
    }


def test_help_costs_little_more_than_starting_python(environment: dict[str, str]) -> None:
    """150 ms at most where Python starts in 12 ms; it was 25 times Python's start, and is about
    3 times.
    """
    assert ratio([PROGRAM, "--help"], [sys.executable, "-c", "pass"], environment) < 8


def test_a_listing_costs_little_more_than_what_it_must_import(environment: dict[str, str]) -> None:
    """250 ms at most where these imports take 130 ms; it was 2.9 times that, and is about 1.5
    times.
    """
    assert (
        ratio([PROGRAM, "instructions", "list"], [sys.executable, "-c", FLOOR], environment) < 2.1
    )


def test_a_listing_imports_no_other_domain(environment: dict[str, str]) -> None:
    script = (
        "import sys; from commonplace.cli import main; main(['instructions', 'list']); "
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    loaded = done.stderr.split()
    others = (
        "commonplace.memory.service",
        "commonplace.files.service",
        "commonplace.openapi.service",
        "apsw",
        "numpy",
        "watchfiles",
    )
    assert [name for name in others if name in loaded] == []
