"""The endpoint /rpc: one bare JSON-RPC request, without MCP around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from starlette.responses import Response

from commonplace.dispatch.call import Outcome
from commonplace.dispatch.error_table import numbers_of
from commonplace.edge.core import Core
from commonplace.edge.http.body import read_body
from commonplace.edge.http.responses import STATUS_OF_RPC, retry_after
from commonplace.edge.intake import IncomingMessage
from commonplace.edge.jsonrpc import (
    InvalidMessage,
    Message,
    RequestId,
    RpcError,
    encode_error,
    encode_result,
    parse_message,
    rpc_error,
)
from commonplace.edge.request import Request
from commonplace.edge.results import encode_bare

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

NO_STORE = {"Cache-Control": "no-store"}


class BareAnswer(NamedTuple):
    """Status, body and headers of an answer."""

    status: int
    body: bytes
    headers: Mapping[str, str] = NO_STORE


class RpcEndpoint:
    """POST of /rpc."""

    def __init__(self, core: Core, body_seconds: float) -> None:
        self._core = core
        self._body_seconds = body_seconds

    async def __call__(self, request: Request, scope: Scope, receive: Receive, send: Send) -> None:
        incoming = self._core.begin_message(request.quota_name)
        try:
            await read_body(receive, incoming, self._body_seconds)
            answer = await self._answer(request, incoming)
        finally:
            incoming.close()
        response = (
            Response(answer.body, answer.status, answer.headers, "application/json")
            if answer.body
            else Response(status_code=answer.status)
        )
        await response(scope, receive, send)

    async def _answer(self, request: Request, incoming: IncomingMessage) -> BareAnswer:
        try:
            message = parse_message(await incoming.decode(self._core.decoders))
        except InvalidMessage as invalid:
            self._core.product.observer.count("malformed")
            status = STATUS_OF_RPC[invalid.error.code]
            return BareAnswer(status, encode_error(invalid.request_id, invalid.error))
        incoming.drop()
        if message.id is None or message.method is None:
            return BareAnswer(202, b"")
        if message.method in ("shutdown", "exit"):  # a caller without a connection ends nothing
            return BareAnswer(200, encode_result(message.id, b"null"))
        try:
            return await self._call(request, message, message.id, message.method)
        except RpcError as error:
            status = STATUS_OF_RPC.get(error.code, 400)
            return BareAnswer(status, encode_error(message.id, error))

    async def _call(
        self, request: Request, message: Message, request_id: RequestId, method: str
    ) -> BareAnswer:
        started = self._core.start_bare(request, method, message.params)
        outcome = started if isinstance(started, Outcome) else await started
        if outcome.error is None:
            return BareAnswer(200, encode_result(request_id, encode_bare(outcome)))
        return BareAnswer(
            numbers_of(outcome.error).http_status,
            encode_error(request_id, rpc_error(outcome.error)),
            retry_after(outcome.error) | NO_STORE,
        )
