"""Exchange raw bytes with a live stdio process, without a client library."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from conformance.program import COMMONPLACE, STOP_SECONDS, environment

ANSWER_SECONDS = 120.0
CHUNK = 1 << 16


class Lines:
    """One `commonplace serve` on pipes.

    `exchange` writes while it reads, so neither side can block the other.
    """

    def __init__(self, process: subprocess.Popen[bytes], errors: Path) -> None:
        self.process = process
        self.errors = errors
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin.fileno(), process.stdout.fileno()
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)
        self._partial = b""
        self.answers: list[Any] = []

    def exchange(self, data: bytes, enough: Callable[[list[Any]], bool]) -> list[Any]:
        """Send the bytes and read until there is enough; the answers read by this call."""
        first, left, give_up = (
            len(self.answers),
            memoryview(data),
            time.monotonic() + ANSWER_SECONDS,
        )
        with selectors.DefaultSelector() as ready:
            ready.register(self._out, selectors.EVENT_READ)
            if left:
                ready.register(self._in, selectors.EVENT_WRITE)
            while left or not enough(self.answers[first:]):
                assert time.monotonic() < give_up, (
                    f"no answer in time; read: {str(self.answers[first:])[-2000:]}"
                )
                for key, _ in ready.select(timeout=1.0):
                    if key.fd == self._out:
                        self._read()
                        continue
                    left = left[os.write(self._in, left[:CHUNK]) :]
                    if not left:
                        ready.unregister(self._in)
        return self.answers[first:]

    def _read(self) -> None:
        chunk = os.read(self._out, CHUNK * 16)
        assert chunk, f"the process ended: {self.errors.read_text()[-2000:]}"
        *lines, self._partial = (self._partial + chunk).split(b"\n")
        self.answers.extend(json.loads(line) for line in lines)

    def request(self, method: str, params: Any = None, request_id: Any = "asked") -> dict[str, Any]:
        body = {"jsonrpc": "2.0", "id": request_id, "method": method} | (
            {} if params is None else {"params": params}
        )
        answers = self.exchange(
            json.dumps(body).encode() + b"\n",
            lambda read: any(_id(line) == request_id for line in read),
        )
        found: dict[str, Any] = next(answer for answer in answers if _id(answer) == request_id)
        return found

    def resident_bytes(self) -> int:
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf(
            "SC_PAGE_SIZE"
        )

    def end_input(self) -> int:
        """Close our end and wait for the process; its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(STOP_SECONDS)


def _id(answer: Any) -> Any:
    return answer.get("id") if isinstance(answer, dict) else None


@contextlib.contextmanager
def live(data: Path, extra: Mapping[str, str] | None = None) -> Iterator[Lines]:
    """A process for the block. It is killed at the end if it still runs."""
    data.mkdir(parents=True, exist_ok=True)
    errors = data / "stderr.txt"
    with errors.open("wb") as stderr:
        process = subprocess.Popen(
            [str(COMMONPLACE), "serve"],
            env=environment(data, extra),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=data,
        )
    try:
        yield Lines(process, errors)
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None and not stream.closed:
                stream.close()
