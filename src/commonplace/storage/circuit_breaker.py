"""A circuit breaker: after several failures in a row nobody waits for a broken service, until
one probe finds it well again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

FAILURES = 5
FIRST_REST_SECONDS = 2.0
LONGEST_REST_SECONDS = 30.0


class Breaker:
    """`rest()` before a try: 0 means go on.

    Then tell how it went with `succeeded` or `failed`. Thread-safe.
    """

    def __init__(
        self, failures: int = FAILURES, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._failures = failures
        self._clock = clock
        self._guard = threading.Lock()
        self._in_a_row = 0
        self._rest_seconds = FIRST_REST_SECONDS
        self._until = 0.0

    def rest(self) -> float:
        """Seconds to stay away; 0 where a try is welcome.

        While it is open, one caller per rest becomes the probe.
        """
        with self._guard:
            now = self._clock()
            if self._in_a_row < self._failures:
                return 0.0
            if now < self._until:
                return self._until - now
            self._until = now + self._rest_seconds  # this caller probes; the others rest on
            return 0.0

    def succeeded(self) -> None:
        with self._guard:
            self._in_a_row, self._rest_seconds, self._until = 0, FIRST_REST_SECONDS, 0.0

    def failed(self) -> None:
        with self._guard:
            self._in_a_row += 1
            if self._in_a_row == self._failures:
                self._until = self._clock() + self._rest_seconds
            elif self._in_a_row > self._failures:
                self._rest_seconds = min(self._rest_seconds * 2, LONGEST_REST_SECONDS)
                self._until = self._clock() + self._rest_seconds

    @property
    def open(self) -> bool:
        with self._guard:
            return self._in_a_row >= self._failures and self._clock() < self._until
