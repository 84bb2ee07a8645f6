"""Group commit: requests that arrive together are written together, by one thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from commonplace.kernel.loop_callbacks import tell_together

GROUP_SIZE = 32
Request = TypeVar("Request")
Result = TypeVar("Result")


@dataclass(slots=True)
class PendingWrite(Generic[Request, Result]):
    """A request on its way, and then its result or failure."""

    request: Request
    result: Result | None = None
    failure: Exception | None = None

    def outcome(self) -> Result:
        """Return the result, or raise the failure."""
        if self.failure is not None:
            raise self.failure
        assert self.result is not None
        return self.result


class GroupCommitQueue(Generic[Request, Result]):
    """Queue in front of a writer thread.

    `write` gives every request of a group its result or failure; if it raises, the error becomes
    the failure of all requests that have neither.
    """

    def __init__(self, write: Callable[[Sequence[PendingWrite[Request, Result]]], None]) -> None:
        self._write = write
        self._lock = threading.Lock()
        self._queue: _Queue[Request, Result] = SimpleQueue()
        self._thread: threading.Thread | None = None

    async def put(self, request: Request) -> Result:
        """Return the result once it is durable. A caller that is cancelled does not undo it."""
        pending = PendingWrite[Request, Result](request)
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._lock:
            self._queue.put((pending, written))
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, args=(self._queue,), name="instructions-writer", daemon=True
                )
                self._thread.start()
        await written
        return pending.outcome()

    def close(self) -> None:
        """Write what is queued and end the thread; a later `put` starts a new one."""
        with self._lock:
            thread, queue = self._thread, self._queue
            self._thread, self._queue = None, SimpleQueue()
        if thread is not None:
            queue.put(None)
            thread.join()

    def _run(self, queue: _Queue[Request, Result]) -> None:
        more = True
        while more:
            group, more = _next_group(queue)
            if group:
                self._write_group([pending for pending, _ in group])
                tell_together((written, partial(written.set_result, None)) for _, written in group)

    def _write_group(self, group: Sequence[PendingWrite[Request, Result]]) -> None:
        try:
            self._write(group)
        except Exception as error:  # every caller must learn of it, and the thread must go on
            for pending in group:
                if pending.result is None and pending.failure is None:
                    pending.failure = error


_Item = tuple[PendingWrite[Request, Result], "asyncio.Future[None]"]
_Queue = SimpleQueue[_Item[Request, Result] | None]  # None ends the thread


def _next_group(
    queue: _Queue[Request, Result],
) -> tuple[list[_Item[Request, Result]], bool]:
    """Wait for a request, take those that wait with it, and tell whether more may come."""
    group: list[_Item[Request, Result]] = []
    with suppress(Empty):
        while len(group) < GROUP_SIZE:
            item = queue.get(block=not group)
            if item is None:
                return group, False
            group.append(item)
    return group, True
