"""When keys were last used: noted in memory, written in the background, seldom per key."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping

from commonplace.kernel.clock import Clock, iso, utc_now
from commonplace.kernel.errors import CommonplaceError

log = logging.getLogger("commonplace.storage")

WRITE_SECONDS = 60.0  # a key is written at most once in this time
COLLECT_SECONDS = 0.2


class LastUses:
    """Uses of keys on their way to a store.

    `write` gets the time of the last use by the id of the key; it runs in a thread of this object.
    """

    def __init__(
        self,
        write: Callable[[Mapping[str, str]], None],
        *,
        clock: Clock = utc_now,
        seconds: float = WRITE_SECONDS,
    ) -> None:
        self._write = write
        self._clock = clock
        self._seconds = seconds
        self._written_at: dict[str, float] = {}
        self._pending: dict[str, str] = {}
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def note(self, key_id: str) -> None:
        """Note that a key is used now. Cheap: it is called for every request."""
        now = time.monotonic()
        written_at = self._written_at.get(key_id)
        if written_at is not None and now - written_at < self._seconds:
            return
        with self._lock:
            self._written_at[key_id] = now
            self._pending[key_id] = iso(self._clock())
            if self._thread is None and not self._stopping.is_set():
                self._thread = threading.Thread(target=self._run, name="last-uses", daemon=True)
                self._thread.start()
        self._wake.set()

    def close(self) -> None:
        """Write what is pending and end the thread."""
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._wake.wait()
            self._stopping.wait(COLLECT_SECONDS)
            self._wake.clear()
            self._flush()
        self._flush()

    def _flush(self) -> None:
        with self._lock:
            uses, self._pending = self._pending, {}
        if not uses:
            return
        try:
            self._write(uses)
        except (CommonplaceError, OSError, RuntimeError) as failed:
            # The next use of these keys is written; a time of last use is not worth more.
            log.info("the last uses of %d keys were not written: %s", len(uses), failed)
