"""Serve resources, prompts and completions of the product through the SDK."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from commonplace.edge.core import Core
from commonplace.edge.jsonrpc import RpcError
from commonplace.edge.offered import CallsOfClient, answer_offered, protocol_error
from commonplace.edge.product import Offering
from commonplace.edge.protocol import STATELESS_VERSION
from commonplace.edge.request import Request
from commonplace.edge.sdk.following import SharedSubscriptions
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
        self,
        core: Core,
        offering: Offering,
        request_of: Callable[[SdkContext], Request],
        shared: SharedSubscriptions | None = None,
    ) -> None:
        self._core = core
        self._request_of = request_of
        self._shared = shared
        self._watcher = ResourceWatcher(offering.find_fingerprint)
        self._connections: set[int] = set()  # with watches that end with them

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
        request, uri, session = self._request_of(ctx), str(params.uri), ctx.session
        if self._shared is not None and request.session:
            with _refusing(ctx):
                await self._shared.subscribe(
                    request.session, uri, CallsOfClient(self._core, request)
                )
            return {}
        # the session of a context belongs to one request, its connection to the client
        connection = session._connection
        if id(connection) not in self._connections:
            self._connections.add(id(connection))
            connection.exit_stack.callback(self._forget_connection, id(connection))
        await self._watch(ctx, id(connection), uri, lambda: session.send_resource_updated(uri))
        return {}

    async def _unsubscribe(self, ctx: SdkContext, params: Any) -> JsonObject:
        request, uri = self._request_of(ctx), str(params.uri)
        if self._shared is not None and request.session:
            await self._shared.unsubscribe(request.session, uri)
        else:
            self._watcher.forget(id(ctx.session._connection), uri)
        return {}

    def _forget_connection(self, owner: int) -> None:
        self._connections.discard(owner)
        self._watcher.forget(owner)

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
        with _refusing(ctx):
            await self._watcher.watch(
                owner, uri, CallsOfClient(self._core, self._request_of(ctx)), notify
            )


@contextlib.contextmanager
def _refusing(ctx: SdkContext) -> Iterator[None]:
    """Turn our errors into those of the protocol."""
    from mcp.shared.exceptions import MCPError

    try:
        yield
    except CommonplaceError as error:
        refused = protocol_error(error, stateless=ctx.protocol_version == STATELESS_VERSION)
        raise MCPError(refused.code, refused.message, refused.data) from None
