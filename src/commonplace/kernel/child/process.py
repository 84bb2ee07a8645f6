"""The parent's side: start a worker when first needed, send it requests, end it.

A parser can neither be interrupted nor trusted with hostile text: it may run for minutes, hold the
interpreter's lock, or crash. In a child it costs one request its answer.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess  # runs modules of this package
import sys
import threading
import time

from commonplace.kernel.child.frames import FRAME, MAX_ANSWER_BYTES, frame

PASSED_ON = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "HOME")
TOO_LONG = "parsing takes too long"
_READ_BYTES = 1 << 20


class ChildFailedError(Exception):
    """The process ended, took too long, or answered too much."""


class ChildProcess:
    """Requests to a worker module (`kernel/child/worker.py`), one at a time. Thread-safe.

    The worker limits its own processor time; `seconds` is for a machine that hardly runs it.
    """

    def __init__(self, module: str, seconds: float) -> None:
        self._module = module
        self._seconds = seconds
        self._guard = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def process_id(self) -> int | None:
        """Return the id of the running process; None if there is none."""
        child = self._child
        return child.pid if child is not None and child.poll() is None else None

    def ask(self, request: bytes) -> bytes:
        """Return the answer; raise ChildFailedError, and end the process where it failed."""
        with self._guard:
            try:
                return self._ask(frame(request))
            except (ChildFailedError, OSError) as failed:
                self._end()
                raise ChildFailedError(str(failed) or type(failed).__name__) from failed

    def close(self) -> None:
        """End the process; the next request starts another one."""
        with self._guard:
            self._end()

    def _ask(self, request: bytes) -> bytes:
        child, started = self._running()
        try:
            return _exchange(child, request, self._seconds)
        except (BrokenPipeError, EOFError):
            if started or child.wait() != 0:
                raise ChildFailedError(_ended(child.wait())) from None
        child, _ = self._running()  # it ended by itself, idle: ask a new one
        try:
            return _exchange(child, request, self._seconds)
        except (BrokenPipeError, EOFError):
            raise ChildFailedError(_ended(child.wait())) from None

    def _running(self) -> tuple[subprocess.Popen[bytes], bool]:
        """Return the process, and whether it was started for this."""
        if self._child is not None and self._child.poll() is None:
            return self._child, False
        self._end()
        self._child = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-P", "-m", self._module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env={name: os.environ[name] for name in PASSED_ON if name in os.environ},
            start_new_session=True,  # an interrupt of the server is not meant for it
        )
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        os.set_blocking(self._child.stdin.fileno(), False)
        os.set_blocking(self._child.stdout.fileno(), False)
        return self._child, True

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        for stream in (child.stdin, child.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        child.kill()
        child.wait()


def _ended(status: int) -> str:
    return TOO_LONG if status == -signal.SIGPROF else f"the parser ended with status {status}"


def _exchange(child: subprocess.Popen[bytes], request: bytes, seconds: float) -> bytes:
    """Send a request and return the body of the answer; both directions may have to wait."""
    deadline = time.monotonic() + seconds
    assert child.stdin is not None
    assert child.stdout is not None
    sending, receiving = child.stdin.fileno(), child.stdout.fileno()
    sent = 0
    received = bytearray()
    expected: int | None = None
    while expected is None or len(received) < expected:
        wants_write = [sending] if sent < len(request) else []
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise ChildFailedError(TOO_LONG)
        readable, writable, _ = select.select([receiving], wants_write, [], remaining)
        if writable:
            sent += os.write(sending, request[sent : sent + _READ_BYTES])
        if readable:
            part = os.read(receiving, _READ_BYTES)
            if not part:
                raise EOFError
            received += part
        if expected is None and len(received) >= FRAME.size:
            (size,) = FRAME.unpack(received[: FRAME.size])
            if size > MAX_ANSWER_BYTES:
                raise ChildFailedError("the answer of the parser is too large")
            expected = FRAME.size + size
    return bytes(received[FRAME.size :])
