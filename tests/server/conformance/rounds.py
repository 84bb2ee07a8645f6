"""Tools of protocol 2026-07-28 that ask for input by their result and are called again with the
answers.

The state between rounds is sealed by the SDK's boundary (`features.py` installs it): handlers see
what they wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from commonplace.dispatch.tool import Context, Handler, Nothing, RawResult
from conformance.samples import text

CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"


def elicit(message: str, **fields: str) -> dict[str, Any]:
    """An input request for a form of simple fields, name=type."""
    properties = {name: {"type": kind} for name, kind in fields.items()}
    schema = {"type": "object", "properties": properties, "required": list(fields)}
    return {
        "method": "elicitation/create",
        "params": {"message": message, "requestedSchema": schema},
    }


def sample(prompt: str, max_tokens: int) -> dict[str, Any]:
    asked = [{"role": "user", "content": text(prompt)}]
    return {
        "method": "sampling/createMessage",
        "params": {"messages": asked, "maxTokens": max_tokens},
    }


ROOTS: dict[str, Any] = {"method": "roots/list", "params": {}}
NAME = elicit("What is your name?", name="string")
CONFIRM = elicit("Please confirm", ok="boolean")


def input_required(requests: Mapping[str, Any], state: str | None = None) -> dict[str, Any]:
    result: dict[str, Any] = {"resultType": "input_required", "inputRequests": dict(requests)}
    if state is not None:
        result["requestState"] = state
    return result


def params(context: Context) -> Mapping[str, Any]:
    return context.meta["mcp"].params or {}


def declared(context: Context, capability: str) -> bool:
    """Whether the client said, with this request, that it has the capability."""
    meta = params(context).get("_meta")
    capabilities = meta.get(CAPABILITIES_KEY) if isinstance(meta, Mapping) else None
    return isinstance(capabilities, Mapping) and isinstance(capabilities.get(capability), Mapping)


def answers(
    given: Mapping[str, Any], wanted: Mapping[str, str]
) -> dict[str, Mapping[str, Any]] | None:
    """The answers to the wanted keys, each holding its named field; None when one is missing or
    of the wrong shape.
    """
    responses = given.get("inputResponses")
    if not isinstance(responses, Mapping):
        return None
    found: dict[str, Mapping[str, Any]] = {}
    for key, field in wanted.items():
        value = responses.get(key)
        if not isinstance(value, Mapping):
            return None
        inner = value.get("content") if "action" in value else value
        if not isinstance(inner, Mapping) or field not in inner:
            return None
        found[key] = inner
    return found


def _done(line: str) -> RawResult:
    return RawResult({"content": [text(line)]})


def _once(
    requests: Mapping[str, Any], wanted: Mapping[str, str], say: Callable[[dict[str, Any]], str]
) -> Handler:
    """Ask until every answer is there."""

    async def handler(context: Context, arguments: Nothing) -> RawResult:
        found = answers(params(context), wanted)
        return _done(say(found)) if found is not None else RawResult(input_required(requests))

    return handler


def _stateful(requests: Mapping[str, Any], wanted: Mapping[str, str], state: str) -> Handler:
    """The same, with a state that has to come back."""

    async def handler(context: Context, arguments: Nothing) -> RawResult:
        given = params(context)
        if answers(given, wanted) is not None and given.get("requestState") == state:
            return _done("state-ok: the answers and the state came back")
        return RawResult(input_required(requests, state))

    return handler


async def several_rounds(context: Context, arguments: Nothing) -> RawResult:
    given = params(context)
    state = given.get("requestState") or ""
    if state.startswith("named:") and (colour := answers(given, {"step2": "color"})):
        return _done(f"{state.removeprefix('named:')} likes {colour['step2']['color']}.")
    if state == "started" and (named := answers(given, {"step1": "name"})):
        asked = elicit("Step 2: What is your favorite color?", color="string")
        return RawResult(input_required({"step2": asked}, f"named:{named['step1']['name']}"))
    return RawResult(
        input_required({"step1": elicit("Step 1: What is your name?", name="string")}, "started")
    )


async def within_capabilities(context: Context, arguments: Nothing) -> RawResult:
    """Ask only for what the client said it can do."""
    possible = {
        "elicitation": ("name", NAME),
        "sampling": ("greeting", sample("Say hello", 20)),
        "roots": ("roots", ROOTS),
    }
    requests = dict(
        value for capability, value in possible.items() if declared(context, capability)
    )
    return (
        RawResult(input_required(requests))
        if requests
        else _done("The client can be asked nothing.")
    )


TOOLS: dict[str, Handler] = {
    "test_input_required_result_elicitation": _once(
        {"user_name": NAME},
        {"user_name": "name"},
        lambda found: f"Hello, {found['user_name']['name']}!",
    ),
    "test_input_required_result_sampling": _once(
        {"capital_question": sample("What is the capital of France?", 100)},
        {"capital_question": "content"},
        lambda found: f"The model says: {found['capital_question']['content'].get('text', '')}",
    ),
    "test_input_required_result_list_roots": _once(
        {"client_roots": ROOTS},
        {"client_roots": "roots"},
        lambda found: (
            "Roots: " + ", ".join(str(root.get("uri")) for root in found["client_roots"]["roots"])
        ),
    ),
    "test_input_required_result_request_state": _stateful(
        {"confirm": CONFIRM}, {"confirm": "ok"}, "round-1"
    ),
    "test_input_required_result_tampered_state": _stateful(
        {"confirm": CONFIRM}, {"confirm": "ok"}, "sealed"
    ),
    "test_input_required_result_multiple_inputs": _stateful(
        {"user_name": NAME, "greeting": sample("Generate a greeting", 50), "client_roots": ROOTS},
        {"user_name": "name", "greeting": "content", "client_roots": "roots"},
        "several",
    ),
    "test_input_required_result_multi_round": several_rounds,
    "test_input_required_result_capabilities": within_capabilities,
    "test_streaming_elicitation": _once(
        {"user_name": NAME}, {"user_name": "name"}, lambda found: "Thank you."
    ),
}
