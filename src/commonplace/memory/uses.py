"""Counts accesses outside the paths that read: in memory at first, written together a moment later."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from datetime import datetime

from commonplace.kernel.auth import Tenant
from commonplace.kernel.errors import CommonplaceError

log = logging.getLogger("commonplace.memory")

DELAY_SECONDS = 0.5
Counts = Mapping[tuple[Tenant, str], tuple[int, datetime]]


class Uses:
    """Accesses not written yet. Its thread exists only while there are some; `close` writes the rest."""

    def __init__(self, write: Callable[[Counts], None], delay_seconds: float = DELAY_SECONDS) -> None:
        self._write = write
        self._delay_seconds = delay_seconds
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._waiting: dict[tuple[Tenant, str], tuple[int, datetime]] = {}
        self._timer: threading.Timer | None = None
        self._closed = False

    def record(self, tenant: Tenant, entry_id: str, moment: datetime) -> None:
        with self._lock:
            count, _ = self._waiting.get((tenant, entry_id), (0, moment))
            self._waiting[tenant, entry_id] = (count + 1, moment)
            if self._timer is None and not self._closed:
                self._timer = threading.Timer(self._delay_seconds, self._flush_quietly)
                self._timer.daemon = True
                self._timer.start()

    def waiting(self, tenant: Tenant, entry_id: str) -> tuple[int, datetime] | None:
        with self._lock:
            return self._waiting.get((tenant, entry_id))

    def flush(self) -> None:
        """Write what was counted. While it is being written it still shows in `waiting`, so a reader sees it at most once too often."""
        with self._flushing:
            with self._lock:
                counts = dict(self._waiting)
                self._timer = None
            if not counts:
                return
            self._write(counts)
            with self._lock:
                for key, (count, _) in counts.items():
                    total, moment = self._waiting[key]
                    if total == count:
                        del self._waiting[key]
                    else:
                        self._waiting[key] = (total - count, moment)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        self._flush_quietly()

    def _flush_quietly(self) -> None:
        try:
            self.flush()
        except CommonplaceError as busy:  # counts are statistics: they wait for the next access
            log.warning("accesses not written yet: %s", busy)
