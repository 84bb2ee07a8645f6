"""Adds that arrive together are written together, by one thread: they share a lock, a sync of the folder and one way back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

from commonplace.instructions.model import Actor
from commonplace.kernel.waking import tell_together

GROUP = 32


@dataclass(slots=True)
class Wanted:
    """One add on its way: what was asked, and what became of it."""

    entry: Mapping[str, Any]
    overwrite: bool
    lax: bool
    expected_hash: str | None
    actor: Actor
    answer: dict[str, Any] | None = None
    failure: Exception | None = None

    def result(self) -> dict[str, Any]:
        if self.failure is not None:
            raise self.failure
        assert self.answer is not None
        return self.answer


_Waiting = tuple[Wanted, "asyncio.Future[None]"]


class Adding:
    """The queue before the writer. `write` gives every one of a group its answer or its failure, and may raise for all that have none."""

    def __init__(self, write: Callable[[Sequence[Wanted]], None], writer: Callable[[], Executor]) -> None:
        self._write = write
        self._writer = writer  # of one thread: it is made when first needed
        self._lock = threading.Lock()
        self._waiting: list[_Waiting] = []
        self._busy = False

    async def put(self, wanted: Wanted) -> dict[str, Any]:
        """The answer, once it is durable. Whoever stops waiting does not undo the write."""
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._lock:
            self._waiting.append((wanted, written))
            begin, self._busy = not self._busy, True
        if begin:
            self._writer().submit(self._work)
        await written
        return wanted.result()

    def _work(self) -> None:
        while group := self._next():
            self.write([wanted for wanted, _ in group])
            tell_together((written, partial(written.set_result, None)) for _, written in group)

    def _next(self) -> list[_Waiting]:
        with self._lock:
            group, self._waiting = self._waiting[:GROUP], self._waiting[GROUP:]
            self._busy = bool(group)
            return group

    def write(self, group: Sequence[Wanted]) -> None:
        """Write now, in the caller's thread."""
        try:
            self._write(group)
        except Exception as error:  # each must hear of it, not only the first
            for wanted in group:
                if wanted.answer is None and wanted.failure is None:
                    wanted.failure = error
