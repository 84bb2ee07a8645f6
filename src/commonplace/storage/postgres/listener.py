"""Notifications with a text, received on a separate session of the database."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

import psycopg

from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.postgres.database import PostgresDatabase

LISTEN_SECONDS = 5.0  # longest wait before the listener checks whether it should stop
RETRY_SECONDS = 1.0
_WAKE = "SELECT pg_notify(%(channel)s, '')"

_LOCK = "SELECT pg_advisory_lock_shared(hashtextextended(%(key)s, 0))"


class PostgresListener:
    """Receives the texts of one channel in a thread of its own.

    `connected` is called after every (re)connection, because notifications that were sent before
    it are lost. Both callbacks run in that thread.
    """

    def __init__(
        self,
        database: PostgresDatabase,
        channel: str,
        received: Callable[[str], None],
        connected: Callable[[], None],
        lock: str = "",
    ) -> None:
        """`lock`: a name that is locked while this listens, so that others see that it does."""
        self._database = database
        self._channel = channel
        self._received = received
        self._connected = connected
        self._lock = lock
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="storage-listen", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop listening. Call it before the database is closed."""
        self._stopping.set()
        with contextlib.suppress(CommonplaceError, psycopg.Error, RuntimeError):
            self._database.read_now(
                lambda connection: connection.execute(_WAKE, {"channel": self._channel}) and None
            )
        self._thread.join()

    def _listen(self) -> None:
        while not self._stopping.is_set():
            try:
                with self._database.connect() as session:
                    session.execute(f"LISTEN {self._channel}")
                    if self._lock:
                        session.execute(_LOCK, {"key": self._lock})
                    self._connected()
                    while not self._stopping.is_set():
                        for notification in session.notifies(timeout=LISTEN_SECONDS, stop_after=1):
                            if notification.payload:
                                self._received(notification.payload)
            except (CommonplaceError, psycopg.Error):
                self._stopping.wait(RETRY_SECONDS)
