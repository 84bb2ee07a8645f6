"""Tells the workers of every process that work was queued: NOTIFY after commits, LISTEN on a
connection of its own.

Ringing is gathered, so that a burst of writes costs a few notifications and no write waits for one.
A lost ring is not lost work: workers look by themselves too.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

import psycopg

from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.postgres.database import PostgresDatabase

GATHER_SECONDS = 0.05
LISTEN_SECONDS = 5.0  # how long a listener waits before it looks whether it should stop
RETRY_SECONDS = 1.0
_RING = "SELECT pg_notify(%(channel)s, '')"


class Bell:
    """`heard` is called in a thread of the bell's own, for rings of this process too."""

    def __init__(
        self, database: PostgresDatabase, channel: str, heard: Callable[[], None] | None
    ) -> None:
        self._database = database
        self._channel = channel
        self._heard = heard
        self._wanted = threading.Event()
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._ringing, name="storage-ring", daemon=True)]
        if heard is not None:
            self._threads.append(
                threading.Thread(target=self._listening, name="storage-listen", daemon=True)
            )

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def ring(self) -> None:
        """Work was queued. From any thread; never waits."""
        self._wanted.set()

    def stop(self) -> None:
        """Before the database closes."""
        self._stopping.set()
        self._wanted.set()  # one last ring, which also ends the listener's wait
        for thread in self._threads:
            thread.join()

    def _ringing(self) -> None:
        while not self._stopping.is_set():
            self._wanted.wait()
            self._wanted.clear()
            with contextlib.suppress(CommonplaceError, psycopg.Error, RuntimeError):
                self._database.read_now(
                    lambda connection: (
                        connection.execute(_RING, {"channel": self._channel}) and None
                    )
                )
            self._stopping.wait(GATHER_SECONDS)

    def _listening(self) -> None:
        while not self._stopping.is_set():
            try:
                with self._database.connect() as connection:
                    connection.execute(f"LISTEN {self._channel}")
                    self._hear()  # what was queued while nobody listened
                    while not self._stopping.is_set():
                        for _ in connection.notifies(timeout=LISTEN_SECONDS, stop_after=1):
                            self._hear()
            except (CommonplaceError, psycopg.Error):
                self._stopping.wait(RETRY_SECONDS)

    def _hear(self) -> None:
        if self._heard is not None and not self._stopping.is_set():
            self._heard()
