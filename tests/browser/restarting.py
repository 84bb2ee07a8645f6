"""A server, or a separate console, that tests kill and start again at the same address."""

from __future__ import annotations

import re
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.server.conformance.program import COMMONPLACE, STOP_SECONDS, environment

from servers import free_port

START_SECONDS = 60.0


class RestartableProgram:
    """`commonplace COMMAND`; `{port}` in the command is a port that nobody else takes."""

    def __init__(
        self, data: Path, command: Sequence[str], extra: Mapping[str, str] | None = None
    ) -> None:
        self._data = data
        self._command = command
        self._extra = extra
        self._port = str(free_port())
        self._process: subprocess.Popen[bytes] | None = None
        self.address = ""

    def __enter__(self) -> RestartableProgram:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the program and wait until it listens."""
        self._data.mkdir(parents=True, exist_ok=True)
        errors = self._data / "stderr.txt"
        filled = [part.replace("{port}", self._port) for part in self._command]
        with errors.open("wb") as stderr:
            self._process = subprocess.Popen(
                [str(COMMONPLACE), *filled],
                env=environment(self._data, self._extra),
                stdin=subprocess.DEVNULL,
                stdout=stderr,
                stderr=stderr,
                cwd=self._data,
            )
        self.address = self._announced(errors)

    def kill(self) -> None:
        """End the program as a crash does."""
        self._end(signal.SIGKILL)

    def stop(self) -> float:
        """Stop the program as an operator does; return how long it took."""
        begun = time.monotonic()
        self._end(signal.SIGTERM)
        return time.monotonic() - begun

    def restart(self) -> None:
        self.stop()
        self.start()

    def _end(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(number)
        try:
            self._process.wait(STOP_SECONDS)
        finally:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _announced(self, errors: Path) -> str:
        assert self._process is not None
        give_up = time.monotonic() + START_SECONDS
        while time.monotonic() < give_up and self._process.poll() is None:
            found = re.search(r" on http://([\d.:]+)/(?:mcp|console/)", errors.read_text())
            if found:
                return found[1]
            select.select([], [], [], 0.02)
        raise AssertionError(f"the program did not start: {errors.read_text()}")


def server_with_keys(data: Path) -> RestartableProgram:
    """A server that wants keys and accepts changes."""
    command = ("serve", "--http", "127.0.0.1:{port}", "--auth", "keys")
    return RestartableProgram(data, command, {"MCP_ENABLE_MUTATION": "1"})


def separate_console(data: Path, server: str) -> RestartableProgram:
    """`commonplace console` for a server elsewhere."""
    return RestartableProgram(data, ("console", "--server", f"http://{server}", "--port", "{port}"))
