"""A signal between processes of one data folder: one creates a file, another polls for it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from pathlib import Path

POLL_SECONDS = 0.5
SEND_EVERY_SECONDS = 1.0
INDEX_REQUEST = "index.request"


class SignalFile:
    """A signal that is consumed by the process that notices it first."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._sent_at = 0.0

    def send(self) -> None:
        """Create the signal. Cheap to repeat; an unwritable folder is ignored."""
        if time.monotonic() - self._sent_at >= SEND_EVERY_SECONDS:
            self._sent_at = time.monotonic()
            with contextlib.suppress(OSError):
                self._path.touch(mode=0o600)

    def consume(self) -> bool:
        """Remove the signal. Return whether there was one."""
        try:
            self._path.unlink()
        except OSError:
            return False
        return True

    def watch(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call `callback` in a new thread when the signal first arrives.

        Returns a function that ends the watch.
        """
        ended = threading.Event()

        def poll() -> None:
            while not ended.wait(POLL_SECONDS):
                if self.consume():
                    callback()
                    return

        threading.Thread(target=poll, name="signal-file", daemon=True).start()
        return ended.set


def index_request(data: Path) -> SignalFile:
    """Return the signal that asks a server of the data folder to index what a command queued."""
    return SignalFile(data / INDEX_REQUEST)
