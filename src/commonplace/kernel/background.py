"""Work that goes on beside the calls: every task has an owner, and a stop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

STOP_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class _Job:
    name: str
    run: Callable[[], Coroutine[Any, Any, None]]
    stop: Callable[[], None]


class Background:
    """Jobs start with the event loop of `running`, or at once where it runs already. Outside of it they never start."""

    def __init__(self) -> None:
        self._waiting: list[_Job] = []
        self._running: list[tuple[_Job, asyncio.Task[None]]] = []
        self._open = False

    def add(self, name: str, run: Callable[[], Coroutine[Any, Any, None]], stop: Callable[[], None]) -> None:
        """Register a job: `run` until `stop` is called."""
        job = _Job(name, run, stop)
        if self._open:
            self._start(job)
        else:
            self._waiting.append(job)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the jobs meanwhile; at the end ask each to stop, wait a little, then cancel it."""
        self._open = True
        for job in self._waiting:
            self._start(job)
        self._waiting.clear()
        try:
            yield
        finally:
            self._open = False
            await self._stop()

    def _start(self, job: _Job) -> None:
        self._running.append((job, asyncio.get_running_loop().create_task(job.run(), name=job.name)))

    async def _stop(self) -> None:
        for job, _ in self._running:
            job.stop()
        tasks = {task for _, task in self._running}
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=STOP_SECONDS)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=1.0)
        self._running.clear()
