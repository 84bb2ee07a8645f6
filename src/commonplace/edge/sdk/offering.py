"""Serve resources, prompts and completions of the product through the SDK."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from commonplace.edge.core import Core
from commonplace.edge.jsonrpc import RpcError
from commonplace.edge.offered import CallsOfClient, answer_offered, protocol_error
from commonplace.edge.product import Offering
from commonplace.edge.protocol import STATELESS_VERSION
from commonplace.edge.request import Request
from commonplace.edge.sdk.watching import ResourceWatcher
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    SdkContext = ServerRequestContext[Any, Any]
    Handler = Callable[[SdkContext, Any], Awaitable[Json]]

_METHODS = {
    "on_list_resources": "resources/list",
    "on_list_resource_templates": "resources/templates/list",
    "on_read_resource": "resources/read",
    "on_list_prompts": "prompts/list",
    "on_get_prompt": "prompts/get",
    "on_completion": "completion/complete",
}


class OfferingHandlers:
    """Handlers for the SDK's low-level server."""

    def __init__(
        self, core: Core, offering: Offering, request_of: Callable[[SdkContext], Request]
    ) -> None:
        self._core = core
        self._request_of = request_of
        self._watcher = ResourceWatcher(offering.find_fingerprint)

    def handlers(self) -> Mapping[str, Any]:
        """Return the keyword arguments of the server."""
        return {
            **{name: self._answering(method) for name, method in _METHODS.items()},
            "on_subscribe_resource": self._subscribe,
            "on_unsubscribe_resource": self._unsubscribe,
            "on_subscriptions_listen": self._listen,
        }

    def _answering(self, method: str) -> Handler:
        from mcp.shared.exceptions import MCPError

        async def answer(ctx: SdkContext, params: Any) -> Json:
            try:
                return orjson.loads(
                    await answer_offered(
                        self._core,
                        self._request_of(ctx),
                        method,
                        ctx.params,
                        stateless=ctx.protocol_version == STATELESS_VERSION,
                    )
                )
            except RpcError as error:
                raise MCPError(error.code, error.message, error.data) from None

        return answer

    async def _subscribe(self, ctx: SdkContext, params: Any) -> JsonObject:
        uri, session = str(params.uri), ctx.session
        await self._watch(ctx, id(session), uri, lambda: session.send_resource_updated(uri))
        return {}

    async def _unsubscribe(self, ctx: SdkContext, params: Any) -> JsonObject:
        self._watcher.forget(id(ctx.session), str(params.uri))
        return {}

    async def _listen(self, ctx: SdkContext, params: Any) -> Any:
        """Serve one stream of the stateless era: watch its resources as long as it is open."""
        from mcp.server.subscriptions import (
            InMemorySubscriptionBus,
            ListenHandler,
            ResourceUpdated,
        )

        bus, owner = InMemorySubscriptionBus(), object()

        def publishing(uri: str) -> Callable[[], Awaitable[None]]:
            return lambda: bus.publish(ResourceUpdated(uri=uri))

        try:
            for uri in params.notifications.resource_subscriptions or ():
                await self._watch(ctx, id(owner), str(uri), publishing(str(uri)))
            return await ListenHandler(bus)(ctx, params)
        finally:
            self._watcher.forget(id(owner))

    async def _watch(
        self, ctx: SdkContext, owner: int, uri: str, notify: Callable[[], Awaitable[None]]
    ) -> None:
        from mcp.shared.exceptions import MCPError

        calls = CallsOfClient(self._core, self._request_of(ctx))
        try:
            await self._watcher.watch(owner, uri, calls, notify)
        except CommonplaceError as error:
            refused = protocol_error(error, stateless=ctx.protocol_version == STATELESS_VERSION)
            raise MCPError(refused.code, refused.message, refused.data) from None
