"""What a message is for: its method, its tool and its id, read before or after it is decoded."""

from __future__ import annotations

import re
from dataclasses import dataclass

import orjson

from commonplace.edge.jsonrpc import RequestId, readable_id
from commonplace.kernel.json_types import Json

PEEK_BYTES = 8 * 1024

_TOKEN = re.compile(rb'\s*(?:("(?:[^"\\]|\\.)*")|([{}\[\],:])|([^\s"{}\[\],:]+))', re.DOTALL)


@dataclass(frozen=True, slots=True)
class MessageAddress:
    """Method, tool and id; None for what is not known.

    The method is empty where a message has none.
    """

    method: str | None = None
    tool: str | None = None
    request_id: RequestId | None = None


def address_of(value: Json) -> MessageAddress:
    """Return the address of a decoded message; that of a batch is unknown."""
    if isinstance(value, list):
        return MessageAddress()
    if not isinstance(value, dict):
        return MessageAddress("")
    method, params = value.get("method"), value.get("params")
    name = params.get("name") if isinstance(params, dict) else None
    return MessageAddress(
        method if isinstance(method, str) else "",
        name if isinstance(name, str) else None,
        readable_id(value.get("id")),
    )


def peek(head: bytes) -> MessageAddress:
    """Read the address of a message from its first bytes, as far as they tell it."""
    found = _scalars(head)
    method, name, request_id = (
        found.get(path) for path in (("method",), ("params", "name"), ("id",))
    )
    return MessageAddress(
        method if isinstance(method, str) else None,
        name if isinstance(name, str) else None,
        None if isinstance(request_id, float) else readable_id(request_id),
    )


def _scalars(head: bytes) -> dict[tuple[str, ...], Json]:
    """Collect the strings and numbers of the outer object and of its `params`, by their path."""
    found: dict[tuple[str, ...], Json] = {}
    path: list[str | None] = []  # the key of each open object; None for arrays
    key: str | None = None
    expects_key = False
    position = 0
    while (token := _TOKEN.match(head, position)) is not None:
        position = token.end()
        text, mark, scalar = token.groups()
        if mark in (b"{", b"["):
            path.append(key if mark == b"{" else None)
            expects_key, key = mark == b"{", None
        elif mark in (b"}", b"]"):
            if not path:
                break
            path.pop()
            key = None
        elif mark == b",":
            expects_key, key = True, None
        elif text is not None and expects_key and len(path) <= 2:
            key, expects_key = _value(text), False
        elif key is not None and (text is not None or (scalar and position < len(head))):
            # a number at the end of the bytes may go on
            if len(path) == 1:
                found[(key,)] = _value(text or scalar)
            elif len(path) == 2 and path[1] == "params":
                found["params", key] = _value(text or scalar)
    return found


def _value(raw: bytes) -> Json:
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
