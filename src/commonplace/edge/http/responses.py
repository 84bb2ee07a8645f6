"""Answers over HTTP that are not the result of a call."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from starlette.responses import Response

from commonplace.dispatch.error_table import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    RESOURCE_LIMIT,
    numbers_of,
)
from commonplace.edge.authenticate import challenge
from commonplace.edge.intake import MessageRefused
from commonplace.edge.jsonrpc import RpcError, encode_error, rpc_error
from commonplace.kernel.errors import CALL_RATE_LIMITED, CommonplaceError, Kind

if TYPE_CHECKING:
    from starlette.types import Send

JSON_HEADERS = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
STATUS_OF_RPC = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    METHOD_NOT_FOUND: 404,
    RESOURCE_LIMIT: 413,
    INTERNAL_ERROR: 500,
}


async def send_json(send: Send, status: int, body: bytes) -> None:
    """Send an encoded answer."""
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [*JSON_HEADERS, (b"content-length", b"%d" % len(body))],
        }
    )
    await send({"type": "http.response.body", "body": body})


def unauthorized(error: CommonplaceError) -> Response:
    """Answer a request that was refused before it reached its endpoint."""
    headers = retry_after(error)
    if error.code.kind is Kind.UNAUTHENTICATED or error.code is CALL_RATE_LIMITED:
        # a refused request learns how to authenticate even when it must wait
        headers["WWW-Authenticate"] = challenge(error)
    return Response(
        encode_error(None, rpc_error(error)),
        status_code=numbers_of(error).http_status,
        media_type="application/json",
        headers=headers,
    )


def retry_after(error: CommonplaceError) -> dict[str, str]:
    """Return the Retry-After header, in whole seconds and never too early."""
    seconds = error.details.get("retry_after_seconds")
    return {} if seconds is None else {"Retry-After": str(max(1, math.ceil(seconds)))}


def unsupported_media_type() -> Response:
    """Refuse a body that a foreign page could send without a preflight: forms and plain text."""
    error = RpcError(INVALID_REQUEST, "Invalid Request: send Content-Type: application/json")
    return Response(encode_error(None, error), status_code=415, media_type="application/json")


def message_refused(refused: MessageRefused) -> Response:
    """Answer a body that was refused undecoded: too large, too complex, or too many at once."""
    status = STATUS_OF_RPC.get(refused.error.code, 503)
    return Response(
        encode_error(refused.request_id, refused.error),
        status_code=status,
        media_type="application/json",
        headers={"Retry-After": "1"} if status == 503 else {},
    )
