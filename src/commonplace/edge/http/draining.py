"""The time between a signal to stop and the end of listening, in which a load balancer learns
that it should look elsewhere.
"""

from __future__ import annotations

import time

RECENTLY_SECONDS = 60.0


class Draining:
    """Begun by SIGTERM.

    A server whose readiness nobody asked for lately has nobody to tell, and does not wait.
    """

    def __init__(self, seconds: float = 0.0) -> None:
        self._seconds = seconds
        self._asked_at = float("-inf")
        self._until: float | None = None

    @property
    def begun(self) -> bool:
        return self._until is not None

    @property
    def over(self) -> bool:
        return self._until is not None and time.monotonic() >= self._until

    def asked(self) -> None:
        """Note that somebody asked whether the server is ready."""
        self._asked_at = time.monotonic()

    def begin(self) -> None:
        """Be not ready from now on."""
        if self._until is None:
            now = time.monotonic()
            self._until = now + (self._seconds if now - self._asked_at < RECENTLY_SECONDS else 0.0)
