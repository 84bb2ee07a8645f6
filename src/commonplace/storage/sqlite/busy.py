"""Waiting for the lock of a SQLite file."""

from __future__ import annotations

import random
import time


class BusyHandler:
    """A busy handler with a deadline and short random pauses.

    It is fairer between processes than SQLite's own handler, whose pauses grow in steps.
    """

    def __init__(self, timeout_seconds: float) -> None:
        self.timeout_seconds = timeout_seconds
        self.deadline: float | None = None  # of one transaction, set by the writer
        self._started_at = 0.0

    def __call__(self, tries: int) -> bool:
        now = time.monotonic()
        if tries == 0:
            self._started_at = now
        limit = self.deadline
        if limit is None:
            limit = self._started_at + self.timeout_seconds
        if now >= limit:
            return False
        shortest, longest = (0.0002, 0.001) if tries < 50 else (0.001, 0.005)
        pause = random.uniform(shortest, longest)  # noqa: S311 - jitter, not secrecy
        time.sleep(min(pause, max(0.0, limit - now)))
        return True
