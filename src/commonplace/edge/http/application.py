"""The ASGI application: /mcp, /rpc, plain endpoints, the probes of machines, and other routes."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from commonplace.edge.core import Core
from commonplace.edge.http.draining import Draining
from commonplace.edge.http.mcp import McpEndpoint
from commonplace.edge.http.middleware import mcp_chain, rpc_chain
from commonplace.edge.http.plain import PlainEndpoint
from commonplace.edge.http.reach import HttpOptions
from commonplace.edge.http.rpc import RpcEndpoint
from commonplace.edge.http.sdk_host import SdkHost
from commonplace.edge.product import Product
from commonplace.kernel.errors import SHUTTING_DOWN, CommonplaceError


def build_app(product: Product, options: HttpOptions | None = None) -> Starlette:
    """Build the application. The console and other extras are added through `options.routes`."""
    options = options or HttpOptions()
    core, body_seconds = Core(product), options.connections.body_seconds
    sdk = SdkHost(core, options.sessions)
    mcp = mcp_chain(product, options, McpEndpoint(core, sdk, body_seconds, options.sessions))
    rpc = rpc_chain(product, options, RpcEndpoint(core, body_seconds))

    plain = [
        Route(
            path,
            endpoint=rpc_chain(product, options, PlainEndpoint(core, tool, body_seconds)),
            methods=["POST", "OPTIONS"],
        )
        for path, tool in options.plain.items()
    ]

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await sdk.close()

    async def healthz(request: HttpRequest) -> Response:
        return JSONResponse({"status": "ok", "version": product.version})

    return Starlette(
        routes=[
            Route("/mcp", endpoint=mcp),
            Route("/rpc", endpoint=rpc, methods=["POST", "OPTIONS"]),
            *plain,
            Route("/healthz", healthz),
            Route("/readyz", _readyz(product, options.draining)),
            *options.routes,
        ],
        lifespan=lifespan,
    )


def _readyz(product: Product, draining: Draining) -> Callable[[HttpRequest], Awaitable[Response]]:
    async def readyz(request: HttpRequest) -> Response:
        draining.note_probe()
        try:
            if draining.begun:
                raise CommonplaceError(
                    SHUTTING_DOWN,
                    "The server is stopping.",
                    hint="Send new calls to another server.",
                    retryable=True,
                )
            report = await product.ready() if product.ready is not None else {}
        except CommonplaceError as error:
            return JSONResponse(
                {"status": "unavailable", "error": error.as_dict()}, status_code=503
            )
        return JSONResponse({"status": "ready", **report})

    return readyz
