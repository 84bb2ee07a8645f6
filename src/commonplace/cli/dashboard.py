"""`MCP_DASHBOARD=1`: the console of a stdio server, on its own HTTP listener."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from commonplace.kernel.errors import CommonplaceError

if TYPE_CHECKING:
    from commonplace.bootstrap.app import App
    from commonplace.kernel.auth import AuthContext


def serve_with_dashboard(app: App) -> int:
    """Serve stdio, and the dashboard if a port is free; the stdio client never depends on it."""
    from commonplace.bootstrap.web import http_options
    from commonplace.edge.http.listen import address_of, bind, serve_beside
    from commonplace.edge.stdio.transport import serve as serve_stdio

    dashboard = app.settings.dashboard
    beside = app_over_http(app, os.environ)
    options = http_options(beside, dashboard.host)
    try:
        listener = bind(dashboard.host, dashboard.port, dashboard.tries)
    except CommonplaceError as busy:
        sys.stderr.write(
            f"dashboard: not started. {busy.message} Set MCP_DASHBOARD_PORT or "
            f"MCP_DASHBOARD_TRIES.\n"
        )
        return serve_stdio(app.product)
    sys.stderr.write(f"dashboard: http://{address_of(listener)}/console\n")
    return serve_stdio(app.product, lambda: serve_beside(beside.product, options, listener))


def app_over_http(app: App, environ: Mapping[str, str]) -> App:
    """Return the application for HTTP callers: no more rights than stdio, no local files."""
    from commonplace.dispatch.registry import Registry
    from commonplace.openapi.toolset import toolset as openapi_toolset

    remote = openapi_toolset(lambda: app.services.openapi_over_http)
    registry = Registry(
        remote if toolset.name == remote.name else toolset for toolset in app.registry.toolsets
    )
    pipeline = app.pipeline.with_registry(registry)

    def authenticate(headers: Mapping[str, str], address: str | None = None) -> AuthContext:
        return app.authenticator.beside_stdio(headers, environ, address)

    return replace(
        app,
        registry=registry,
        pipeline=pipeline,
        product=replace(app.product, pipeline=pipeline, authenticate=authenticate),
    )
