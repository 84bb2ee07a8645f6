"""JSON-RPC 2.0 on the wire: decode once, check the shape, encode once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from commonplace.dispatch.error_table import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    rpc_object,
)
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject

RequestId = str | int | float


class RpcError(Exception):
    """A JSON-RPC error object on its way out."""

    def __init__(self, code: int, message: str, data: Json = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def as_dict(self) -> JsonObject:
        error: JsonObject = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return error


def rpc_error(error: CommonplaceError) -> RpcError:
    """Return an error as a bare caller sees it."""
    found = rpc_object(error)
    if found["code"] == INTERNAL_ERROR:
        found["data"]["message"] = error.message
    return RpcError(found["code"], found["message"], found["data"])


def internal_error(message: str) -> RpcError:
    """Return the error of a request that the server failed on."""
    return RpcError(INTERNAL_ERROR, "Internal error", {"message": message})


@dataclass(slots=True)
class Message:
    """A request (id and method), a notification (method) or a response to ours (id)."""

    raw: JsonObject
    id: RequestId | None
    method: str | None

    @property
    def params(self) -> Json:
        return self.raw.get("params")

    @property
    def is_request(self) -> bool:
        return self.id is not None and self.method is not None


class InvalidMessage(Exception):
    """A line that gets an error answer: with its id where that could be read, else null."""

    def __init__(self, error: RpcError, request_id: RequestId | None = None) -> None:
        super().__init__(error.message)
        self.error = error
        self.request_id = request_id

    @classmethod
    def unreadable(cls, reason: str, request_id: RequestId | None = None) -> InvalidMessage:
        """Return a parse error, or an invalid request where the id is known."""
        if request_id is not None:
            return _invalid(reason, request_id)
        return cls(RpcError(PARSE_ERROR, "Parse error", {"message": reason}))


def decode(line: bytes) -> Json:
    """Decode a message or a batch. Raises InvalidMessage."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as wrong:
        raise _unreadable(line, str(wrong)[:200]) from None
    if type(value) is dict:
        if type(value.get("id")) is float:
            _restore_large_ids(line, (value,))
    elif type(value) is list and any(
        type(member) is dict and type(member.get("id")) is float for member in value
    ):
        _restore_large_ids(line, value)
    return value


def _unreadable(line: bytes, reason: str) -> InvalidMessage:
    """Explain a text that orjson refuses, with its id where it is JSON all the same.

    Clients in JavaScript send half a surrogate pair when they cut a string inside an emoji; others
    send numbers beyond all floats. Without the id such a client would wait for ever.
    """
    try:
        value = json.loads(line.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return InvalidMessage(RpcError(PARSE_ERROR, "Parse error", {"message": reason}))
    readable = readable_id(value.get("id")) if type(value) is dict else None
    try:
        encode_id(readable)
    except TypeError:  # the half is in the id itself
        readable = None
    return _invalid(reason, readable)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _restore_large_ids(line: bytes, members: Sequence[Json]) -> None:
    """Put back integer ids beyond 64 bits, which orjson reads as floats.

    A client compares the id of an answer with the one it sent.
    """
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return
    for member, exact in zip(members, value if type(value) is list else (value,), strict=True):
        if type(member) is dict and type(exact.get("id")) is int:
            member["id"] = exact["id"]


def parse_message(value: Json) -> Message:
    """Check the shape of a decoded value. Raises InvalidMessage.

    JSON-RPC allows an id of null. MCP does not, and no client could match its answer.
    """
    if not isinstance(value, dict):
        raise _invalid("a message is a JSON object", None)
    readable = readable_id(value.get("id"))
    if value.get("jsonrpc") != "2.0":
        raise _invalid('"jsonrpc" must be "2.0"', readable)
    method = value.get("method")
    if "id" in value and readable is None:
        raise _invalid('"id" must be a string or a number', None)
    if method is None and readable is not None and ("result" in value or "error" in value):
        return Message(value, readable, None)
    if not isinstance(method, str):
        raise _invalid('"method" must be a string', readable)
    params = value.get("params")
    if params is not None and not isinstance(params, (dict, list)):
        raise _invalid('"params" must be an object', readable)
    return Message(value, readable, method)


def readable_id(request_id: Json) -> RequestId | None:
    """Return an id that an answer can carry, or None."""
    return (
        request_id
        if isinstance(request_id, (str, int, float)) and not isinstance(request_id, bool)
        else None
    )


def _invalid(reason: str, request_id: RequestId | None) -> InvalidMessage:
    return InvalidMessage(RpcError(INVALID_REQUEST, f"Invalid Request: {reason}"), request_id)


def encode_result(request_id: RequestId | None, payload: bytes | list[bytes]) -> bytes:
    """Encode an answer; `payload` is the JSON of its result, whole or in pieces."""
    pieces = payload if isinstance(payload, list) else (payload,)
    return b"".join(
        (b'{"jsonrpc":"2.0","id":', encode_id(request_id), b',"result":', *pieces, b"}")
    )


def encode_error(request_id: RequestId | None, error: RpcError) -> bytes:
    return (
        b'{"jsonrpc":"2.0","id":'
        + encode_id(request_id)
        + b',"error":'
        + orjson.dumps(error.as_dict(), default=str)
        + b"}"
    )


def encode_notification(method: str, params: JsonObject) -> bytes:
    return orjson.dumps({"jsonrpc": "2.0", "method": method, "params": params}, default=str)


def encode_id(request_id: RequestId | None) -> bytes:
    return b"%d" % request_id if type(request_id) is int else orjson.dumps(request_id)
