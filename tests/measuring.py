"""Measure what code costs, also on a busy machine."""

from __future__ import annotations

import time
from collections.abc import Callable

TRIES = 3


def runs_within(seconds: float, work: Callable[[], object]) -> bool:
    """Return whether work takes at most so much processor time in one of a few runs.

    Only this thread counts: other threads of the test process are not what is measured. A busy
    machine makes a single run slow, not every one.
    """
    for _ in range(TRIES):
        started = time.thread_time()
        work()
        if time.thread_time() - started <= seconds:
            return True
    return False
