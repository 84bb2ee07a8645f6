"""Routes for operators and for discovery: /metrics and the protected-resource metadata."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from commonplace.edge.authenticate import METADATA_PATH, has_metadata, protected_resource
from commonplace.edge.http.connections import Network, is_within
from commonplace.edge.http.reach import HttpOptions, refuse_reach
from commonplace.edge.http.responses import unauthorized
from commonplace.edge.product import Authenticate
from commonplace.kernel.auth import Scope
from commonplace.kernel.errors import SCOPE_REQUIRED, CommonplaceError
from commonplace.kernel.settings import AuthSettings
from commonplace.telemetry.metrics import Metrics
from commonplace.telemetry.prometheus import render_prometheus

EXPOSITION = "text/plain; version=0.0.4; charset=utf-8"


def operation_routes(
    auth: AuthSettings,
    authenticate: Authenticate,
    metrics: Metrics,
    version: str,
    refuse: Callable[[Request], Response | None],
    metrics_networks: Sequence[Network] = (),
) -> list[BaseRoute]:
    started = time.monotonic()

    def refuse_metrics(request: Request) -> Response | None:
        if request.client is not None and is_within(request.client.host, metrics_networks):
            return None
        refused = refuse(request)
        if refused is not None:
            return refused
        try:
            client = request.client
            caller = authenticate(request.headers, client.host if client is not None else None)
            if not caller.has(Scope.ADMIN):
                raise CommonplaceError(
                    SCOPE_REQUIRED,
                    "Metrics of all tenants need a key with scope admin.",
                    hint="Or list the address of the scraper in settings.server.metrics_addresses.",
                )
        except CommonplaceError as error:
            return unauthorized(error)
        return None

    async def show_metrics(request: Request) -> Response:
        refused = refuse_metrics(request)
        if refused is not None:
            return refused
        gauges: dict[str, float] = {}
        for probe in metrics.probes:
            with contextlib.suppress(
                CommonplaceError
            ):  # a database that is away leaves a gap, not an outage of the metrics
                gauges |= await probe()
        return PlainTextResponse(
            render_prometheus(metrics, version, time.monotonic() - started, gauges),
            media_type=EXPOSITION,
        )

    async def resource_metadata(request: Request) -> Response:
        return JSONResponse(protected_resource(auth), headers={"Access-Control-Allow-Origin": "*"})

    routes: list[BaseRoute] = [Route("/metrics", show_metrics)]
    if has_metadata(auth):
        routes += [
            Route(METADATA_PATH, resource_metadata),
            Route(f"{METADATA_PATH}/mcp", resource_metadata),
        ]
    return routes


def host_check(options: HttpOptions) -> Callable[[Request], Response | None]:
    """Check Host and Origin as /mcp does."""
    return lambda request: refuse_reach(request.headers, options, request.url.scheme)
