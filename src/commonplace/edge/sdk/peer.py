"""The SDK serving one duplex connection."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any

import orjson

from commonplace.dispatch.error_table import INVALID_REQUEST
from commonplace.edge.core import Core
from commonplace.edge.jsonrpc import (
    Message,
    RequestId,
    RpcError,
    encode_error,
    internal_error,
)
from commonplace.edge.request import Request
from commonplace.edge.sdk.server import build_server
from commonplace.kernel.json_types import Json, JsonObject

log = logging.getLogger("commonplace.edge.sdk")

Send = Callable[[bytes], None]


def _encode(value: Json) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:  # an integer beyond 64 bits, such as an id
        return json.dumps(value, separators=(",", ":")).encode()


class SdkPeer:
    """A session of the SDK. Messages wait until its import, in a thread, is done."""

    def __init__(
        self,
        core: Core,
        request: Request,
        send: Send,
        initialize: JsonObject | None,
        on_answer: Callable[[], None],
    ) -> None:
        self._core = core
        self._request = request
        self._send = send
        self._initialize = initialize
        self._on_answer = on_answer
        self._inbox: asyncio.Queue[Message | None] = asyncio.Queue()
        self._pending: dict[RequestId, Send] = {}
        self._all_answered = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._run())

    def feed(self, message: Message, send: Send | None) -> None:
        """Hand a message over; the answer to a request goes to `send` where it is given."""
        if message.is_request and message.id is not None:
            self._pending[message.id] = send or self._send
            self._all_answered.clear()
        self._inbox.put_nowait(message)

    @property
    def ended(self) -> bool:
        return self._task.done()

    @property
    def pending(self) -> int:
        """The number of requests without an answer."""
        return len(self._pending)

    async def wait_for_answers(self, grace_seconds: float) -> None:
        """Wait until every request is answered."""
        if self._pending:
            waiting = asyncio.ensure_future(self._all_answered.wait())
            await asyncio.wait(
                {waiting, self._task}, timeout=grace_seconds, return_when=asyncio.FIRST_COMPLETED
            )
            waiting.cancel()

    async def close(self, grace_seconds: float) -> None:
        """Wait for the answers, then end the session."""
        await self.wait_for_answers(grace_seconds)
        self._inbox.put_nowait(None)
        await asyncio.wait({self._task}, timeout=grace_seconds)
        if not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=1.0)

    async def _run(self) -> None:
        try:
            # the first call imports the SDK, which must not block the event loop
            await asyncio.to_thread(build_server, self._core, self._request)
            await self._serve()
        except Exception:  # the connection goes on without the SDK
            log.exception("the SDK side of this connection failed")
        finally:
            failed = internal_error("The connection's session ended.")
            for request_id in tuple(self._pending):
                self._answer(request_id, encode_error(request_id, failed))

    async def _serve(self) -> None:
        import anyio

        server = build_server(self._core, self._request)
        to_server, inbound = anyio.create_memory_object_stream[Any](64)
        outbound, from_server = anyio.create_memory_object_stream[Any](64)
        async with anyio.create_task_group() as group:
            group.start_soon(self._pump_in, to_server)
            group.start_soon(self._pump_out, from_server)
            options = server.create_initialization_options()
            await server.run(inbound, outbound, options)
            group.cancel_scope.cancel()

    async def _pump_in(self, to_server: Any) -> None:
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter
        from pydantic import ValidationError

        async with to_server:
            if self._initialize is not None:
                for replayed in (
                    self._initialize,
                    {"jsonrpc": "2.0", "method": "notifications/initialized"},
                ):
                    await to_server.send(
                        SessionMessage(jsonrpc_message_adapter.validate_python(replayed))
                    )
            while (message := await self._inbox.get()) is not None:
                try:
                    await to_server.send(
                        SessionMessage(jsonrpc_message_adapter.validate_python(message.raw))
                    )
                except ValidationError:
                    if message.is_request and message.id is not None:
                        error = RpcError(INVALID_REQUEST, "Invalid Request")
                        self._answer(message.id, encode_error(message.id, error))

    async def _pump_out(self, from_server: Any) -> None:
        replayed = self._initialize.get("id") if self._initialize is not None else None
        async with from_server:
            async for item in from_server:
                dumped = item.message.model_dump(by_alias=True, mode="json", exclude_none=True)
                line = _encode(dumped)
                request_id = dumped.get("id")
                if "method" in dumped or request_id is None:
                    self._send(line)
                elif (
                    replayed is not None
                    and request_id == replayed
                    and request_id not in self._pending
                ):
                    replayed = None  # the client has had its answer to initialize from the core
                else:
                    self._answer(request_id, line)

    def _answer(self, request_id: RequestId, line: bytes) -> None:
        self._pending.pop(request_id, self._send)(line)
        self._on_answer()
        if not self._pending:
            self._all_answered.set()
