"""Resources that the sessions of a team follow, on whichever server a request arrives.

Subscriptions are rows. The server that has the GET stream of a session looks for changes every two
seconds: a subscription survives the server that took it, and changes while a client reconnects are
told by the server that it reaches next.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import Awaitable, Callable, Iterator

from commonplace.edge.core import Core
from commonplace.edge.offered import CallsOfClient
from commonplace.edge.product import ToolCalls
from commonplace.edge.request import Request
from commonplace.edge.sdk.watching import MOST_OF_ONE, POLL_SECONDS, FindFingerprint, too_many
from commonplace.edge.sessions.model import ResourceSubscription
from commonplace.edge.sessions.store import SessionStore
from commonplace.kernel.errors import CommonplaceError

log = logging.getLogger("commonplace.edge.following")


class SharedSubscriptions:
    """Subscriptions of all servers, and the open GET streams of this one.

    `send_updated` sends a notification about a resource to the GET stream of a session.
    """

    def __init__(
        self,
        core: Core,
        find_fingerprint: FindFingerprint,
        store: SessionStore,
        send_updated: Callable[[str, str], Awaitable[None]],
    ) -> None:
        self._core = core
        self._find = find_fingerprint
        self._store = store
        self._send = send_updated
        self._streams: dict[str, Request] = {}
        self._task: asyncio.Task[None] | None = None

    async def subscribe(self, session_id: str, uri: str, call: ToolCalls) -> None:
        """Follow a resource. Raises INVALID_ARGUMENT for a bad address and above the limit."""
        fingerprint = _hash(await self._find(call, uri))
        subscription = ResourceSubscription(session_id, uri, fingerprint)
        if not await self._store.subscribe(subscription, MOST_OF_ONE):
            raise too_many()

    async def unsubscribe(self, session_id: str, uri: str) -> None:
        """End to follow a resource, whichever server was asked to."""
        await self._store.unsubscribe(session_id, uri)

    @contextlib.contextmanager
    def stream(self, session_id: str, request: Request) -> Iterator[None]:
        """Look for changes as the caller of a GET request while its stream is open."""
        self._streams[session_id] = request
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._poll())
        try:
            yield
        finally:
            if self._streams.get(session_id) is request:
                del self._streams[session_id]

    async def _poll(self) -> None:
        while self._streams:
            try:
                for subscription in await self._store.find_subscriptions(list(self._streams)):
                    await self._check(subscription)
            except CommonplaceError as error:  # the next look tells
                log.debug("resources could not be followed: %s", error.message)
            except Exception:  # whatever it is: other sessions are followed on
                log.exception("resources could not be followed")
            await asyncio.sleep(POLL_SECONDS)

    async def _check(self, subscription: ResourceSubscription) -> None:
        request = self._streams.get(subscription.session_id)
        if request is None:
            return
        try:
            found = await self._find(CallsOfClient(self._core, request), subscription.uri)
        except CommonplaceError:
            return  # unavailable now; the next look tells
        fingerprint = _hash(found)
        if fingerprint == subscription.fingerprint:
            return
        if await self._store.note_fingerprint(subscription, fingerprint):
            await self._send(subscription.session_id, subscription.uri)


def _hash(fingerprint: str) -> str:
    return hashlib.sha256(fingerprint.encode("utf-8", "surrogatepass")).hexdigest()
