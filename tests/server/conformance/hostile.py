"""Hostile lines and the answer that JSON-RPC and MCP require for each.

`owed` judges the bytes of a line with the standard library only, without code of the server.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

PARSE_ERROR, INVALID_REQUEST, NOT_FOUND, INVALID_PARAMS, UNSUPPORTED = (
    -32700,
    -32600,
    -32601,
    -32602,
    -32022,
)
VERSION = "io.modelcontextprotocol/protocolVersion"
RESULT = "result"
ENVELOPE = {VERSION: "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
BATCH_ERA = "2025-03-26"
STATELESS_ERA = "2026-07-28"
BARE = "bare"  # POST /rpc, where no protocol version exists
TOKENS = (
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b":",
    b",",
    b"null",
    b"true",
    b"-1",
    b"0",
    b'"id"',
    b'"method"',
    b'"ping"',
    b'"2.0"',
    b"\\u0000",
    b"\xff",
)
BARE_METHODS = ("health/check", "metrics/snapshot")
UNKNOWN_METHODS = (
    "no/such/method",
    "tools",
    "",
    "ping ",
    "PING",
    "rpc.discover",
    "initialise",
    "tools/call/",
    "\u0000",
    "тест",
)
FEATURES = (
    "resources/list",
    "prompts/list",
    "prompts/get",
    "resources/read",
    "completion/complete",
    "logging/setLevel",
)
SERVED = ("ping", "tools/list", "tools/call", *BARE_METHODS, *FEATURES)
NOTIFICATIONS = (
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "notifications/none",
    "ping",
    "tools/call",
)


@dataclass(frozen=True, slots=True)
class Owed:
    """The id an answer must carry, and what it may be: `result`, or an error code."""

    id: Any
    outcomes: frozenset[Any]


def owed(line: bytes, era: str | None) -> list[Owed]:
    """The answers that a line is owed on a connection of that era."""
    if not line.strip():
        return []
    try:
        value = json.loads(line.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return [Owed(None, frozenset({PARSE_ERROR}))]
    if isinstance(value, list) and era == BATCH_ERA:
        if not value:
            return [_invalid()]
        return [item for member in value for item in _judge(member, era, batched=True)]
    return _judge(value, era)


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _invalid(request_id: Any = None) -> Owed:
    return Owed(request_id, frozenset({INVALID_REQUEST}))


def _judge(value: Any, era: str | None, *, batched: bool = False) -> list[Owed]:
    if not isinstance(value, dict):
        return [_invalid()]
    request_id = value.get("id")
    readable = (
        request_id
        if isinstance(request_id, (str, int, float)) and not isinstance(request_id, bool)
        else None
    )
    method, params = value.get("method"), value.get("params")
    if value.get("jsonrpc") != "2.0":
        return [_invalid(readable)]
    if "id" in value and readable is None:
        return [_invalid()]
    if method is None and readable is not None and ("result" in value or "error" in value):
        return []
    if not isinstance(method, str) or not isinstance(params, (dict, list, type(None))):
        return [_invalid(readable)]
    if "id" not in value:
        return []
    if batched and method == "initialize":
        return [_invalid(readable)]
    return [Owed(readable, _outcomes(method, params, era, readable))]


def _outcomes(method: str, params: Any, era: str | None, request_id: Any) -> frozenset[Any]:
    if method not in (BARE_METHODS if era == BARE else SERVED):
        return frozenset({NOT_FOUND})
    meta = params.get("_meta") if isinstance(params, dict) else None
    enveloped = isinstance(meta, dict) and VERSION in meta
    unsupported = (
        {UNSUPPORTED}
        if isinstance(meta, dict) and meta.get(VERSION) not in (None, STATELESS_ERA)
        else set()
    )
    if method in BARE_METHODS:
        return frozenset({RESULT, INVALID_PARAMS})
    if method == "ping":
        if era == STATELESS_ERA or enveloped:
            return frozenset({NOT_FOUND, INVALID_PARAMS, INVALID_REQUEST} | unsupported)
        # where nothing was settled, an earlier line may have brought an envelope
        return frozenset({RESULT, NOT_FOUND, INVALID_PARAMS} if era is None else {RESULT})
    wrong_era = {INVALID_REQUEST} if enveloped and era not in (None, STATELESS_ERA) else set()
    odd_id = (
        {INVALID_REQUEST} if isinstance(request_id, float) or isinstance(params, list) else set()
    )
    not_found = {NOT_FOUND, -32002} if method in FEATURES else set()
    too_early = {INVALID_PARAMS}
    return frozenset({RESULT} | wrong_era | odd_id | not_found | too_early | unsupported)


def matches(answer: Any, debt: Owed) -> bool:
    if answer["id"] != debt.id or isinstance(answer["id"], bool):
        return False
    return (
        RESULT in debt.outcomes if "result" in answer else answer["error"]["code"] in debt.outcomes
    )


# What hypothesis draws from. No line holds a newline; none says `shutdown`, `exit` or a working
# `initialize`: they change the connection.
_numbers = st.one_of(
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.just(10**25),
)
_texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
_scalars = st.one_of(st.none(), st.booleans(), _numbers, _texts)
_values = st.recursive(
    _scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(_texts, inner, max_size=4)
    ),
    max_leaves=8,
)
_ids = st.one_of(st.integers(-5, 2**70), _texts, _values)
_metas = st.one_of(
    st.just(ENVELOPE),
    st.just({"progressToken": 1}),
    _values,
    st.fixed_dictionaries({"progressToken": _values}),
)
_arguments = st.one_of(st.just({}), _values, st.fixed_dictionaries({"a": _values, "b": _values}))
_tools = st.one_of(
    st.sampled_from(
        ["health_check", "add", "wait", "test_simple_text", "test_logging_tool", "none"]
    ),
    _values,
)
_params = st.one_of(
    _values,
    st.fixed_dictionaries(
        {},
        optional={
            "name": _tools,
            "arguments": _arguments,
            "_meta": _metas,
            "cursor": _values,
            "uri": _values,
        },
    ),
    st.fixed_dictionaries({"name": _tools, "arguments": _arguments, "_meta": st.just(ENVELOPE)}),
)
_methods = st.one_of(st.sampled_from(SERVED), st.sampled_from(UNKNOWN_METHODS), st.none(), _numbers)
_requests = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "id": _ids, "method": _methods}, optional={"params": _params}
)
_notifications = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "method": st.sampled_from(NOTIFICATIONS)},
    optional={"params": _params},
)
_responses = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "id": _ids}, optional={"result": _values, "error": _values}
)
_mangled = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.one_of(st.just("2.0"), _values),
        "id": _ids,
        "method": _methods,
        "params": _params,
        "result": _values,
    },
)
_messages = st.one_of(_requests, _notifications, _responses, _mangled)
_json = st.one_of(_messages, _messages, _values, st.lists(_messages, max_size=4)).map(
    lambda value: json.dumps(value).encode()
)
_unescaped = _messages.map(lambda value: json.dumps(value, ensure_ascii=False).encode())
_cut = st.tuples(_json, st.integers(0, 40)).map(lambda pair: pair[0][: -pair[1] or None])
_spliced = st.tuples(_json, st.binary(min_size=1, max_size=3), st.integers(0, 60)).map(
    lambda t: t[0][: t[2]] + t[1] + t[0][t[2] :]
)
_nested = st.tuples(st.sampled_from([b"[", b'{"a":']), st.integers(1, 5000)).map(
    lambda pair: pair[0] * pair[1]
)
_blank = st.sampled_from([b"", b" ", b"\t", b"\r", b"  \t \r"])
_raw = st.binary(max_size=60)


def _single(line: bytes) -> bytes:
    return line.replace(b"\n", b" ")


def ambiguous(line: bytes) -> bool:
    """Lines on which JSON readers may differ, or that would end or reopen the connection."""
    lowered = line.lower()
    if b"shutdown" in lowered or b"exit" in lowered or b'"initialize"' in lowered:
        return True
    return (
        b"\\ud" in lowered
        or b"e+" in lowered
        or b"e3" in lowered
        or b"\x0b" in line
        or b"\x0c" in line
    )


_kinds = (_json, _json, _json, _unescaped, _cut, _spliced, _nested, _blank, _raw)
lines = st.one_of(*_kinds).map(_single).filter(lambda line: not ambiguous(line))


def mutant(line: bytes, others: list[bytes], chance: random.Random) -> bytes:
    """A line with a few bytes changed, dropped, doubled or taken from another; the line itself
    where that would be ambiguous.
    """
    changed = bytearray(line)
    for _ in range(chance.randint(1, 3)):
        at = chance.randint(0, len(changed))
        end = min(len(changed), at + chance.choice((1, 1, 2, 5, 30)))
        other = chance.choice(others)
        begin = chance.randint(0, len(other))
        changed[at:end] = chance.choice(
            (
                b"",
                bytes([chance.randint(0, 255)]),
                chance.choice(TOKENS),
                changed[at:end] * 2,
                other[begin : begin + chance.randint(1, 40)],
            )
        )
    made = _single(bytes(changed))
    return line if ambiguous(made) else made
