"""Group commit: one thread writes what several callers submitted in the meantime.

Callers that wait at the same time share one transaction and one wait for the disk.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from commonplace.kernel.loop_callbacks import call_in_loops


@dataclass(slots=True, kw_only=True)
class PendingWrite:
    """A write and the future its caller waits for: of an event loop, or of a thread."""

    future: asyncio.Future[Any] | Future[Any]
    value: Any = None
    error: BaseException | None = None

    @property
    def cancelled(self) -> bool:
        """Whether the caller stopped waiting."""
        return self.future.cancelled()

    def resolve(self) -> None:
        """Set the outcome of the future, in the thread that it belongs to."""
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.value)


Write = TypeVar("Write", bound=PendingWrite)


def resolve_writes(writes: Iterable[PendingWrite]) -> None:
    """Give every caller its outcome."""
    in_loops: list[tuple[asyncio.Future[Any], Callable[[], None]]] = []
    for write in writes:
        if isinstance(write.future, asyncio.Future):
            in_loops.append((write.future, write.resolve))
        else:
            write.resolve()
    call_in_loops(in_loops)


class GroupCommitter(Generic[Write]):
    """A queue and the thread that writes its groups, started by the first submission.

    `commit` is called in that thread with up to `max_group` writes; it must resolve each of them
    and must not raise.
    """

    def __init__(
        self, commit: Callable[[Sequence[Write]], None], *, name: str, max_group: int
    ) -> None:
        self._commit = commit
        self._name = name
        self._max_group = max_group
        self._lock = threading.Lock()
        self._queue: SimpleQueue[Write | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._ended = False

    def submit(self, write: Write) -> None:
        """Queue a write. Returns at once."""
        with self._lock:
            self._queue.put(write)
            if self._thread is None:
                self._ended = False
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()

    def take_queued(self, most: int) -> list[Write]:
        """Return writes that were queued since the group began: to let them join it.

        Only for `commit`.
        """
        return self._take(most, wait=False)

    def close(self) -> None:
        """Write what is queued and end the thread. A later `submit` starts a new one."""
        with self._lock:
            thread, self._thread = self._thread, None
            if thread is not None:
                self._queue.put(None)
                thread.join()

    def _run(self) -> None:
        while not self._ended:
            group = self._take(self._max_group, wait=True)
            if group:
                self._commit(group)

    def _take(self, most: int, *, wait: bool) -> list[Write]:
        writes: list[Write] = []
        while len(writes) < most and not self._ended:
            try:
                write = self._queue.get(block=wait and not writes)
            except Empty:
                break
            if write is None:
                self._ended = True
            else:
                writes.append(write)
        return writes
