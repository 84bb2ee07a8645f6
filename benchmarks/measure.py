"""How benchmarks measure: interleaved rounds, medians, the load average beside every table."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterable, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from threading import Thread
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parent.parent
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}


class StdioServer:
    """A server on pipes, past its handshake.

    `started_seconds` is from spawn to the answer of initialize.
    """

    def __init__(self, command: Sequence[str], environment: dict[str, str] | None = None) -> None:
        begun = time.perf_counter()
        self.process = Popen(
            command,
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            bufsize=0,
            cwd=ROOT,
            env={**os.environ, **(environment or {})},
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._in = self.process.stdin
        self._out = os.fdopen(os.dup(self.process.stdout.fileno()), "rb", 1 << 16)
        self.request_raw(orjson.dumps(INITIALIZE) + b"\n")
        self.started_seconds = time.perf_counter() - begun
        self.idle_rss_mb = rss_mb(self.process.pid)
        self._in.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def request_raw(self, line: bytes) -> bytes:
        self._in.write(line)
        return self._out.readline()

    def call(self, name: str, arguments: dict[str, Any], request_id: int = 1) -> dict[str, Any]:
        answer: dict[str, Any] = orjson.loads(
            self.request_raw(call_line(name, arguments, request_id))
        )
        return answer

    def sequential(self, lines: Sequence[bytes]) -> float:
        """Requests per second, one after the other."""
        begun = time.perf_counter()
        for line in lines:
            self.request_raw(line)
        return len(lines) / (time.perf_counter() - begun)

    def pipelined(self, lines: Sequence[bytes]) -> float:
        """Requests per second with the pipe kept full."""
        blob = b"".join(lines)
        begun = time.perf_counter()
        feeder = Thread(target=self._feed, args=(blob,))
        feeder.start()
        for _ in lines:
            self._out.readline()
        feeder.join()
        return len(lines) / (time.perf_counter() - begun)

    def _feed(self, blob: bytes) -> None:
        for start in range(0, len(blob), 1 << 16):
            self._in.write(blob[start : start + (1 << 16)])

    def close(self) -> None:
        self._in.close()
        with suppress(Exception):
            self.process.wait(10)
        if self.process.poll() is None:
            self.process.kill()


def call_line(name: str, arguments: dict[str, Any], request_id: int) -> bytes:
    return (
        orjson.dumps(
            {
                "jsonrpc": "2.0",
                "id": request_id,
                "method": "tools/call",
                "params": {"name": name, "arguments": arguments},
            }
        )
        + b"\n"
    )


def rss_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


@contextmanager
def http_server(
    command: Sequence[str], port: int, environment: dict[str, str] | None = None
) -> Any:
    import socket

    process = Popen(
        command, stdout=DEVNULL, stderr=DEVNULL, cwd=ROOT, env={**os.environ, **(environment or {})}
    )
    try:
        until = time.monotonic() + 30
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            if time.monotonic() > until or process.poll() is not None:
                raise RuntimeError(f"{command[0]} did not listen on {port}")
            time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        with suppress(Exception):
            process.wait(10)


def median(values: Iterable[float]) -> float:
    return statistics.median(values)


def show(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    table = Table(title=f"{title}   (load {os.getloadavg()[0]:.1f})", title_justify="left")
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right")
    for row in rows:
        table.add_row(*row)
    Console(width=120).print(table)


def verdict(passed: bool) -> str:
    return "pass" if passed else "FAIL"
