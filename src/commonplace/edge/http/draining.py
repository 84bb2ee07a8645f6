"""The time between a signal to stop and the end of listening.

In it a load balancer learns from /readyz that it should use another server.
"""

from __future__ import annotations

import time

RECENTLY_SECONDS = 60.0


class Draining:
    """Begins with SIGTERM; a server without recent readiness probes does not wait."""

    def __init__(self, seconds: float = 0.0) -> None:
        self._seconds = seconds
        self._probed_at = float("-inf")
        self._until: float | None = None

    @property
    def begun(self) -> bool:
        return self._until is not None

    @property
    def over(self) -> bool:
        return self._until is not None and time.monotonic() >= self._until

    def note_probe(self) -> None:
        """Note that a readiness probe was answered."""
        self._probed_at = time.monotonic()

    def begin(self) -> None:
        """Report as not ready from now on."""
        if self._until is None:
            now = time.monotonic()
            self._until = now + (self._seconds if now - self._probed_at < RECENTLY_SECONDS else 0.0)
