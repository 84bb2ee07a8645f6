"""What happens to a request before its endpoint: a chain of named steps.

The first step that answers ends the request. Steps are plain functions that return what the next
one returns, so that a chain costs no coroutine per step.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from starlette.responses import Response

from commonplace.dispatch.registry import Selection
from commonplace.edge.http.body import SlowBody
from commonplace.edge.http.reach import HttpOptions, answer_preflight, refuse_reach, share_answer
from commonplace.edge.http.responses import message_refused, unauthorized, unsupported_media_type
from commonplace.edge.intake import MessageRefused
from commonplace.edge.product import Product
from commonplace.edge.request import Request
from commonplace.kernel.auth import CONSOLE_HEADER
from commonplace.kernel.errors import CommonplaceError

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

MAX_ADDRESS = 64  # a proxy may forward any text
ROUTING_HEADERS = frozenset({"mcp-protocol-version", "mcp-method", "mcp-name"})


class RequestHead(NamedTuple):
    """A request before its sender is known."""

    scope: Scope
    method: str
    headers: Mapping[str, str]
    ambiguous: bool


Handler = Callable[[RequestHead, "Receive", "Send"], Awaitable[None]]
Endpoint = Callable[[Request, "Scope", "Receive", "Send"], Awaitable[None]]


class Chain:
    """An ASGI application: the steps around an endpoint. Headers are read once, here."""

    def __init__(self, first: Handler) -> None:
        self._first = first

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        return self._first(head_of(scope), receive, send)


def mcp_chain(product: Product, options: HttpOptions, endpoint: Endpoint) -> Chain:
    """Return /mcp: POST, GET and DELETE of Streamable HTTP."""
    handler = authenticate(product, answer_refused_bodies(endpoint))
    handler = preflight(options, "GET, POST, DELETE", handler)
    return Chain(share_with_origins(options, check_reach(options, handler)))


def rpc_chain(product: Product, options: HttpOptions, endpoint: Endpoint) -> Chain:
    """Return an endpoint for POST of one JSON body: /rpc, and plain endpoints."""
    handler = authenticate(product, require_json(answer_refused_bodies(endpoint)))
    handler = preflight(options, "POST", allow_method("POST", handler))
    return Chain(share_with_origins(options, check_reach(options, handler)))


def share_with_origins(options: HttpOptions, handler: Handler) -> Handler:
    """Let pages of configured origins read the answer (CORS)."""

    def step(head: RequestHead, receive: Receive, send: Send) -> Awaitable[None]:
        return handler(head, receive, share_answer(head.headers, options, send))

    return step


def check_reach(options: HttpOptions, handler: Handler) -> Handler:
    """Refuse a foreign Host (DNS rebinding) and pages of foreign origins."""

    def step(head: RequestHead, receive: Receive, send: Send) -> Awaitable[None]:
        refused = refuse_reach(head.headers, options, head.scope.get("scheme", "http"))
        if refused is not None:
            return refused(head.scope, receive, send)
        return handler(head, receive, send)

    return step


def preflight(options: HttpOptions, methods: str, handler: Handler) -> Handler:
    """Answer the preflight of a browser, which brings no key."""

    def step(head: RequestHead, receive: Receive, send: Send) -> Awaitable[None]:
        answer = answer_preflight(head.method, head.headers, options, methods)
        if answer is not None:
            return answer(head.scope, receive, send)
        return handler(head, receive, send)

    return step


def allow_method(method: str, handler: Handler) -> Handler:
    """Refuse all other methods."""

    def step(head: RequestHead, receive: Receive, send: Send) -> Awaitable[None]:
        if head.method == method:
            return handler(head, receive, send)
        return Response(status_code=405, headers={"Allow": method})(head.scope, receive, send)

    return step


def authenticate(product: Product, endpoint: Endpoint) -> Handler:
    """Determine the caller and what the request may reach."""

    def step(head: RequestHead, receive: Receive, send: Send) -> Awaitable[None]:
        try:
            client = head.scope.get("client")
            caller = product.authenticate(head.headers, client[0][:MAX_ADDRESS] if client else None)
        except CommonplaceError as error:
            return unauthorized(error)(head.scope, receive, send)
        selection, read_only = requested_selection(head.headers, product.selection)
        if CONSOLE_HEADER not in head.headers:  # else a person, who signed in to a console
            caller = replace(caller, agent=True)
        request = Request(caller, selection, read_only, head.headers, head.ambiguous)
        return endpoint(request, head.scope, receive, send)

    return step


def require_json(endpoint: Endpoint) -> Endpoint:
    """Refuse bodies that a foreign page could send without a preflight (CSRF)."""

    def step(request: Request, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if request.is_json:
            return endpoint(request, scope, receive, send)
        return unsupported_media_type()(scope, receive, send)

    return step


def answer_refused_bodies(endpoint: Endpoint) -> Endpoint:
    """Answer for an endpoint whose request has a body that is not taken in."""

    async def step(request: Request, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await endpoint(request, scope, receive, send)
        except MessageRefused as refused:
            await message_refused(refused)(scope, receive, send)
        except SlowBody:
            await Response(status_code=408)(scope, receive, send)

    return step


def head_of(scope: Scope) -> RequestHead:
    """Read headers: names in lower case, the last value wins, X-MCP-* lists are joined."""
    headers: dict[str, str] = {}
    ambiguous = False
    for name, value in scope["headers"]:
        key = name.decode("latin-1")
        text = value.decode("latin-1").strip(" \t")  # httptools leaves optional whitespace on
        if key in headers:
            ambiguous = ambiguous or key in ROUTING_HEADERS
            if key.startswith("x-mcp-"):
                text = f"{headers[key]},{text}"
        headers[key] = text
    return RequestHead(scope, scope["method"], headers, ambiguous)


def requested_selection(headers: Mapping[str, str], served: Selection) -> tuple[Selection, bool]:
    """Apply the X-MCP-* headers to what the server offers, and say whether they forbid changes.

    They narrow what the request lists and may call, and never widen it.
    """
    toolsets, tools = _names(headers.get("x-mcp-toolsets")), _names(headers.get("x-mcp-tools"))
    exclude = _names(headers.get("x-mcp-exclude-tools")) or frozenset()
    read_only = "x-mcp-readonly" in headers and any(
        value.strip().lower() in ("1", "true", "yes", "on")
        for value in headers["x-mcp-readonly"].split(",")
    )
    if toolsets is None and tools is None:
        if not exclude and not read_only:
            return served, False
        narrowed = replace(
            served, exclude=served.exclude | exclude, read_only=served.read_only or read_only
        )
        return narrowed, read_only
    # a named tool may be an extended one
    within = replace(served, all_tiers=True)
    narrowed = Selection(
        toolsets, tools, exclude, read_only, served.all_tiers, served.renamed, within
    )
    return narrowed, read_only


def _names(value: str | None) -> frozenset[str] | None:
    if value is None:
        return None
    return frozenset(name.strip() for name in value.split(",") if name.strip())
