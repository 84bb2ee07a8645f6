"""One table: kind of error -> JSON-RPC code, HTTP status, exit code of the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from commonplace.kernel.errors import CommonplaceError, Kind

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
RESOURCE_LIMIT = -32001


@dataclass(frozen=True, slots=True)
class Shown:
    rpc_code: int
    http_status: int
    exit_code: int


TABLE: dict[Kind, Shown] = {
    Kind.INVALID_ARGUMENT: Shown(INVALID_PARAMS, 400, 2),
    Kind.INVALID_DATA: Shown(-32002, 422, 2),
    Kind.NOT_FOUND: Shown(-32002, 404, 3),
    Kind.UNKNOWN_METHOD: Shown(METHOD_NOT_FOUND, 404, 2),
    Kind.CONFLICT: Shown(-32002, 409, 5),
    Kind.INTEGRITY: Shown(-32003, 409, 5),
    Kind.UNAUTHENTICATED: Shown(-32004, 401, 4),
    Kind.PERMISSION: Shown(-32004, 403, 4),
    Kind.EXCLUDED: Shown(METHOD_NOT_FOUND, 403, 4),
    Kind.MUTATION_OFF: Shown(-32000, 403, 4),
    Kind.LIMIT: Shown(RESOURCE_LIMIT, 413, 6),
    Kind.RATE: Shown(RESOURCE_LIMIT, 429, 6),
    Kind.UNAVAILABLE: Shown(-32005, 503, 7),
    Kind.CANCELLED: Shown(-32006, 499, 130),
    Kind.INTERNAL: Shown(INTERNAL_ERROR, 500, 70),
}


def shown(error: CommonplaceError) -> Shown:
    entry = TABLE[error.code.kind]
    if error.code.http_status is None:
        return entry
    return Shown(entry.rpc_code, error.code.http_status, entry.exit_code)


class RpcError(Exception):
    """A JSON-RPC error object on its way out."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def as_dict(self) -> dict[str, Any]:
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return error


def rpc_error(error: CommonplaceError) -> RpcError:
    """How a bare caller sees an error: contract 000's `data`, with our stable code in it."""
    data: dict[str, Any] = {"code": error.code.name, **error.details, "retryable": error.retryable}
    if error.hint:
        data.setdefault("suggestion", error.hint)
    if error.code.kind is Kind.INTERNAL:
        data["message"] = error.message
    return RpcError(shown(error).rpc_code, error.message, data)


def tool_error(error: CommonplaceError) -> dict[str, Any]:
    """The error object inside a tools/call result.

    Contracts with HTTP statuses of their own find them in the details.
    """
    value = error.as_dict()
    if error.code.http_status is not None:
        value["details"] = {**value["details"], "http_status": error.code.http_status}
    return value
