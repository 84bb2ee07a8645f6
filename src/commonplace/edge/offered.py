"""Answer the methods of resources, prompts and completions; subscriptions are the SDK's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import orjson

from commonplace.dispatch.call import Call, to_json
from commonplace.dispatch.error_table import INVALID_PARAMS, numbers_of
from commonplace.edge.core import LIST_TTL_MS, Core
from commonplace.edge.jsonrpc import RpcError
from commonplace.edge.product import Offering, ToolCalls
from commonplace.edge.protocol import check_meta
from commonplace.edge.request import Request
from commonplace.kernel.errors import CommonplaceError, Kind
from commonplace.kernel.json_types import Json, JsonObject

RESOURCE_NOT_FOUND = -32002  # of the handshake versions; 2026-07-28 has invalid params for it
_TTL_MS = {  # how long a client may keep an answer
    "prompts/list": LIST_TTL_MS,
    "resources/templates/list": LIST_TTL_MS,
    "resources/list": 0,
    "resources/read": 0,
}


async def answer_offered(
    core: Core, request: Request, method: str, params: Json, *, stateless: bool
) -> bytes:
    """Return the encoded result of a method of `OFFERED`. Raises RpcError."""
    offering = core.product.offering
    assert offering is not None
    check_meta(params)
    given = params if isinstance(params, dict) else {}
    try:
        result = await OFFERED[method](offering, CallsOfClient(core, request), given)
    except CommonplaceError as error:
        raise protocol_error(error, stateless=stateless) from None
    if not stateless:
        return orjson.dumps(result)
    if method in _TTL_MS:
        result = {**result, "ttlMs": _TTL_MS[method], "cacheScope": "private"}
    return orjson.dumps(core.add_envelope(result))


def protocol_error(error: CommonplaceError, *, stateless: bool) -> RpcError:
    """Return an error with the code that the protocol has for it, and ours in its data."""
    code = numbers_of(error).rpc_code
    if error.code.kind is Kind.NOT_FOUND:
        code = INVALID_PARAMS if stateless else RESOURCE_NOT_FOUND
    return RpcError(code, error.message, error.as_dict())


class CallsOfClient:
    """Calls tools as the client of a request, with its permissions and its selection."""

    def __init__(self, core: Core, request: Request) -> None:
        self._core = core
        self._request = request

    async def __call__(self, tool: str, arguments: Mapping[str, Json]) -> JsonObject:
        request = self._request
        outcome = await self._core.pipeline.run(
            Call(
                tool,
                dict(arguments),
                request.caller,
                read_only=request.read_only,
                selection=request.selection,
            )
        )
        if outcome.error is not None:
            raise outcome.error
        assert outcome.output is not None
        answer: JsonObject = to_json(outcome.output)
        return answer


async def _list_resources(offering: Offering, call: ToolCalls, params: JsonObject) -> JsonObject:
    cursor = params.get("cursor")
    return await offering.list_resources(call, None if cursor is None else _text(params, "cursor"))


async def _list_templates(offering: Offering, call: ToolCalls, params: JsonObject) -> JsonObject:
    return offering.list_templates()


async def _read_resource(offering: Offering, call: ToolCalls, params: JsonObject) -> JsonObject:
    return await offering.read_resource(call, _text(params, "uri"))


async def _list_prompts(offering: Offering, call: ToolCalls, params: JsonObject) -> JsonObject:
    return offering.list_prompts()


async def _get_prompt(offering: Offering, call: ToolCalls, params: JsonObject) -> JsonObject:
    return await offering.get_prompt(call, _text(params, "name"), _texts(params, "arguments"))


async def _complete(offering: Offering, call: ToolCalls, params: JsonObject) -> JsonObject:
    ref, argument = _object(params, "ref"), _object(params, "argument")
    target = _text(ref, "uri" if ref.get("type") == "ref/resource" else "name")
    given = _texts(params.get("context") or {}, "arguments")
    return await offering.complete(
        call, target, _text(argument, "name"), _text(argument, "value"), given
    )


OFFERED: Mapping[str, Callable[[Offering, ToolCalls, JsonObject], Awaitable[JsonObject]]] = {
    "completion/complete": _complete,
    "prompts/get": _get_prompt,
    "prompts/list": _list_prompts,
    "resources/list": _list_resources,
    "resources/read": _read_resource,
    "resources/templates/list": _list_templates,
}


def _text(params: JsonObject, name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise RpcError(INVALID_PARAMS, f"Invalid params: {name} must be a string")
    return value


def _object(params: JsonObject, name: str) -> JsonObject:
    value = params.get(name)
    if not isinstance(value, dict):
        raise RpcError(INVALID_PARAMS, f"Invalid params: {name} must be an object")
    return value


def _texts(params: Json, name: str) -> Mapping[str, str]:
    values = params.get(name) if isinstance(params, dict) else None
    if values is None:
        return {}
    if not isinstance(values, dict) or not all(isinstance(text, str) for text in values.values()):
        raise RpcError(INVALID_PARAMS, f"Invalid params: {name} must have strings as values")
    return values
