"""The running calls of a connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from commonplace.edge.jsonrpc import RequestId


class CallsInFlight:
    """Tasks by the id of their request, and whether reading should pause for them.

    `forwarded` says how many more requests the SDK has.
    """

    def __init__(self, most: int, forwarded: Callable[[], int]) -> None:
        self._most = most
        self._forwarded = forwarded
        self._by_id: dict[RequestId, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._room = asyncio.Event()
        self._room.set()

    @property
    def is_full(self) -> bool:
        """Whether reading should pause: too many calls are running."""
        return len(self._tasks) + self._forwarded() >= self._most

    async def wait_for_room(self) -> None:
        await self._room.wait()

    def update_room(self) -> None:
        """Note that the number of calls has changed."""
        if self.is_full:
            self._room.clear()
        else:
            self._room.set()

    def start(
        self, work: Coroutine[Any, Any, None], request_id: RequestId | None
    ) -> asyncio.Task[None]:
        """Own a task until it ends; with an id its client can cancel it."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        if request_id is not None:
            self._by_id[request_id] = task
        self.update_room()

        def forget(done: asyncio.Task[None]) -> None:
            self._tasks.discard(done)
            if request_id is not None and self._by_id.get(request_id) is done:
                del self._by_id[request_id]
            self.update_room()

        task.add_done_callback(forget)
        return task

    def cancel(self, request_id: RequestId) -> bool:
        """Cancel a call; false where there is none of this id."""
        task = self._by_id.get(request_id)
        if task is None:
            return False
        # after its first step: a task that never ran cannot clean up
        asyncio.get_running_loop().call_soon(task.cancel)
        return True

    async def wait_for_others(self) -> None:
        """Wait until all calls but the current task have ended."""
        others = [task for task in self._tasks if task is not asyncio.current_task()]
        if others:
            await asyncio.wait(others)

    async def drain(self, grace_seconds: float) -> None:
        """Let calls finish, then cancel the rest."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace_seconds)
        for task in tuple(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=1.0)
