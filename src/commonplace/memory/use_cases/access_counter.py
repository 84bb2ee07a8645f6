"""Counts accesses outside the paths that read: in memory at first, written together a moment
later.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime

from commonplace.kernel.auth import Tenant
from commonplace.kernel.errors import CommonplaceError

log = logging.getLogger("commonplace.memory")

DELAY_SECONDS = 0.5
Counts = Mapping[tuple[Tenant, str], tuple[int, datetime]]


class AccessCounter:
    """Accesses not written yet.

    Lives on one event loop; its task exists only while there are some; `close` writes the rest.
    """

    def __init__(
        self,
        write: Callable[[Counts], Awaitable[None]],
        write_now: Callable[[Counts], None],
        delay_seconds: float = DELAY_SECONDS,
    ) -> None:
        self._write = write
        self._write_now = write_now
        self._delay_seconds = delay_seconds
        self._waiting: dict[tuple[Tenant, str], tuple[int, datetime]] = {}
        self._task: asyncio.Task[None] | None = None

    def record(self, tenant: Tenant, entry_id: str, moment: datetime) -> None:
        count, _ = self._waiting.get((tenant, entry_id), (0, moment))
        self._waiting[tenant, entry_id] = (count + 1, moment)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._later(), name="memory-uses")

    def waiting(self, tenant: Tenant, entry_id: str) -> tuple[int, datetime] | None:
        return self._waiting.get((tenant, entry_id))

    async def flush(self) -> None:
        """Write what was counted; what cannot be written now waits for the next access."""
        counts, self._waiting = self._waiting, {}
        if not counts:
            return
        try:
            await self._write(counts)
        except CommonplaceError as busy:
            log.warning("accesses not written yet: %s", busy)
            for key, (count, moment) in counts.items():
                later, last = self._waiting.get(key, (0, moment))
                self._waiting[key] = (later + count, max(last, moment))

    def close(self) -> None:
        """Write the rest, without an event loop: the server is stopping."""
        counts, self._waiting = self._waiting, {}
        if counts:
            try:
                self._write_now(counts)
            except CommonplaceError as busy:
                log.warning("the last accesses were not written: %s", busy)

    async def _later(self) -> None:
        await asyncio.sleep(self._delay_seconds)
        await self.flush()
