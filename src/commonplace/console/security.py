"""What browsers may do with the console's pages, and which requests may change something."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from starlette.types import Message, Scope, Send

ROOT = "/console"
HOME = f"{ROOT}/"
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; frame-src 'self'; manifest-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'; object-src 'none'"
)
# Mermaid writes <style> elements, so it runs in a sandboxed frame without access to the page.
FRAME_SECURITY_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'self'; "
    "style-src 'self' 'unsafe-inline'; img-src data:; font-src 'self'; "
    "frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
)
COMMON_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)


def add_security_headers(send: Send) -> Send:
    """Return a `send` that adds the headers which a response does not set itself."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", ()))
            names = {name.lower() for name, _ in headers}
            headers += [pair for pair in COMMON_HEADERS if pair[0] not in names]
            if b"content-security-policy" not in names:
                headers.append((b"content-security-policy", CONTENT_SECURITY_POLICY.encode()))
                headers.append((b"x-frame-options", b"DENY"))
            if b"cache-control" not in names:
                headers.append((b"cache-control", b"private, no-cache"))
            message = {**message, "headers": headers}
        await send(message)

    return send_with_headers


def is_same_token(expected: str, sent: str) -> bool:
    """Compare two CSRF tokens in constant time."""
    return bool(expected) and hmac.compare_digest(expected.encode(), sent.encode())


def safe_destination(wanted: str) -> str:
    """Return an address of this console to go to after sign-in; the first page if unsure."""
    path = unquote(wanted.partition("?")[0])
    both = wanted + path  # as sent, and as a browser might decode it
    if (
        not both.isprintable()
        or "//" in both
        or "\\" in both
        or {".", ".."} & set(path.split("/"))
        or not wanted.startswith(HOME)
    ):
        return HOME
    return HOME if path.rstrip("/") in (f"{ROOT}/login", f"{ROOT}/logout") else wanted


def login_address(wanted: str) -> str:
    """Return the address of the sign-in page that leads to `wanted` afterwards."""
    target = safe_destination(wanted)
    return f"{ROOT}/login" + ("" if target == HOME else f"?next={quote(target, safe='/')}")


def address_of(scope: Scope | Mapping[str, object]) -> str:
    """Return path and query of a request."""
    query = bytes(scope.get("query_string", b"")).decode("latin-1")  # type: ignore[arg-type]
    return quote(str(scope["path"])) + (f"?{query}" if query else "")
