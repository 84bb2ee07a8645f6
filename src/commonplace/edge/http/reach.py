"""Reach of an HTTP server: which Host it answers to, and which pages of browsers may call it."""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from commonplace.edge.authenticate import is_loopback
from commonplace.edge.http.connections import ConnectionLimits
from commonplace.edge.http.draining import Draining
from commonplace.edge.sessions.directory import SessionDirectory

if TYPE_CHECKING:
    from starlette.types import Message, Send

PREFLIGHT_SECONDS = 600
# what a client in a browser needs to read besides the body
EXPOSED = b"Mcp-Session-Id, WWW-Authenticate, Retry-After"
DEFAULT_PORTS = {"http": 80, "https": 443}
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")

StopCallback = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """How the server may be reached.

    Empty `allowed_hosts` means any Host, for servers behind keys and a proxy. `public_url` is the
    address that clients use if a proxy is in front of the server. `on_stop` is called when the
    server begins to stop, before it waits for open requests. `plain` has the tools with an address
    of their own, by path.
    """

    public_url: str = ""
    allowed_hosts: tuple[str, ...] = LOOPBACK_HOSTS
    allowed_origins: tuple[str, ...] = ()
    routes: Sequence[BaseRoute] = ()
    connections: ConnectionLimits = field(default_factory=ConnectionLimits)
    on_stop: Sequence[StopCallback] = ()
    draining: Draining = field(default_factory=Draining)
    sessions: SessionDirectory | None = None  # shared by the servers of a team
    plain: Mapping[str, str] = field(default_factory=dict)


def hosts_of(bound: str, configured: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names that a server bound to `bound` answers to; empty means any."""
    if is_loopback(bound):
        return tuple(dict.fromkeys((*LOOPBACK_HOSTS, _as_host(bound), *configured)))
    if not configured or _is_unspecified(bound):
        return configured
    return (_as_host(bound), *configured)


def refuse_reach(
    headers: Mapping[str, str], options: HttpOptions, scheme: str = "http"
) -> Response | None:
    """Refuse DNS rebinding and pages of foreign origins; None lets a request pass.

    `scheme` is that of the request, as the ASGI server or a trusted proxy reports it.
    """
    host = headers.get("host", "")
    if options.allowed_hosts and not _answers_to(host, options.allowed_hosts):
        return JSONResponse({"error": "This server does not answer to that Host."}, status_code=421)
    origin = headers.get("origin")
    if (
        origin is not None
        and origin not in options.allowed_origins
        and not _is_own_origin(origin, host, scheme, options.public_url)
    ):
        message = (
            "This Origin may not call this server. List it in settings.server.allowed_origins "
            "if it should."
        )
        return JSONResponse({"error": message}, status_code=403)
    return None


def make_reach_check(options: HttpOptions) -> Callable[[Mapping[str, str], str], Response | None]:
    """Return the check of headers and scheme, for routes of other modules."""
    return lambda headers, scheme: refuse_reach(headers, options, scheme)


def is_https(scheme: str, public_url: str) -> bool:
    """Tell whether browsers reach this server over TLS."""
    return scheme in ("https", "wss") or public_url.lower().startswith("https://")


def _is_own_origin(origin: str, host: str, scheme: str, public_url: str) -> bool:
    """Tell whether an origin is this server's own: same scheme, host and port."""
    if public_url and _origin_of(public_url) == _origin_of(origin):
        return True
    own_scheme = {"ws": "http", "wss": "https"}.get(scheme, scheme)
    page, own = _origin_of(origin), _origin_of(f"{own_scheme}://{host}")
    if page is None or own is None:
        return False
    return page == own or (
        page[0] == own[0]
        and page[2] == own[2]
        and page[1] in LOOPBACK_HOSTS
        and own[1] in LOOPBACK_HOSTS
    )


def _origin_of(address: str) -> tuple[str, str, int] | None:
    """Return scheme, host and port of an HTTP address, or None."""
    try:
        parts = urlsplit(address)
        port = parts.port or DEFAULT_PORTS[parts.scheme]
    except (ValueError, KeyError):
        return None
    return (
        (parts.scheme, _host_name(parts.netloc), port)
        if parts.hostname and "@" not in parts.netloc
        else None
    )


def share_answer(headers: Mapping[str, str], options: HttpOptions, send: Send) -> Send:
    """Return a `send` that lets pages of configured origins read the answer (CORS)."""
    origin = headers.get("origin")
    if origin is None or origin not in options.allowed_origins:
        return send
    allowed = [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", EXPOSED),
        (b"vary", b"Origin"),
    ]

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *allowed]}
        await send(message)

    return sending


def answer_preflight(
    method: str, headers: Mapping[str, str], options: HttpOptions, methods: str
) -> Response | None:
    """Answer a preflight of a configured origin; None where the request is none.

    It brings no key, so this comes before authentication. Every header is allowed, because clients
    may name parameters in theirs.
    """
    if (
        method != "OPTIONS"
        or headers.get("origin") not in options.allowed_origins
        or "access-control-request-method" not in headers
    ):
        return None
    answer = {
        "Access-Control-Allow-Methods": methods,
        "Access-Control-Max-Age": str(PREFLIGHT_SECONDS),
    }
    asked = headers.get("access-control-request-headers")
    if asked:
        answer["Access-Control-Allow-Headers"] = asked
    return Response(status_code=204, headers=answer)


def _answers_to(host: str, allowed: tuple[str, ...]) -> bool:
    name = _host_name(host)
    return any(_matches(name, pattern.lower()) for pattern in allowed)


def _matches(name: str, pattern: str) -> bool:
    """Match a name; `*.example.org` is every name below example.org, but not itself."""
    if pattern.startswith("*."):
        return name.endswith(pattern[1:]) and len(name) > len(pattern) - 1
    return name == pattern


def _host_name(host: str) -> str:
    """Return a Host header in lower case, without its port."""
    if host.startswith("["):
        return host.partition("]")[0].lower() + "]"
    return host.partition(":")[0].lower()


def _as_host(bound: str) -> str:
    return f"[{bound.lower()}]" if ":" in bound else bound.lower()


def _is_unspecified(bound: str) -> bool:
    """Tell whether this is 0.0.0.0 or ::, which no client asks for."""
    try:
        return ipaddress.ip_address(bound).is_unspecified
    except ValueError:
        return not bound
