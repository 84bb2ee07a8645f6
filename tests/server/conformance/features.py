"""Resources, prompts, completions, logging and subscriptions as the suite expects them, served
by the SDK behind our edge.

`features` is named by COMMONPLACE_EXTRA_FEATURES when the server under test starts. The SDK is
imported when first needed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import Any

from conformance.rounds import answers, elicit, input_required
from conformance.samples import PNG, resource, text

TTL_MS = 5_000
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
STATELESS_VERSION = "2026-07-28"
RESOURCE_NOT_FOUND = -32002
INVALID_PARAMS = -32602
STATIC_TEXT = "This is the content of the static text resource."
TEMPLATE = "test://template/{id}/data"
RESOURCES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "test://static-text": ("Static text", "text/plain", {"text": STATIC_TEXT}),
    "test://static-binary": ("Static binary", "image/png", {"blob": PNG}),
    "test://watched-resource": ("Watched resource", "text/plain", {"text": "Watch me."}),
}
PROMPTS: dict[str, dict[str, str]] = {
    "test_simple_prompt": {},
    "test_prompt_with_arguments": {"arg1": "First test argument", "arg2": "Second test argument"},
    "test_prompt_with_embedded_resource": {"resourceUri": "URI of the resource to embed"},
    "test_prompt_with_image": {},
    "test_input_required_result_prompt": {},
}

_levels: dict[str, str] = {}  # session id -> least level to send


def _session_of(mcp: Any) -> str:
    request = getattr(mcp, "request", None)
    return str(request.headers.get("mcp-session-id", "")) if request is not None else ""


def log_allowed(mcp: Any, level: str) -> bool:
    """Whether the session's level lets a line through.

    The stateless era decides per request, in the SDK.
    """
    least = _levels.get(_session_of(mcp))
    return least is None or LEVELS.index(level) >= LEVELS.index(least)


@cache
def _bus() -> Any:
    from mcp.server.subscriptions import InMemorySubscriptionBus

    return InMemorySubscriptionBus()


async def publish(what: str) -> None:
    from mcp.server.subscriptions import PromptsListChanged, ToolsListChanged

    await _bus().publish(ToolsListChanged() if what == "tools" else PromptsListChanged())


class ConformanceFeatures:
    capabilities: Mapping[str, Any] = {
        "completions": {},
        "logging": {},
        "prompts": {"listChanged": False},
        "resources": {"subscribe": True, "listChanged": False},
    }

    def handlers(self) -> Mapping[str, Any]:
        import warnings

        from mcp.server.caching import CacheHint
        from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
        from mcp.server.subscriptions import ListenHandler
        from mcp.shared.exceptions import MCPDeprecationWarning

        warnings.simplefilter(
            "ignore", MCPDeprecationWarning
        )  # the handshake versions still have what 2026-07-28 dropped
        cacheable = ("prompts/list", "resources/list", "resources/templates/list", "resources/read")
        return {
            "cache_hints": {method: CacheHint(TTL_MS, "public") for method in cacheable},
            "middleware": [
                RequestStateBoundary(
                    RequestStateSecurity.ephemeral(), default_audience="conformance"
                )
            ],
            "on_list_resources": _finished(list_resources),
            "on_list_resource_templates": _finished(list_templates),
            "on_read_resource": _finished(read_resource),
            "on_subscribe_resource": accept,
            "on_unsubscribe_resource": accept,
            "on_subscriptions_listen": ListenHandler(_bus()),
            "on_list_prompts": _finished(list_prompts),
            "on_get_prompt": _finished(get_prompt),
            "on_completion": _finished(complete),
            "on_set_logging_level": set_level,
        }


def features() -> ConformanceFeatures:
    return ConformanceFeatures()


def _finished(
    handler: Callable[[Any, Any], Awaitable[dict[str, Any]]],
) -> Callable[[Any, Any], Awaitable[dict[str, Any]]]:
    """A stateless result says whether it is complete; handlers here only say when it is not."""

    async def answered(ctx: Any, params: Any) -> dict[str, Any]:
        result = await handler(ctx, params)
        return (
            {"resultType": "complete", **result}
            if ctx.protocol_version == STATELESS_VERSION
            else result
        )

    return answered


async def list_resources(ctx: Any, params: Any) -> dict[str, Any]:
    return {
        "resources": [
            {"uri": uri, "name": name, "description": f"{name} for the suite", "mimeType": mime}
            for uri, (name, mime, _) in RESOURCES.items()
        ]
    }


async def list_templates(ctx: Any, params: Any) -> dict[str, Any]:
    described = {
        "name": "Data by id",
        "description": "JSON data of one id",
        "mimeType": "application/json",
    }
    return {"resourceTemplates": [{"uriTemplate": TEMPLATE, **described}]}


async def read_resource(ctx: Any, params: Any) -> dict[str, Any]:
    uri = str(params.uri)
    known = RESOURCES.get(uri)
    if known is not None:
        return {"contents": [{"uri": uri, "mimeType": known[1], **known[2]}]}
    head, tail = TEMPLATE.split("{id}")
    wanted = uri.removeprefix(head).removesuffix(tail)
    if uri != f"{head}{wanted}{tail}" or not wanted or "/" in wanted:
        from mcp.shared.exceptions import MCPError

        code = INVALID_PARAMS if ctx.protocol_version == STATELESS_VERSION else RESOURCE_NOT_FOUND
        raise MCPError(code, "Resource not found", {"uri": uri})
    data = f'{{"id":"{wanted}","templateTest":true,"data":"Data for ID: {wanted}"}}'
    return {"contents": [{"uri": uri, "mimeType": "application/json", "text": data}]}


async def accept(ctx: Any, params: Any) -> dict[str, Any]:
    return {}


async def list_prompts(ctx: Any, params: Any) -> dict[str, Any]:
    prompts: list[dict[str, Any]] = []
    for name, takes in PROMPTS.items():
        prompt: dict[str, Any] = {
            "name": name,
            "description": f"{name.removeprefix('test_').replace('_', ' ')} of the suite",
        }
        if takes:
            prompt["arguments"] = [
                {"name": key, "description": about, "required": True}
                for key, about in takes.items()
            ]
        prompts.append(prompt)
    return {"prompts": prompts}


async def get_prompt(ctx: Any, params: Any) -> dict[str, Any]:
    given = params.arguments or {}
    if params.name == "test_simple_prompt":
        return _messages(text("This is a simple prompt for testing."))
    if params.name == "test_prompt_with_arguments":
        return _messages(
            text(
                f"Prompt with arguments: arg1='{given.get('arg1', '')}', "
                f"arg2='{given.get('arg2', '')}'"
            )
        )
    if params.name == "test_prompt_with_embedded_resource":
        embedded = resource(
            given.get("resourceUri", ""), "text/plain", "Embedded resource content for testing."
        )
        return _messages(embedded, text("Please process the embedded resource above."))
    if params.name == "test_prompt_with_image":
        return _messages(
            {"type": "image", "data": PNG, "mimeType": "image/png"},
            text("Please analyze the image above."),
        )
    if params.name == "test_input_required_result_prompt":
        found = answers(ctx.params or {}, {"user_context": "context"})
        if found is None:
            return input_required(
                {"user_context": elicit("What context should the prompt use?", context="string")}
            )
        return _messages(text(f"Use this context: {found['user_context']['context']}"))
    from mcp.shared.exceptions import MCPError

    raise MCPError(INVALID_PARAMS, f"Unknown prompt: {params.name}")


def _messages(*contents: Mapping[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": dict(content)} for content in contents]}


async def complete(ctx: Any, params: Any) -> dict[str, Any]:
    values = [word for word in ("paris", "park", "party") if word.startswith(params.argument.value)]
    return {"completion": {"values": values, "total": len(values), "hasMore": False}}


async def set_level(ctx: Any, params: Any) -> dict[str, Any]:
    _levels[_session_of(ctx)] = str(params.level)
    return {}
