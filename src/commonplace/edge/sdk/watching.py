"""Tell clients that a resource changed, whoever changed it.

Subscribed resources are asked for their fingerprint every two seconds: a change may come from
another process or another server, which no notification of this process would tell.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from commonplace.edge.product import ToolCalls
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError

log = logging.getLogger("commonplace.edge.watching")

POLL_SECONDS = 2.0
MOST_WATCHED = 1_000
MOST_OF_ONE = 100

FindFingerprint = Callable[[ToolCalls, str], Awaitable[str]]
Notify = Callable[[], Awaitable[None]]


@dataclass(slots=True)
class _Watch:
    call: ToolCalls
    notify: Notify
    fingerprint: str


def too_many(limit: int = MOST_OF_ONE) -> CommonplaceError:
    """Return the error of a client, or of all clients together, that watch too much."""
    others = "" if limit == MOST_OF_ONE else " by all clients together"
    return CommonplaceError(
        INVALID_ARGUMENT,
        f"At most {limit} resources can be watched at once{others}.",
        hint="Unsubscribe from others first.",
        details={"field": "uri", "limit": limit},
    )


class ResourceWatcher:
    """Watches resources for sessions and streams, each known by a number of its own."""

    def __init__(self, find_fingerprint: FindFingerprint) -> None:
        self._find = find_fingerprint
        self._watches: dict[tuple[int, str], _Watch] = {}
        self._task: asyncio.Task[None] | None = None

    async def watch(self, owner: int, uri: str, call: ToolCalls, notify: Notify) -> None:
        """Call `notify` after every change of a resource.

        Raises INVALID_ARGUMENT above the limits, and what the resource's address raises.
        """
        others = [key for key in self._watches if key != (owner, uri)]
        if sum(known == owner for known, _ in others) >= MOST_OF_ONE:
            raise too_many()
        if len(others) >= MOST_WATCHED:
            raise too_many(MOST_WATCHED)
        fingerprint = await self._find(call, uri)
        self._watches[owner, uri] = _Watch(call, notify, fingerprint)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._poll())

    def forget(self, owner: int, uri: str | None = None) -> None:
        """End the watch of a resource, or all watches of an owner."""
        for key in [key for key in self._watches if key[0] == owner and uri in (None, key[1])]:
            del self._watches[key]

    async def _poll(self) -> None:
        while self._watches:
            await asyncio.sleep(POLL_SECONDS)
            for key, watch in list(self._watches.items()):
                await self._check(key, watch)

    async def _check(self, key: tuple[int, str], watch: _Watch) -> None:
        try:
            fingerprint = await self._find(watch.call, key[1])
        except CommonplaceError:
            return  # unavailable now; the next look tells
        if fingerprint == watch.fingerprint:
            return
        watch.fingerprint = fingerprint
        try:
            await watch.notify()
        except Exception:  # the session has ended, in whatever way its transport reports that
            log.debug("a subscriber is gone", exc_info=True)
            self._watches.pop(key, None)
