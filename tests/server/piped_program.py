"""Run the shipped program on pipes: a whole conversation at once, or line by line."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from conformance.program import COMMONPLACE, environment

TIMEOUT_SECONDS = 60


def converse(
    folder: Path,
    variables: Mapping[str, str] | None,
    lines: Iterable[Mapping[str, Any] | str],
    *,
    data: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """`commonplace serve` in `folder`, fed these lines until they end."""
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    return subprocess.run(
        [COMMONPLACE, "serve"],
        input=text,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        cwd=folder,
        env=environment(data or folder / "data", variables),
        check=False,
    )


def answers(ran: subprocess.CompletedProcess[str]) -> list[Any]:
    return [json.loads(line) for line in ran.stdout.splitlines()]


class Piped:
    """A running server; `ask` waits for each answer."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._in, self._out, self.errors = process.stdin, process.stdout, process.stderr

    def ask(self, line: Mapping[str, Any]) -> Any:
        self._in.write(json.dumps(line) + "\n")
        self._in.flush()
        return json.loads(self._out.readline())


@contextlib.contextmanager
def running(folder: Path, variables: Mapping[str, str]) -> Iterator[Piped]:
    """`commonplace serve` in `folder` until the block ends; it must then end by itself, without
    complaint.
    """
    process = subprocess.Popen(
        [COMMONPLACE, "serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=environment(folder / "data", variables),
    )
    with process:
        yield Piped(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(TIMEOUT_SECONDS) == 0
