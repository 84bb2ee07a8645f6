"""Parsing in a process of its own, with a limit of time that holds.

A parser in C can neither be interrupted nor trusted with hostile text: it may run for minutes, hold
the interpreter's lock, or crash. Here it costs one file its structure.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import subprocess  # runs this package's own module
import sys
import threading
import time

from commonplace.search.code.languages import MARKDOWN, language_of
from commonplace.search.code.markdown import read_markdown
from commonplace.search.code.reading import obstacle
from commonplace.search.code.structure import Structure
from commonplace.search.code.wire import (
    ANSWER,
    MAX_ANSWER_BYTES,
    MalformedAnswerError,
    decode_answer,
    encode_request,
)

log = logging.getLogger("commonplace.search.code")

# The worker limits its own processor time; this is for a machine that hardly runs it.
PARSE_SECONDS = 60.0
PASSED_ON = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "HOME")
_READ_BYTES = 1 << 20


class ParserFailedError(Exception):
    """The process ended, or took too long."""


class ParserProcess:
    """Structures of files from a child process, started when first needed. Thread-safe."""

    def __init__(self, parse_seconds: float = PARSE_SECONDS) -> None:
        self._parse_seconds = parse_seconds
        self._guard = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def process_id(self) -> int | None:
        """Return the id of the running process; None if there is none."""
        child = self._child
        return child.pid if child is not None and child.poll() is None else None

    def structure(self, path: str, source: bytes) -> Structure:
        """Return the structure of a file; never raises. `note` says why a part is missing."""
        language = language_of(path)
        if language == MARKDOWN:
            return read_markdown(source)
        note = obstacle(language, source)
        if note or not source:
            return Structure(language, note=note)
        with self._guard:
            try:
                return self._ask(language, source)
            except (ParserFailedError, MalformedAnswerError, OSError) as failed:
                self._end()
                log.info("a file of %d bytes is indexed without structure: %s", len(source), failed)
                return Structure(language, note=str(failed) or type(failed).__name__)

    def close(self) -> None:
        """End the process; the next call starts another one."""
        with self._guard:
            self._end()

    def _ask(self, language: str, source: bytes) -> Structure:
        request = encode_request(language, source)
        child, started = self._running()
        try:
            body = _exchange(child, request, self._parse_seconds)
        except (BrokenPipeError, EOFError):
            if started or child.wait() != 0:
                raise ParserFailedError(_ended(child.wait())) from None
            # it ended by itself, idle: ask a new one
            child, _ = self._running()
            try:
                body = _exchange(child, request, self._parse_seconds)
            except (BrokenPipeError, EOFError):
                raise ParserFailedError(_ended(child.wait())) from None
        return decode_answer(body, len(source))

    def _running(self) -> tuple[subprocess.Popen[bytes], bool]:
        """Return the process, and whether it was started for this."""
        if self._child is not None and self._child.poll() is None:
            return self._child, False
        self._end()
        self._child = subprocess.Popen(
            [sys.executable, "-P", "-m", "commonplace.search.code.worker"],
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
    if status == -signal.SIGPROF:
        return "parsing takes too long"
    return f"the parser ended with status {status}"


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
            raise ParserFailedError("parsing takes too long")
        readable, writable, _ = select.select([receiving], wants_write, [], remaining)
        if writable:
            sent += os.write(sending, request[sent : sent + _READ_BYTES])
        if readable:
            part = os.read(receiving, _READ_BYTES)
            if not part:
                raise EOFError
            received += part
        if expected is None and len(received) >= ANSWER.size:
            (size,) = ANSWER.unpack(received[: ANSWER.size])
            if size > MAX_ANSWER_BYTES:
                raise MalformedAnswerError("the answer of the parser is too large")
            expected = ANSWER.size + size
    return bytes(received[ANSWER.size :])
