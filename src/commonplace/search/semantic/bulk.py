"""Threads of bulk embedding: several jobs share them, and everything else takes precedence."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

QUERY_SECONDS = 0.25  # after a query, bulk work leaves half of the threads to others
NICENESS = 10  # of the threads, where the system has priorities of threads

Item = TypeVar("Item")
Made = TypeVar("Made")


def default_threads() -> int:
    """Return half of the processors, but two where there are two."""
    processors = os.cpu_count() or 1
    return min(processors, max(2, processors // 2))


def lower_priority() -> None:
    """Let other threads of this process go first; Linux alone has priorities of threads."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # a sandbox may forbid it
            own = threading.get_native_id()
            least = max(NICENESS, os.getpriority(os.PRIO_PROCESS, own))
            os.setpriority(os.PRIO_PROCESS, own, least)


class BulkThreads:
    """Runs pieces of bulk work. Thread-safe; jobs of several pieces use at most `threads`."""

    def __init__(self, threads: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._threads = max(threads, 1)
        self._clock = clock
        self._asked_at = float("-inf")
        self._running = 0
        self._free = threading.Condition()
        self._pool = ThreadPoolExecutor(
            self._threads, thread_name_prefix="embed", initializer=lower_priority
        )

    def note_query(self) -> None:
        """Remember that somebody waits for an answer."""
        self._asked_at = self._clock()

    def map(
        self,
        work: Callable[[Item], Made],
        items: Sequence[Item],
        size_of: Callable[[Item], int],
    ) -> list[Made]:
        """Return the results in the order of the items.

        The largest begin first, so that all threads end at about the same time. For a single item
        somebody waits: it is done at once by the caller's thread, which has its usual priority.
        """
        if len(items) == 1:
            self.note_query()
            return [work(items[0])]
        order = sorted(range(len(items)), key=lambda at: -size_of(items[at]))
        done = self._pool.map(lambda at: self._run(work, items[at]), order)
        results = dict(zip(order, done, strict=True))
        return [results[at] for at in range(len(items))]

    def close(self) -> None:
        self._pool.shutdown()

    def _run(self, work: Callable[[Item], Made], item: Item) -> Made:
        with self._free:
            while self._running >= self._allowed():
                self._free.wait(QUERY_SECONDS / 4)  # the pause ends without a notice
            self._running += 1
        try:
            return work(item)
        finally:
            with self._free:
                self._running -= 1
                self._free.notify()

    def _allowed(self) -> int:
        is_asked = self._clock() - self._asked_at < QUERY_SECONDS
        return max(1, self._threads // 2) if is_asked else self._threads
