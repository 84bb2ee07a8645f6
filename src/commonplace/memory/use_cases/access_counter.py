"""Count accesses in memory, and write them together a moment later."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime

from commonplace.kernel.auth import Tenant
from commonplace.kernel.errors import CommonplaceError
from commonplace.memory.model import AccessCounts

log = logging.getLogger("commonplace.memory")

DELAY_SECONDS = 0.5


class AccessCounter:
    """Accesses that are not written yet.

    Belongs to one event loop. Its task exists only while accesses wait; `close` writes the rest.
    """

    def __init__(
        self,
        write: Callable[[AccessCounts], Awaitable[None]],
        write_now: Callable[[AccessCounts], None],
        delay_seconds: float = DELAY_SECONDS,
    ) -> None:
        self._write = write
        self._write_now = write_now
        self._delay_seconds = delay_seconds
        self._waiting: dict[tuple[Tenant, str], tuple[int, datetime]] = {}
        self._task: asyncio.Task[None] | None = None

    def record(self, tenant: Tenant, entry_id: str, moment: datetime) -> None:
        """Count an access of an entry."""
        count, _ = self._waiting.get((tenant, entry_id), (0, moment))
        self._waiting[tenant, entry_id] = (count + 1, moment)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._flush_later(), name="memory-accesses")

    def get_unwritten(self, tenant: Tenant, entry_id: str) -> tuple[int, datetime] | None:
        """Return the unwritten accesses of an entry and the time of the last one."""
        return self._waiting.get((tenant, entry_id))

    async def flush(self) -> None:
        """Write what was counted; if that fails, keep it for the next access."""
        counts, self._waiting = self._waiting, {}
        if not counts:
            return
        try:
            await self._write(counts)
        except CommonplaceError as error:
            log.warning("accesses were not written, will retry: %s", error)
            for key, (count, moment) in counts.items():
                newer_count, newest = self._waiting.get(key, (0, moment))
                self._waiting[key] = (newer_count + count, max(newest, moment))

    def close(self) -> None:
        """Write the rest without an event loop: the server is stopping."""
        counts, self._waiting = self._waiting, {}
        if counts:
            try:
                self._write_now(counts)
            except CommonplaceError as error:
                log.warning("the last accesses were not written: %s", error)

    async def _flush_later(self) -> None:
        await asyncio.sleep(self._delay_seconds)
        await self.flush()
