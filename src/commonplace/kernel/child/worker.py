"""The worker's side: answer requests until the parent ends, or nobody asks for some time."""

from __future__ import annotations

import os
import resource
import select
import signal
import sys
from collections.abc import Callable
from functools import partial

from commonplace.kernel.child.frames import FRAME, frame, read_exactly

IDLE_SECONDS = 120.0
MAX_MEMORY_BYTES = 2_000_000_000  # of address space; a hostile source must not take more


def serve_requests(answer: Callable[[bytes], bytes], cpu_seconds: float) -> int:
    """Answer requests; `cpu_seconds` is the processor time that one may take.

    The signal ends this process wherever it is; the parent notices and goes on.
    """
    limit_resources()
    read, answers = partial(os.read, sys.stdin.fileno()), sys.stdout.buffer
    while True:
        ready, _, _ = select.select([sys.stdin.fileno()], [], [], IDLE_SECONDS)
        header = read_exactly(read, FRAME.size) if ready else None
        body = read_exactly(read, FRAME.unpack(header)[0]) if header is not None else None
        if body is None:
            return 0
        signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
        answered = frame(answer(body))
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        answers.write(answered)
        answers.flush()


def limit_resources() -> None:
    """Bound the memory, and write no core file."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY or hard > MAX_MEMORY_BYTES:
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, hard))
