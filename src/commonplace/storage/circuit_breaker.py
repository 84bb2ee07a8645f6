"""A circuit breaker: after several failures in a row, callers stop waiting for a broken service."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

FAILURES = 5
FIRST_PAUSE_SECONDS = 2.0
LONGEST_PAUSE_SECONDS = 30.0


class CircuitBreaker:
    """Count failures in a row and pause after `failures` of them. Thread-safe.

    Ask `pause_seconds()` before an attempt, then report it with `record_success` or
    `record_failure`.
    """

    def __init__(
        self, failures: int = FAILURES, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._threshold = failures
        self._clock = clock
        self._lock = threading.Lock()
        self._failures_in_a_row = 0
        self._pause_seconds = FIRST_PAUSE_SECONDS
        self._paused_until = 0.0

    def pause_seconds(self) -> float:
        """Return how long to wait; 0 means that an attempt is allowed.

        While the breaker is open, one caller per pause is allowed as a probe.
        """
        with self._lock:
            now = self._clock()
            if self._failures_in_a_row < self._threshold:
                return 0.0
            if now < self._paused_until:
                return self._paused_until - now
            self._paused_until = now + self._pause_seconds  # this caller probes; others wait
            return 0.0

    def record_success(self) -> None:
        """Close the breaker."""
        with self._lock:
            self._failures_in_a_row = 0
            self._pause_seconds = FIRST_PAUSE_SECONDS
            self._paused_until = 0.0

    def record_failure(self) -> None:
        """Count a failure; open the breaker, or double its pause, after too many."""
        with self._lock:
            self._failures_in_a_row += 1
            if self._failures_in_a_row < self._threshold:
                return
            if self._failures_in_a_row > self._threshold:
                self._pause_seconds = min(self._pause_seconds * 2, LONGEST_PAUSE_SECONDS)
            self._paused_until = self._clock() + self._pause_seconds

    @property
    def is_open(self) -> bool:
        """Whether callers should wait now."""
        with self._lock:
            return self._failures_in_a_row >= self._threshold and self._clock() < self._paused_until
