"""Notices edits of the folder by editors and git: the operating system's events, and a look of
our own where those stay silent.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Set
from pathlib import Path
from typing import Any

from commonplace.instructions.store.folder import Shelf

log = logging.getLogger("commonplace.instructions")
QUIET_SECONDS = 1.0  # without events, the folder's own time is looked at this often
HEAD_START_SECONDS = 0.2  # the call that loaded the folder is answered before events are set up
SETTLE_MS = 60  # events closer together than this are one change
SILENT_AFTER = 2  # changes found without an event before polling takes over


class Watcher:
    """One thread per served folder.

    It only brings foreign edits in early: reads of our own processes follow the journal.
    """

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="instructions-watcher", daemon=True)
        self.polling = False

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(timeout=0.5)

    def _run(self) -> None:
        self._shelf.ensure_loaded()
        self._stop.wait(HEAD_START_SECONDS)
        try:
            self._shelf.directory.ensure()
            from watchfiles import watch
        except (ImportError, OSError) as error:
            log.info("no file events (%s): the instruction folder is polled", error)
            self._poll()
            return
        try:
            self._follow(watch)
        except (OSError, RuntimeError) as error:
            log.warning("watching the instruction folder failed (%s): it is polled", error)
            self._poll()

    def _follow(self, watch: Callable[..., Iterable[Set[tuple[Any, str]]]]) -> None:
        """Look at what events name; once they cease, look at everything, for events can get lost
        (those before the first, too).
        """
        seen, missed, settled = self._folder_time(), 0, False
        for changes in watch(
            self._shelf.directory.path,
            watch_filter=lambda _, path: (
                path.endswith(".json") and "/." not in path[path.rfind("/") :]
            ),
            stop_event=self._stop,
            debounce=SETTLE_MS * 4,
            step=SETTLE_MS,
            rust_timeout=int(QUIET_SECONDS * 1000),
            yield_on_timeout=True,
            recursive=False,
            raise_interrupt=False,
        ):
            now = self._folder_time()
            if changes:
                missed, settled = 0, False
                self._compare(sorted({Path(path).name for _, path in changes}))
            elif not settled:
                settled = True
                self._compare()
            elif now != seen and self._compare():
                missed += 1
                if missed >= SILENT_AFTER:
                    log.info("this file system reports no events: the instruction folder is polled")
                    self._poll()
                    return
            seen = now

    def _poll(self) -> None:
        self.polling = True
        while not self._stop.wait(QUIET_SECONDS / 2):
            self._compare()

    def _compare(self, names: Iterable[str] | None = None) -> bool:
        try:
            return self._shelf.compare(names).any
        except OSError as error:
            log.warning("the instruction folder cannot be read: %s", error)
            return False

    def _folder_time(self) -> int:
        try:
            return self._shelf.directory.path.stat().st_mtime_ns
        except OSError:
            return 0
