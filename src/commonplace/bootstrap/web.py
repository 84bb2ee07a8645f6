"""The product over HTTP: how it may be reached, and the routes beside /mcp and /rpc."""

from __future__ import annotations

import functools
import ipaddress
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec

from starlette.routing import BaseRoute

from commonplace.bootstrap.app import App
from commonplace.bootstrap.team import on_postgres, team_sessions
from commonplace.console.caller import Answer, Caller, InProcess
from commonplace.console.graph_route import graph_route
from commonplace.console.mount import Console, console_routes
from commonplace.console.session import Gate
from commonplace.edge.authenticate import check_bind
from commonplace.edge.http.connections import ConnectionLimits
from commonplace.edge.http.draining import Draining
from commonplace.edge.http.middleware import requested_selection
from commonplace.edge.http.operations import host_check, operation_routes
from commonplace.edge.http.reach import HttpOptions, hosts_of, is_https, make_reach_check
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import JsonObject


def http_options(app: App, host: str) -> HttpOptions:
    """Return the options of a server on this host, with its routes beside /mcp and /rpc.

    Raises where everyone could reach a server without keys.
    """
    auth, server, product = app.settings.auth, app.settings.server, app.product
    check_bind(host, auth)
    options = HttpOptions(
        auth.resource_url,
        hosts_of(host, server.allowed_hosts),
        server.allowed_origins,
        connections=ConnectionLimits.of(app.settings),
        draining=Draining(server.drain_seconds),
        sessions=team_sessions(app.services) if on_postgres(app.settings) else None,
        plain={"/context": "context"},
    )
    routes = operation_routes(
        auth,
        product.authenticate,
        app.services.metrics,
        product.version,
        host_check(options),
        [ipaddress.ip_network(text, strict=False) for text in server.metrics_addresses],
    )
    options = replace(options, routes=(*routes, _graph_route(app, options)))
    return _with_console(app, options) if find_spec("jinja2") is not None else options


def _graph_route(app: App, options: HttpOptions) -> BaseRoute:
    """GET /api/graph/mermaid, with the permissions of the key in the request."""

    async def export(headers: Mapping[str, str], arguments: JsonObject) -> Answer:
        product = app.product
        try:
            selection, _ = requested_selection(headers, product.selection)
            caller = InProcess(app.pipeline, lambda: product.authenticate(headers), selection)
        except CommonplaceError as refused:
            return Answer(None, refused.as_dict())
        return await caller.call("graph_export", arguments)

    return graph_route(export, make_reach_check(options))


def _with_console(app: App, options: HttpOptions) -> HttpOptions:
    """Add the console at /console; its pages are imported when somebody opens it."""
    product, pipeline, auth = app.product, app.pipeline, app.settings.auth

    def call_with(key: str, address: str | None) -> Caller:
        headers = {"authorization": f"Bearer {key}"}
        return InProcess(pipeline, lambda: product.authenticate(headers, address))

    def open_session(address: str | None) -> Caller:
        return InProcess(pipeline, lambda: product.authenticate({}, address))

    gate = Gate(
        call_with,
        call_with,
        lambda purpose: app.services.server_secret.derive(purpose),
        open_session if auth.mode == "none" else None,
        functools.partial(is_https, public_url=auth.resource_url),
    )
    console = Console(gate, product.version)
    return replace(
        options,
        routes=(*options.routes, *console_routes(console, make_reach_check(options))),
        on_stop=(*options.on_stop, console.close),
    )
