"""The state of an unreachable database server."""

from __future__ import annotations

import logging
import threading
import time

from commonplace.storage.postgres.connection import CONNECT_SECONDS
from commonplace.storage.postgres.errors import describe_for_log

log = logging.getLogger("commonplace.storage")

PROBE_SECONDS = 0.1  # during an outage one unit per interval tries to connect; others are refused


class Outage:
    """Whether the server is known to be unreachable. Thread-safe.

    During an outage units do not wait for it one after the other: one of them probes from time to
    time, and the first success ends the outage.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next_probe: float | None = None

    @property
    def active(self) -> bool:
        """Whether the server is known to be unreachable."""
        return self._next_probe is not None

    def begin(self, reason: BaseException) -> None:
        """Record a failed attempt to connect."""
        with self._lock:
            if self._next_probe is None:
                log.error("the database cannot be reached: %s", describe_for_log(reason))
            self._next_probe = time.monotonic() + PROBE_SECONDS

    def end(self) -> None:
        """Record that the server answers."""
        if self._next_probe is not None:
            with self._lock:
                self._next_probe = None
            log.warning("the database answers again")

    def may_connect(self) -> bool:
        """Tell whether a unit may try to connect now; waits for the next probe if it is near."""
        next_probe = self._next_probe
        if next_probe is None:
            return True
        pause = next_probe - time.monotonic()
        if 0 < pause <= PROBE_SECONDS:
            time.sleep(pause)
        with self._lock:
            now = time.monotonic()
            if self._next_probe is not None and now < self._next_probe:
                return False
            self._next_probe = now + CONNECT_SECONDS + PROBE_SECONDS  # `begin` or `end` follows
            return True
