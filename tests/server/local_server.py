"""The local server of a data folder, for tests: who it is, and its end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from conformance.program import COMMONPLACE, environment
from transport_clients import TOOLS

from commonplace.edge.relay.endpoint import is_server_alive

SECONDS = 30.0


def wait_until(condition: Callable[[], bool], seconds: float = SECONDS) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "the condition did not come true in time"
        time.sleep(0.02)


def server_pid(data: Path) -> int:
    return int((data / "server.lock").read_text())


def command(data: Path, *arguments: str, extra: dict[str, str] | None = None) -> Any:
    """The JSON that a command prints, whatever its exit code."""
    ran = subprocess.run(
        [COMMONPLACE, *arguments],
        env=environment(data, {**TOOLS, **(extra or {})}),
        cwd=data,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return json.loads(ran.stdout)


def kill(data: Path) -> None:
    """Kill the server and wait until its lock is free."""
    pid = server_pid(data)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not alive(pid) and not is_server_alive(str(data)))


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@contextmanager
def data_folder(place: Path) -> Iterator[Path]:
    """A data folder whose server, if it has one at the end, is killed."""
    place.mkdir(exist_ok=True, parents=True)
    try:
        yield place
    finally:
        if (place / "server.lock").exists():
            kill(place)


class RawConnection:
    """A client that speaks to the socket itself."""

    def __init__(self, data: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(SECONDS)
        self.socket.connect(str(data / "server.sock"))
        self._lines = self.socket.makefile("rb")

    def ask(self, method: str, params: Any) -> Any:
        self.send({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
        return self.read()

    def send(self, message: Any) -> None:
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def read(self) -> Any:
        return json.loads(self._lines.readline())

    def close(self) -> None:
        self._lines.close()
        self.socket.close()
