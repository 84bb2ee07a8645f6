"""The thread of the index worker."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections.abc import Callable

from commonplace.files.indexing.indexer import Indexer

SWITCH_SECONDS = 0.0005
STOP_SECONDS = 3.0


class IndexerThread:
    """Run an indexer on an event loop of its own: it neither waits for calls nor delays them."""

    def __init__(self, indexer: Indexer) -> None:
        self._indexer = indexer
        self._thread = threading.Thread(target=self._run, name="files-index", daemon=True)
        self._cancel: Callable[[], object] = lambda: None

    def _run(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            asyncio.run(self._work())

    async def _work(self) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        await self._indexer.run()

    def start(self) -> None:
        # Analysing text holds the interpreter's lock; at the default of 5 ms every call beside it
        # would wait that long, several times.
        sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_SECONDS))
        self._thread.start()

    def stop(self) -> None:
        """Finish the current batch if that is quick; else leave its jobs to the next leader."""
        self._indexer.stop()
        self._thread.join(STOP_SECONDS)
        if self._thread.is_alive():
            with contextlib.suppress(RuntimeError):  # it ended this very moment
                self._cancel()
            self._thread.join()
