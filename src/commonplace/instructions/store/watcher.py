"""Watcher of an instruction folder: file events, and polling where there are none."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Set
from pathlib import Path

from commonplace.instructions.store.folder import FolderStore
from commonplace.kernel.json_types import Json

log = logging.getLogger("commonplace.instructions")
QUIET_SECONDS = 1.0  # interval of checks of the folder's own time
HEAD_START_SECONDS = 0.2  # answer the call that loaded the folder first
SETTLE_MS = 60  # events within this time are one change
MISSED_LIMIT = 2  # changes without an event before polling starts


class FolderWatcher:
    """A thread that takes over edits by editors and git; our own processes use the journal."""

    def __init__(self, store: FolderStore, *, poll: bool = False) -> None:
        self._store = store
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="instructions-watcher", daemon=True)
        self.polling = poll

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread."""
        self._stop.set()
        self._thread.join(timeout=0.5)

    def _run(self) -> None:
        self._store.load()
        if self.polling:
            self._poll()
            return
        self._stop.wait(HEAD_START_SECONDS)
        try:
            self._store.directory.ensure()
            from watchfiles import watch
        except (ImportError, OSError) as error:
            log.info("no file events (%s): polling the instruction folder", error)
            self._poll()
            return
        try:
            self._follow(watch)
        except (OSError, RuntimeError) as error:
            log.warning("watching the instruction folder failed (%s): polling it", error)
            self._poll()

    def _follow(self, watch: Callable[..., Iterable[Set[tuple[Json, str]]]]) -> None:
        """Compare the files that events name; then compare all, because events can get lost."""
        last_time, missed, settled = self._folder_time(), 0, False
        for changes in watch(
            self._store.directory.path,
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
                self.compare(sorted({Path(path).name for _, path in changes}))
            elif not settled:
                settled = True
                self.compare()
            elif now != last_time and self.compare():
                missed += 1
                if missed >= MISSED_LIMIT:
                    log.info("the file system reports no events: polling the instruction folder")
                    self._poll()
                    return
            last_time = now

    def _poll(self) -> None:
        self.polling = True
        while not self._stop.wait(QUIET_SECONDS / 2):
            self.compare()

    def compare(self, names: Iterable[str] | None = None) -> bool:
        """Compare the folder, or some files of it; return whether anything changed."""
        try:
            return self._store.synchronise(names).any
        except OSError as error:
            log.warning("the instruction folder cannot be read: %s", error)
            return False

    def _folder_time(self) -> int:
        try:
            return self._store.directory.path.stat().st_mtime_ns
        except OSError:
            return 0
