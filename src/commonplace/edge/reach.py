"""From where an HTTP server may be reached: which Host it answers to, and which pages of browsers may call it."""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from commonplace.edge.authenticate import is_loopback

if TYPE_CHECKING:
    from starlette.types import Message, Send

PREFLIGHT_SECONDS = 600
EXPOSED = b"Mcp-Session-Id, WWW-Authenticate, Retry-After"  # what a client in a browser needs to read besides the body
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """How the server may be reached. Empty `allowed_hosts` means any Host, for servers behind keys and a proxy."""

    allowed_hosts: tuple[str, ...] = LOOPBACK_HOSTS
    allowed_origins: tuple[str, ...] = ()
    routes: Sequence[BaseRoute] = ()
    on_stop: Sequence[Callable[[], Awaitable[None]]] = ()


def hosts_of(bound: str, configured: tuple[str, ...]) -> tuple[str, ...]:
    """The names a server that binds `bound` answers to: its own beside the configured ones. Empty: any."""
    if is_loopback(bound):
        return tuple(dict.fromkeys((*LOOPBACK_HOSTS, _as_host(bound), *configured)))
    if not configured or _every_address(bound):
        return configured
    return (_as_host(bound), *configured)


def refusal(headers: Mapping[str, str], options: HttpOptions) -> Response | None:
    """DNS rebinding and foreign pages stop here."""
    host = headers.get("host", "")
    if options.allowed_hosts and not _answers_to(host, options.allowed_hosts):
        return JSONResponse({"error": "This server does not answer to that Host."}, status_code=421)
    origin = headers.get("origin")
    if origin is not None and origin not in options.allowed_origins:
        scheme, _, rest = origin.partition("://")
        same = scheme in ("http", "https") and (rest == host or (bool(options.allowed_hosts) and _answers_to(rest, options.allowed_hosts)))
        if not same:
            return JSONResponse({"error": "This Origin may not call this server."}, status_code=403)
    return None


def shared(headers: Mapping[str, str], options: HttpOptions, send: Send) -> Send:
    """The same `send`, which lets a page of a configured origin read the answer (CORS). Nothing for any other."""
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


def preflight(method: str, headers: Mapping[str, str], options: HttpOptions, methods: str) -> Response | None:
    """The answer to a browser that asks beforehand. It brings no key, so this comes before authentication.

    Any header may be sent: what it means is judged when it comes, and clients may name parameters in theirs."""
    if method != "OPTIONS" or headers.get("origin") not in options.allowed_origins or "access-control-request-method" not in headers:
        return None
    answer = {"Access-Control-Allow-Methods": methods, "Access-Control-Max-Age": str(PREFLIGHT_SECONDS)}
    asked = headers.get("access-control-request-headers")
    if asked:
        answer["Access-Control-Allow-Headers"] = asked
    return Response(status_code=204, headers=answer)


def _answers_to(host: str, allowed: tuple[str, ...]) -> bool:
    name = _host_name(host)
    return any(_matches(name, pattern.lower()) for pattern in allowed)


def _matches(name: str, pattern: str) -> bool:
    """`*.example.org` is every name below example.org: neither itself nor one that only ends alike."""
    if pattern.startswith("*."):
        return name.endswith(pattern[1:]) and len(name) > len(pattern) - 1
    return name == pattern


def _host_name(host: str) -> str:
    """A Host header without its port, in the one case that names are compared in."""
    if host.startswith("["):
        return host.partition("]")[0].lower() + "]"
    return host.partition(":")[0].lower()


def _as_host(bound: str) -> str:
    return f"[{bound.lower()}]" if ":" in bound else bound.lower()


def _every_address(bound: str) -> bool:
    """0.0.0.0 and :: are no names that a client could ask for."""
    try:
        return ipaddress.ip_address(bound).is_unspecified
    except ValueError:
        return not bound
