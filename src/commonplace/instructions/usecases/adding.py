"""Adds that arrive together are written together, by one thread: they share a lock, a sync of
the folder and one way back.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from commonplace.instructions.model import Actor
from commonplace.kernel.loop_callbacks import call_in_loops

GROUP = 32


@dataclass(slots=True)
class Wanted:
    """One add on its way: what was asked, and what became of it."""

    id: str
    entry: Mapping[str, Any]
    overwrite: bool
    lax: bool
    expected_hash: str | None
    actor: Actor
    warnings: list[str] = field(default_factory=list)
    answer: dict[str, Any] | None = None
    failure: Exception | None = None

    def result(self) -> dict[str, Any]:
        if self.failure is not None:
            raise self.failure
        assert self.answer is not None
        return self.answer


_Waiting = tuple[Wanted, "asyncio.Future[None]"]
_Queue = SimpleQueue["_Waiting | None"]  # None: no more will come


class Adding:
    """The queue before the writer, which is a thread of its own.

    `write` gives every one of a group its answer or its failure, and may raise for all that have
    none.
    """

    def __init__(self, write: Callable[[Sequence[Wanted]], None]) -> None:
        self._write = write
        self._lock = threading.Lock()
        self._waiting = _Queue()
        self._writer: threading.Thread | None = None

    async def put(self, wanted: Wanted) -> dict[str, Any]:
        """The answer, once it is durable. Whoever stops waiting does not undo the write."""
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._lock:
            self._waiting.put((wanted, written))
            if self._writer is None:
                self._writer = threading.Thread(
                    target=self._work,
                    args=(self._waiting,),
                    name="instructions-writer",
                    daemon=True,
                )
                self._writer.start()
        await written
        return wanted.result()

    def close(self) -> None:
        """Write what waits, and end the thread. A later `put` has one of its own."""
        with self._lock:
            writer, waiting = self._writer, self._waiting
            self._writer, self._waiting = None, _Queue()
        if writer is not None:
            waiting.put(None)
            writer.join()

    def _work(self, waiting: _Queue) -> None:
        more = True
        while more:
            group, more = _next(waiting)
            if group:
                self.write([wanted for wanted, _ in group])
                call_in_loops((written, partial(written.set_result, None)) for _, written in group)

    def write(self, group: Sequence[Wanted]) -> None:
        """Write now, in the caller's thread."""
        try:
            self._write(group)
        except Exception as error:  # each must hear of it, not only the first
            for wanted in group:
                if wanted.answer is None and wanted.failure is None:
                    wanted.failure = error


def _next(waiting: _Queue) -> tuple[list[_Waiting], bool]:
    """Those who wait, after a pause for the first, and whether others may come."""
    group: list[_Waiting] = []
    with suppress(Empty):
        while len(group) < GROUP:
            item = waiting.get(block=not group)
            if item is None:
                return group, False
            group.append(item)
    return group, True
