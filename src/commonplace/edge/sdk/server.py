"""The SDK's low-level server over our registry and pipeline."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from commonplace.dispatch.tool import ClientChannel
from commonplace.edge.core import LIST_TTL_MS, Core
from commonplace.edge.jsonrpc import RpcError
from commonplace.edge.protocol import STATELESS_VERSION, progress_token
from commonplace.edge.request import Request
from commonplace.kernel.errors import NOT_AVAILABLE, CommonplaceError
from commonplace.kernel.json_types import Json

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server

    from commonplace.edge.sdk.following import SharedSubscriptions

    SdkContext = ServerRequestContext[Any, Any]

REQUEST_KEY = "commonplace.request"  # where the scope of an HTTP request keeps its Request


def build_server(
    core: Core, stdio_request: Request | None, shared: SharedSubscriptions | None = None
) -> Server[Any]:
    """Build the server; `stdio_request` stands for every request of a duplex connection.

    `shared` are the subscriptions of a team's sessions.
    """
    from mcp.server.caching import CacheHint
    from mcp.server.lowlevel import Server

    product = core.product
    extra = _more_handlers(core, stdio_request, shared)
    server: Server[Any] = Server(
        product.name,
        version=product.version,
        title=product.title,
        instructions=product.instructions,
        cache_hints={
            "tools/list": CacheHint(LIST_TTL_MS, "private"),
            **extra.get("cache_hints", {}),
        },
        get_tool_input_schema=lambda name: _written_schema(core, name),
        on_list_tools=_list_handler(core, stdio_request),
        on_call_tool=_call_handler(core, stdio_request),
        **{key: value for key, value in extra.items() if key.startswith("on_")},
    )
    server.middleware.extend(extra.get("middleware", ()))
    return server


def _more_handlers(
    core: Core, stdio_request: Request | None, shared: SharedSubscriptions | None
) -> Mapping[str, Any]:
    product = core.product
    if product.features is not None:
        return product.features.handlers()
    if product.offering is None:
        return {}
    from commonplace.edge.sdk.offering import OfferingHandlers

    return OfferingHandlers(
        core, product.offering, lambda ctx: _request_of(ctx, stdio_request), shared
    ).handlers()


def _list_handler(
    core: Core, stdio_request: Request | None
) -> Callable[[SdkContext, object], Awaitable[Json]]:
    from mcp.shared.exceptions import MCPError

    async def list_tools(ctx: SdkContext, params: object) -> Json:
        selection = _request_of(ctx, stdio_request).selection
        try:
            return orjson.loads(core.list_tools(ctx.params, selection, _is_stateless(ctx)))
        except RpcError as error:
            raise MCPError(error.code, error.message, error.data) from None

    return list_tools


def _call_handler(
    core: Core, stdio_request: Request | None
) -> Callable[[SdkContext, object], Awaitable[Json]]:
    from mcp.shared.exceptions import MCPError

    async def call_tool(ctx: SdkContext, params: object) -> Json:
        request = _request_of(ctx, stdio_request)
        try:
            started = core.start_call(
                request, ctx.params, channel=SdkChannel(ctx), meta={"mcp": ctx}
            )
            outcome = started if not asyncio.iscoroutine(started) else await started
            return orjson.loads(b"".join(core.encode_call(outcome, _is_stateless(ctx))))
        except RpcError as error:
            raise MCPError(error.code, error.message, error.data) from None

    return call_tool


def _request_of(ctx: SdkContext, stdio_request: Request | None) -> Request:
    if ctx.request is not None:
        request: Request = ctx.request.scope[REQUEST_KEY]
        return request
    assert stdio_request is not None
    return stdio_request


def _is_stateless(ctx: SdkContext) -> bool:
    return bool(ctx.protocol_version == STATELESS_VERSION)


def _written_schema(core: Core, name: str) -> Mapping[str, Json] | None:
    """Return a hand-written schema: only those may mirror arguments into headers."""
    try:
        return core.registry.tool(name).input_schema
    except CommonplaceError:
        return None


class SdkChannel(ClientChannel):
    """The channel of a handler to its client through a session of the SDK."""

    def __init__(self, ctx: SdkContext) -> None:
        self._ctx = ctx

    @property
    def wants_progress(self) -> bool:
        return progress_token(self._ctx.params) is not None

    async def progress(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> None:
        await self._ctx.session.report_progress(done, total, message)

    async def log(self, level: str, data: Json, logger: str | None = None) -> None:
        await self._ctx.session.send_log_message(
            level,  # type: ignore[arg-type]
            data,
            logger,
            related_request_id=self._ctx.request_id,
        )

    async def request(self, method: str, params: Mapping[str, Json]) -> Json:
        from mcp.shared.exceptions import NoBackChannelError
        from mcp.shared.message import ServerMessageMetadata
        from mcp_types import (
            CreateMessageResult,
            ElicitResult,
            ListRootsResult,
            server_request_adapter,
        )

        results: dict[str, type[Any]] = {
            "sampling/createMessage": CreateMessageResult,
            "elicitation/create": ElicitResult,
            "roots/list": ListRootsResult,
        }
        request = server_request_adapter.validate_python({"method": method, "params": dict(params)})
        try:
            answer = await self._ctx.session.send_request(
                request,
                results[method],
                metadata=ServerMessageMetadata(related_request_id=self._ctx.request_id),
            )
        except NoBackChannelError:
            raise CommonplaceError(
                NOT_AVAILABLE, f"This client cannot answer {method} here.", hint="Use a session."
            ) from None
        return answer.model_dump(by_alias=True, mode="json", exclude_none=True)
