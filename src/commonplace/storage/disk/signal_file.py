"""A signal between processes of one data folder: one touches a file, another notices it within
half a second.
"""

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
    """Sent as often as wanted, noticed once: whoever notices it removes the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._sent_at = 0.0

    def send(self) -> None:
        """Leave the signal.

        Cheap when called again and again; a folder that cannot be written is left alone.
        """
        if time.monotonic() - self._sent_at >= SEND_EVERY_SECONDS:
            self._sent_at = time.monotonic()
            with contextlib.suppress(OSError):
                self._path.touch(mode=0o600)

    def take(self) -> bool:
        """Remove the signal; whether there was one."""
        try:
            self._path.unlink()
        except OSError:
            return False
        return True

    def watch(self, notice: Callable[[], object]) -> Callable[[], None]:
        """Call `notice` in a thread of its own when the signal first comes; returns what ends
        the watch.
        """
        ended = threading.Event()

        def wait() -> None:
            while not ended.wait(POLL_SECONDS):
                if self.take():
                    notice()
                    return

        threading.Thread(target=wait, name="signal-file", daemon=True).start()
        return ended.set


def index_request(data: Path) -> SignalFile:
    """The signal by which commands ask a server of their data folder to index what they queued."""
    return SignalFile(data / INDEX_REQUEST)
