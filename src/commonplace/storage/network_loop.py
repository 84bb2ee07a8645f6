"""An event loop in a background thread, for network connections that outlive their callers' loops.

A server calls from one loop, the index worker from another, a command from several; pooled
connections belong to one loop only.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from commonplace.kernel.errors import SERVER_BUSY, CommonplaceError

T = TypeVar("T")


class CallerSlots:
    """Limit concurrent network requests, in total and per caller. Thread-safe."""

    def __init__(self, total: int, per_caller: int) -> None:
        self._total = total
        self._per_caller = per_caller
        self._lock = threading.Lock()
        self._taken: Counter[str] = Counter()

    def acquire(self, caller: str) -> None:
        """Take a slot. Raises SERVER_BUSY (retryable) if none is free for this caller."""
        with self._lock:
            own = self._taken[caller]
            if own >= self._per_caller or self._taken.total() >= self._total:
                if not own:
                    del self._taken[caller]
                subject = (
                    f"{own} fetches of this caller are"
                    if own >= self._per_caller
                    else "Too many fetches are"
                )
                raise CommonplaceError(
                    SERVER_BUSY,
                    f"{subject} in progress.",
                    hint="Retry when one has finished, or pass the document as content.",
                    details={"retry_after_seconds": 1},
                    retryable=True,
                )
            self._taken[caller] += 1

    def release(self, caller: str) -> None:
        """Free a slot."""
        with self._lock:
            self._taken[caller] -= 1
            if self._taken[caller] <= 0:
                del self._taken[caller]


class NetworkLoop:
    """The loop and its thread, started by the first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Await work from any loop. Cancelling the caller cancels the work."""
        return await asyncio.wrap_future(self.submit(work))

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start work from any thread and return its future.

        After `close` the future is cancelled at once.
        """
        with self._lock:
            if self._closed:
                work.close()
                cancelled: Future[T] = Future()
                cancelled.cancel()
                return cancelled
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="outbound", daemon=True
                )
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """Cancel all work and end the thread."""
        with self._lock:
            self._closed = True
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(_cancel_all(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _cancel_all() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
