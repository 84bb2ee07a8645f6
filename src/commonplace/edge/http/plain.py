"""Plain endpoints: one tool at an address of its own, arguments in, its output out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson
from starlette.responses import Response

from commonplace.dispatch.call import Outcome
from commonplace.dispatch.error_table import numbers_of
from commonplace.edge.core import Core
from commonplace.edge.http.body import read_body
from commonplace.edge.http.responses import STATUS_OF_RPC, retry_after
from commonplace.edge.http.rpc import NO_STORE, BareAnswer
from commonplace.edge.intake import IncomingMessage
from commonplace.edge.jsonrpc import InvalidMessage, RpcError
from commonplace.edge.request import Request
from commonplace.edge.results import encode_bare
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send


class PlainEndpoint:
    """POST of a JSON object with the arguments of one tool; errors have the shape of tools."""

    def __init__(self, core: Core, tool: str, body_seconds: float) -> None:
        self._core = core
        self._tool = tool
        self._body_seconds = body_seconds

    async def __call__(self, request: Request, scope: Scope, receive: Receive, send: Send) -> None:
        incoming = self._core.begin_message(request.quota_name)
        try:
            await read_body(receive, incoming, self._body_seconds)
            answer = await self._answer(request, incoming)
        finally:
            incoming.close()
        response = Response(answer.body, answer.status, answer.headers, "application/json")
        await response(scope, receive, send)

    async def _answer(self, request: Request, incoming: IncomingMessage) -> BareAnswer:
        try:
            arguments = await incoming.decode(self._core.decoders)
            if not isinstance(arguments, dict):
                raise CommonplaceError(
                    INVALID_ARGUMENT,
                    "The body must be a JSON object.",
                    hint=f"Send the arguments of the tool {self._tool}.",
                )
            incoming.drop()
            started = self._core.start_call(request, {"name": self._tool, "arguments": arguments})
            outcome = started if isinstance(started, Outcome) else await started
            if outcome.error is not None:
                raise outcome.error
            return BareAnswer(200, encode_bare(outcome))
        except InvalidMessage as invalid:
            self._core.product.observer.count("malformed")
            error = CommonplaceError(INVALID_ARGUMENT, invalid.error.message)
            return _failure(error, STATUS_OF_RPC[invalid.error.code])
        except RpcError as refused:
            return _failure(CommonplaceError(INVALID_ARGUMENT, refused.message), 400)
        except CommonplaceError as error:
            return _failure(error, numbers_of(error).http_status)


def _failure(error: CommonplaceError, status: int) -> BareAnswer:
    body = orjson.dumps({"error": error.as_dict()}, default=str)
    return BareAnswer(status, body, retry_after(error) | NO_STORE)
