"""Notifications that work was queued: NOTIFY after commits, LISTEN on a separate connection.

Notifications are collected, so that a burst of writes costs a few of them and no write waits for
one. A lost notification does not lose work: workers also poll.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

import psycopg

from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.postgres.database import PostgresDatabase

COLLECT_SECONDS = 0.05
LISTEN_SECONDS = 5.0  # longest wait of a listener before it checks whether it should stop
RETRY_SECONDS = 1.0
_NOTIFY = "SELECT pg_notify(%(channel)s, '')"


class NotificationChannel:
    """Send and receive notifications of one channel.

    `received` is called in a thread of this object, also for notifications of this process.
    """

    def __init__(
        self, database: PostgresDatabase, channel: str, received: Callable[[], None] | None
    ) -> None:
        self._database = database
        self._channel = channel
        self._received = received
        self._pending = threading.Event()
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._send, name="storage-notify", daemon=True)]
        if received is not None:
            self._threads.append(
                threading.Thread(target=self._listen, name="storage-listen", daemon=True)
            )

    def start(self) -> None:
        """Start sending and, if there is a receiver, listening."""
        for thread in self._threads:
            thread.start()

    def notify(self) -> None:
        """Announce that work was queued. From any thread; never waits."""
        self._pending.set()

    def stop(self) -> None:
        """Stop the threads. Call it before the database is closed."""
        self._stopping.set()
        self._pending.set()  # one last notification, which also ends the wait of the listener
        for thread in self._threads:
            thread.join()

    def _send(self) -> None:
        while not self._stopping.is_set():
            self._pending.wait()
            self._pending.clear()
            with contextlib.suppress(CommonplaceError, psycopg.Error, RuntimeError):
                self._database.read_now(
                    lambda connection: (
                        connection.execute(_NOTIFY, {"channel": self._channel}) and None
                    )
                )
            self._stopping.wait(COLLECT_SECONDS)

    def _listen(self) -> None:
        while not self._stopping.is_set():
            try:
                with self._database.connect() as connection:
                    connection.execute(f"LISTEN {self._channel}")
                    self._handle()  # for work queued while the connection was down
                    while not self._stopping.is_set():
                        for _ in connection.notifies(timeout=LISTEN_SECONDS, stop_after=1):
                            self._handle()
            except (CommonplaceError, psycopg.Error):
                self._stopping.wait(RETRY_SECONDS)

    def _handle(self) -> None:
        if self._received is not None and not self._stopping.is_set():
            self._received()
