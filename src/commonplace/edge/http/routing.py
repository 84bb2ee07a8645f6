"""Messages of a client that reach another server than the one they are for.

A server puts its own name into the ids of its requests, so their answers find the way back. A
cancellation names a request of the client, which may run anywhere: all servers learn of it.
"""

from __future__ import annotations

from collections.abc import Callable

import orjson

from commonplace.edge.http.sdk_host import SdkHost
from commonplace.edge.jsonrpc import Message, RequestId, readable_id
from commonplace.edge.request import Request
from commonplace.edge.sessions.directory import SessionDirectory
from commonplace.edge.sessions.model import SessionRecord
from commonplace.kernel.json_types import JsonObject

Cancel = Callable[[str, str, RequestId], None]
"""Cancels a call by the owner of its session, the session and the id of the request."""


class MessageRouter:
    """Passes answers and cancellations between the servers of a team."""

    def __init__(self, directory: SessionDirectory, sdk: SdkHost, cancel: Cancel) -> None:
        self._directory = directory
        self._sdk = sdk
        self._cancel = cancel
        sdk.on_message(self._receive)

    async def route(self, request: Request, message: Message) -> bool:
        """Pass an answer on to the server that asked. False: the session does not exist."""
        if not request.session or not await self._sdk.finds_session(request):
            return False
        own = self._own_answer(message.raw)
        if own is not None:
            await self._sdk.receive(request.caller.apikey_hash, request.session, own)
        else:
            await self._directory.send(request.session, orjson.dumps(message.raw).decode())
        return True

    async def announce_cancellation(self, request: Request, message: Message) -> None:
        """Tell the other servers that a client cancels a call."""
        if request.session and await self._sdk.finds_session(request):
            await self._directory.send(request.session, orjson.dumps(message.raw).decode())

    async def _receive(self, record: SessionRecord, text: str) -> None:
        message = orjson.loads(text)
        if message.get("method") != "notifications/cancelled":
            own = self._own_answer(message)
            if own is not None:
                await self._sdk.receive(record.owner, record.id, own)
            return
        request_id = readable_id((message.get("params") or {}).get("requestId"))
        if request_id is not None:
            self._cancel(record.owner, record.id, request_id)
        await self._sdk.receive(record.owner, record.id, text.encode())

    def _own_answer(self, message: JsonObject) -> bytes | None:
        """Return an answer to a request of this server, with the id that its SDK gave it."""
        server_id, _, number = str(message.get("id")).partition(":")
        if server_id != self._directory.server_id:
            return None
        return orjson.dumps({**message, "id": int(number) if number.isdigit() else number})
