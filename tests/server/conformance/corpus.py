"""Valid and invalid requests of both protocol generations, and the tools they call."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.registry import Toolset
from commonplace.dispatch.tool import Arguments, Context, Rejected, Tool
from commonplace.kernel.errors import NOT_AVAILABLE, CommonplaceError

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
INFO_KEY = "io.modelcontextprotocol/clientInfo"
STATELESS = "2026-07-28"
ENVELOPE: dict[str, Any] = {
    VERSION_KEY: STATELESS,
    CAPABILITIES_KEY: {},
    INFO_KEY: {"name": "corpus", "version": "1"},
}


class Echo(Arguments):
    value: str = Field(description="What comes back.")
    count: int = Field(default=1, ge=1, le=5, description="How often.")


class Echoed(TypedDict):
    values: list[str]
    nothing: NotRequired[str | None]


def echo(context: Context, arguments: Echo) -> Echoed:
    return {"values": [arguments.value] * arguments.count, "nothing": None}


async def echo_later(context: Context, arguments: Echo) -> Echoed:
    await context.channel.progress(0, 2)
    await asyncio.sleep(0)
    await context.channel.progress(1.5, 2, "nearly")
    return {"values": [arguments.value]}


def refuse(context: Context, arguments: Echo) -> Echoed:
    raise CommonplaceError(
        NOT_AVAILABLE,
        "Not today.",
        hint="Come tomorrow.",
        details={"day": 1, "none": None},
        retryable=True,
    )


def reject(context: Context, arguments: Echo) -> Rejected:
    return Rejected({"values": [], "nothing": arguments.value})


def break_down(context: Context, arguments: Echo) -> Echoed:
    raise RuntimeError("a defect")


def _tool(name: str, handler: Any) -> Tool:
    return Tool(
        name,
        "corpus",
        name.replace("_", " ").capitalize(),
        "Part of the corpus.",
        Echo,
        Echoed,
        handler,
        aliases=(f"corpus/{name}",),
    )


CORPUS_TOOLS = tuple(
    _tool(handler.__name__, handler) for handler in (echo, echo_later, refuse, reject, break_down)
)


def corpus_toolset() -> Toolset:
    names = frozenset(name for tool in CORPUS_TOOLS for name in (tool.name, *tool.aliases))
    return Toolset("corpus", "Tools of the corpus.", names, frozenset(), lambda: CORPUS_TOOLS)


def request(method: str, params: Any = ..., request_id: Any = 7) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": request_id, "method": method}
    return message if params is ... else {**message, "params": params}


def initialize(version: Any = "2025-11-25", **changes: Any) -> dict[str, Any]:
    params = {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "corpus", "version": "1"},
        **changes,
    }
    return request(
        "initialize", {name: value for name, value in params.items() if value is not ...}, 0
    )


INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def call(name: Any, arguments: Any = ..., **more: Any) -> dict[str, Any]:
    params = {"name": name, **({} if arguments is ... else {"arguments": arguments}), **more}
    return request("tools/call", params)


# What a client may send once the era is settled. In the stateless era each gets an envelope, unless
# it brings a `_meta` of its own.
REQUESTS: dict[str, dict[str, Any]] = {
    "ping": request("ping"),
    "ping with empty params": request("ping", {}),
    "list": request("tools/list"),
    "list with params": request("tools/list", {}),
    "list with null cursor": request("tools/list", {"cursor": None}),
    "list with unknown cursor": request("tools/list", {"cursor": "next"}),
    "list with wrong cursor": request("tools/list", {"cursor": 5}),
    "list with extra params": request("tools/list", {"more": True}),
    "call": call("echo", {"value": "häßlich 🦉"}),
    "call by alias": call("corpus/echo", {"value": "x", "count": 3}),
    "call later": call("echo_later", {"value": "x"}),
    "call without arguments": call("test_simple_text"),
    "call with null arguments": call("test_simple_text", None),
    "call with list arguments": call("echo", [1]),
    "call with text arguments": call("echo", "value"),
    "call with missing argument": call("echo", {}),
    "call with wrong argument": call("echo", {"value": 5}),
    "call with extra argument": call("echo", {"value": "x", "more": 1}),
    "call beyond a bound": call("echo", {"value": "x", "count": 6}),
    "call without name": request("tools/call", {"arguments": {}}),
    "call with number for name": call(5, {}),
    "call with null name": call(None, {}),
    "call with empty name": call("", {}),
    "call of an unknown tool": call("no_such_tool", {}),
    "call without params": request("tools/call"),
    "call that is refused": call("refuse", {"value": "x"}),
    "call that is rejected": call("reject", {"value": "x"}),
    "call that breaks down": call("break_down", {"value": "x"}),
    "call of images": call("test_multiple_content_types", {}),
    "call of a failing fixture": call("test_error_handling", {}),
    "call with extra params": call("echo", {"value": "x"}, more=1),
    "unknown method": request("no/such/method"),
    "unknown method in a known family": request("tools/forget", {}),
    "discover": request("server/discover", {}),
    "list resources": request("resources/list", {}),
    "list templates": request("resources/templates/list", {}),
    "read a resource": request("resources/read", {"uri": "test://static-text"}),
    "read a missing resource": request("resources/read", {"uri": "test://none"}),
    "read without uri": request("resources/read", {}),
    "list prompts": request("prompts/list", {}),
    "get a prompt": request("prompts/get", {"name": "test_simple_prompt"}),
    "complete": request(
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "arg1", "value": "par"}},
    ),
    "set a level": request("logging/setLevel", {"level": "info"}),
    "set a wrong level": request("logging/setLevel", {"level": "loud"}),
    "text id": request("tools/list", ..., "a"),
    "zero id": request("tools/list", ..., 0),
    "negative id": request("tools/list", ..., -1),
    "big id": request("tools/list", ..., 2**53),
}
HANDSHAKE_ONLY: dict[str, dict[str, Any]] = {
    "progress": call("echo_later", {"value": "x"}, _meta={"progressToken": "p1"}),
    "progress of a synchronous tool": call("echo", {"value": "x"}, _meta={"progressToken": 5}),
    "wrong meta": call("echo", {"value": "x"}, _meta=5),
    "stateless call after a handshake": call("echo", {"value": "x"}, _meta=ENVELOPE),
    "stateless list after a handshake": request("tools/list", {"_meta": ENVELOPE}),
    "a second handshake": initialize("2025-06-18"),
    "null meta": call("echo", {"value": "x"}, _meta=None),
    "list with wrong meta": request("tools/list", {"_meta": []}),
    "progress with a wrong token": call("echo", {"value": "x"}, _meta={"progressToken": ["p"]}),
    "progress with a boolean token": call("echo", {"value": "x"}, _meta={"progressToken": True}),
    "progress with a fractional token": call("echo", {"value": "x"}, _meta={"progressToken": 1.5}),
    "unknown meta": call("echo", {"value": "x"}, _meta={"com.example/trace": [1, None]}),
    "interactive tool that asks nothing": call("test_logging_tool", {}),
    "elicitation without a back channel in hand": call("test_reconnection", {}),
    "subscribe": request("resources/subscribe", {"uri": "test://watched-resource"}),
    "unsubscribe": request("resources/unsubscribe", {"uri": "test://watched-resource"}),
}
OPENINGS: dict[str, list[dict[str, Any]]] = {
    "unknown version": [initialize("1999-01-01")],
    "stateless version": [initialize(STATELESS)],
    "number for version": [initialize(5)],
    "no version": [initialize(...)],
    "no capabilities": [initialize(capabilities=...)],
    "wrong capabilities": [initialize(capabilities=[])],
    "known capabilities": [
        initialize(capabilities={"sampling": {}, "roots": {"listChanged": True}, "elicitation": {}})
    ],
    "capability of the wrong shape": [initialize(capabilities={"sampling": 5})],
    "client without version": [initialize(clientInfo={"name": "x"})],
    "client with title": [initialize(clientInfo={"name": "x", "version": "1", "title": "X"})],
    "client title of the wrong shape": [
        initialize(clientInfo={"name": "x", "version": "1", "title": 5})
    ],
    "no params": [request("initialize")],
    "list too early": [request("tools/list")],
    "call too early": [call("echo", {"value": "x"})],
    "ping early": [request("ping")],
    "resources too early": [request("resources/list")],
    "failed then good": [initialize(5), initialize(), request("tools/list")],
    "call before initialized": [initialize(), call("echo", {"value": "x"})],
    "envelope without capabilities": [request("tools/list", {"_meta": {VERSION_KEY: STATELESS}})],
    "envelope of an unknown version": [
        request("tools/list", {"_meta": {**ENVELOPE, VERSION_KEY: "1999-01-01"}})
    ],
    "envelope of a handshake version": [
        request("tools/list", {"_meta": {**ENVELOPE, VERSION_KEY: "2025-11-25"}})
    ],
    "envelope with a number for version": [
        request("tools/list", {"_meta": {**ENVELOPE, VERSION_KEY: 5}})
    ],
    "envelope with null for version": [
        request("tools/list", {"_meta": {**ENVELOPE, VERSION_KEY: None}})
    ],
    "envelope without client": [
        request("tools/list", {"_meta": {VERSION_KEY: STATELESS, CAPABILITIES_KEY: {}}})
    ],
    "envelope with wrong capabilities": [
        request("tools/list", {"_meta": {**ENVELOPE, CAPABILITIES_KEY: 5}})
    ],
    "envelope with a wrong client": [request("tools/list", {"_meta": {**ENVELOPE, INFO_KEY: 5}})],
    "handshake after stateless": [request("tools/list", {"_meta": ENVELOPE}), initialize()],
    "no envelope after stateless": [
        request("tools/list", {"_meta": ENVELOPE}),
        request("tools/list"),
    ],
    "call without envelope after stateless": [
        request("tools/list", {"_meta": ENVELOPE}),
        call("echo", {"value": "x"}),
    ],
    "ping after stateless": [request("tools/list", {"_meta": ENVELOPE}), request("ping")],
    "discover first": [
        request("server/discover", {"_meta": ENVELOPE}),
        request("tools/list", {"_meta": ENVELOPE}),
    ],
    "discover without envelope": [request("server/discover")],
    "resources too early, then in time": [
        request("resources/list"),
        initialize(),
        INITIALIZED,
        request("resources/list"),
    ],
    "discovery too early, then a handshake": [
        request("server/discover"),
        initialize(),
        request("prompts/list"),
    ],
    "resources without and with envelope": [
        request("tools/list", {"_meta": ENVELOPE}),
        request("resources/list"),
        request("resources/list", {"_meta": ENVELOPE}),
    ],
    "input required, first round": [
        call("test_input_required_result_elicitation", {}, _meta=ENVELOPE)
    ],
    "input required, second round": [
        call(
            "test_input_required_result_elicitation",
            {},
            _meta=ENVELOPE,
            inputResponses={"user_name": {"action": "accept", "content": {"name": "Ada"}}},
        )
    ],
    "input required, tampered": [
        call(
            "test_input_required_result_request_state", {}, _meta=ENVELOPE, requestState="v1.forged"
        )
    ],
    "missing capability": [call("test_missing_capability", {}, _meta=ENVELOPE)],
    "capability at hand": [
        call("test_missing_capability", {}, _meta={**ENVELOPE, CAPABILITIES_KEY: {"sampling": {}}})
    ],
    "log when asked": [
        call(
            "test_logging_tool", {}, _meta={**ENVELOPE, "io.modelcontextprotocol/logLevel": "debug"}
        )
    ],
    "no log when not asked": [call("test_logging_tool", {}, _meta=ENVELOPE)],
    "stateless progress with a wrong token": [
        call("echo", {"value": "x"}, _meta={**ENVELOPE, "progressToken": {}})
    ],
    "progress without a handshake": [
        call("echo_later", {"value": "x"}, _meta={**ENVELOPE, "progressToken": "p"})
    ],
    "stateless initialize": [request("initialize", {"_meta": ENVELOPE, **initialize()["params"]})],
}


# Where we are kinder than the SDK: a client whose envelope was refused may still fall back to the
# handshake on its connection.
KINDER = [
    request("tools/list", {"_meta": {VERSION_KEY: STATELESS}}),
    initialize(),
    request("tools/list"),
]


def enveloped(message: dict[str, Any]) -> dict[str, Any]:
    params = message.get("params") or {}
    return {**message, "params": {**params, "_meta": ENVELOPE}}


def routing(message: dict[str, Any], **changes: str) -> dict[str, str]:
    """The headers that a stateless POST repeats from its body."""
    headers = {"mcp-protocol-version": STATELESS, "mcp-method": str(message["method"])}
    params = message.get("params") or {}
    name = params.get("uri") if message["method"] == "resources/read" else params.get("name")
    if isinstance(name, str) and message["method"] in (
        "tools/call",
        "prompts/get",
        "resources/read",
    ):
        headers["mcp-name"] = name
    return {**headers, **{key.replace("_", "-"): value for key, value in changes.items()}}


_CALL = enveloped(call("echo", {"value": "x"}))
_LIST = enveloped(request("tools/list"))
FAULTS: dict[str, tuple[Any, dict[str, str]]] = {
    "no session": (request("tools/list"), {}),
    "no session, call": (call("echo", {"value": "x"}), {"mcp-protocol-version": "2025-11-25"}),
    "unknown session": (request("tools/list"), {"mcp-session-id": "0" * 32}),
    "not json": (b"{", {}),
    "not utf-8": (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', {}),
    "empty body": (b"", {}),
    "a response": ({"jsonrpc": "2.0", "id": 1, "result": {}}, {}),
    "initialize badly": (initialize(5), {}),
    "no accept": (initialize(), {"accept": "text/plain"}),
    "stateless not json": (b"{", {"mcp-protocol-version": STATELESS}),
    "stateless batch": ([_LIST], routing(_LIST)),
    "stateless notification": (
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}},
        {"mcp-protocol-version": STATELESS},
    ),
    "stateless without method header": (_LIST, {"mcp-protocol-version": STATELESS}),
    "stateless with another method": (_LIST, routing(_LIST, mcp_method="tools/call")),
    "stateless with another name": (_CALL, routing(_CALL, mcp_name="refuse")),
    "stateless without name": (
        _CALL,
        {"mcp-protocol-version": STATELESS, "mcp-method": "tools/call"},
    ),
    "stateless with an encoded name": (_CALL, routing(_CALL, mcp_name="=?base64?ZWNobw==?=")),
    "stateless with another version in the body": (
        request("tools/list", {"_meta": {**ENVELOPE, VERSION_KEY: "2025-11-25"}}),
        routing(_LIST),
    ),
    "stateless with an unknown version": (
        request("tools/list", {"_meta": {**ENVELOPE, VERSION_KEY: "2031-01-01"}}),
        routing(_LIST, mcp_protocol_version="2031-01-01"),
    ),
    "stateless without envelope": (request("tools/list"), routing(_LIST)),
    "stateless with wrong capabilities": (
        request("tools/list", {"_meta": {**ENVELOPE, CAPABILITIES_KEY: 5}}),
        routing(_LIST),
    ),
    "stateless with a capability of the wrong shape": (
        request("tools/list", {"_meta": {**ENVELOPE, CAPABILITIES_KEY: {"sampling": 5}}}),
        routing(_LIST),
    ),
    "stateless with a wrong client": (
        request("tools/list", {"_meta": {**ENVELOPE, INFO_KEY: 5}}),
        routing(_LIST),
    ),
    "stateless accepting only events": (_LIST, routing(_LIST, accept="text/event-stream")),
    "stateless accepting anything": (_LIST, routing(_LIST, accept="*/*")),
    "stateless with a null id": ({**_LIST, "id": None}, routing(_LIST)),
    "stateless with a boolean id": ({**_LIST, "id": True}, routing(_LIST)),
    "stateless with a fractional id": ({**_LIST, "id": 1.5}, routing(_LIST)),
    "stateless with list params": ({**_LIST, "params": []}, routing(_LIST)),
    "stateless as plain text": (_LIST, routing(_LIST, content_type="text/plain")),
    "stateless with a session": (_LIST, routing(_LIST, mcp_session_id="abc")),
    "stateless with a huge id": (json.dumps({**_LIST, "id": 10**30}).encode(), routing(_LIST)),
    "stateless with a parameter header": (_CALL, routing(_CALL, mcp_param_region="x")),
    "stateless with a tool's header missing": (
        enveloped(call("test_region_header", {"region": "eu"})),
        routing(call("test_region_header", {"region": "eu"})),
    ),
    "handshake header with an envelope": (_LIST, {"mcp-protocol-version": "2025-11-25"}),
}
SESSION_FAULTS: dict[str, tuple[Any, dict[str, str]]] = {
    "unknown version": (request("tools/list"), {"mcp-protocol-version": "1999-01-01"}),
    "another version": (request("tools/list"), {"mcp-protocol-version": "2025-06-18"}),
    "accepting only events": (request("tools/list"), {"accept": "text/event-stream"}),
    "accepting text": (call("echo", {"value": "x"}), {"accept": "text/plain"}),
    "as plain text": (request("tools/list"), {"content-type": "text/plain"}),
    "list params": (request("tools/list", []), {}),
    "a notification": ({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}, {}),
    "a response without a request": ({"jsonrpc": "2.0", "id": 99, "result": {}}, {}),
    "a stateless envelope": (request("tools/list", {"_meta": ENVELOPE}), {}),
    "stateless beside a session": (_LIST, routing(_LIST)),
}
# Where we are kinder over HTTP: who accepts only JSON gets JSON, and who counts in halves gets an
# answer.
KINDER_IN_SESSION: dict[str, tuple[Any, dict[str, str]]] = {
    "accepting only json": (request("tools/list"), {"accept": "application/json"}),
    "a fractional id": (request("tools/list", ..., 1.5), {}),
    "stateless accepting only json": (_LIST, routing(_LIST, accept="application/json")),
}
# Over HTTP these answer with a stream of several messages, or close it under the call: the suites
# look at them.
STREAMED = {"elicitation without a back channel in hand"}

INVALID_REQUESTS: dict[str, tuple[Any, dict[str, str]]] = {
    "a batch": ([request("tools/list")], {}),
    "a number": (b"5", {}),
    "wrong version of json-rpc": ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, {}),
    "a null id": (request("tools/list", ..., None), {}),
    "a boolean id": (request("tools/list", ..., True), {}),
}
"""What is no JSON-RPC request: the SDK answers a dump of its validation, or nothing.

We answer -32600, as on stdio.
"""
