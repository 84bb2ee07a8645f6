"""The error table: how each kind of error appears over JSON-RPC, over HTTP and as an exit code."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from commonplace.kernel.errors import CommonplaceError, Kind

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
RESOURCE_LIMIT = -32001
CALL_CANCELLED = -32006


@dataclass(frozen=True, slots=True)
class ErrorNumbers:
    """The numbers of one kind of error, one for each way out."""

    rpc_code: int
    http_status: int
    exit_code: int


TABLE: dict[Kind, ErrorNumbers] = {
    Kind.INVALID_ARGUMENT: ErrorNumbers(INVALID_PARAMS, 400, 2),
    Kind.INVALID_DATA: ErrorNumbers(-32002, 422, 2),
    Kind.NOT_FOUND: ErrorNumbers(-32002, 404, 3),
    Kind.UNKNOWN_METHOD: ErrorNumbers(METHOD_NOT_FOUND, 404, 2),
    Kind.CONFLICT: ErrorNumbers(-32002, 409, 5),
    Kind.INTEGRITY: ErrorNumbers(-32003, 409, 5),
    Kind.UNAUTHENTICATED: ErrorNumbers(-32004, 401, 4),
    Kind.PERMISSION: ErrorNumbers(-32004, 403, 4),
    Kind.EXCLUDED: ErrorNumbers(METHOD_NOT_FOUND, 403, 4),
    Kind.MUTATION_OFF: ErrorNumbers(-32000, 403, 4),
    Kind.LIMIT: ErrorNumbers(RESOURCE_LIMIT, 413, 6),
    Kind.RATE: ErrorNumbers(RESOURCE_LIMIT, 429, 6),
    Kind.UNAVAILABLE: ErrorNumbers(-32005, 503, 7),
    Kind.CANCELLED: ErrorNumbers(CALL_CANCELLED, 499, 130),
    Kind.DAMAGED: ErrorNumbers(INTERNAL_ERROR, 500, 1),
    Kind.INTERNAL: ErrorNumbers(INTERNAL_ERROR, 500, 70),
}


def numbers_of(error: CommonplaceError) -> ErrorNumbers:
    """Look an error up; a code with an HTTP status of its own keeps it."""
    numbers = TABLE[error.code.kind]
    if error.code.http_status is None:
        return numbers
    return replace(numbers, http_status=error.code.http_status)


def rpc_object(error: CommonplaceError) -> dict[str, Any]:
    """Return a JSON-RPC error with our stable code in its `data`.

    See docs/reference/contracts/instructions.md, errors.
    """
    data: dict[str, Any] = {"code": error.code.name, **error.details, "retryable": error.retryable}
    if error.hint:
        data.setdefault("suggestion", error.hint)
    return {"code": numbers_of(error).rpc_code, "message": error.message, "data": data}


def tool_error(error: CommonplaceError) -> dict[str, Any]:
    """Return the error object inside a tools/call result.

    A code with an HTTP status of its own shows it in the details.
    """
    value = error.as_dict()
    if error.code.http_status is not None:
        value["details"] = {**value["details"], "http_status": error.code.http_status}
    return value
