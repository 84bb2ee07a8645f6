"""Fetching of documents by URL, with checks of scheme, address, redirects, size and time."""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import zlib
from urllib.parse import SplitResult, urljoin, urlsplit

from commonplace.kernel.errors import CommonplaceError
from commonplace.openapi.errors import SPEC_NOT_FOUND, SPEC_TOO_LARGE, URL_NOT_ALLOWED
from commonplace.openapi.store.network import (
    CallNetwork,
    describe_url,
    make_fetch_error,
    resolve_host,
)
from commonplace.openapi.store.url_rules import UrlRules

MAX_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


def fetch(
    url: str, rules: UrlRules, limit_bytes: int, network: CallNetwork | None = None
) -> tuple[bytes, str]:
    """Return the bytes at a URL and the URL they came from, after at most five redirects.

    One deadline covers everything: name resolution, connecting, headers and body.
    """
    network = network or CallNetwork(rules.timeout_seconds)
    deadline = network.deadline()
    with network.close_after(deadline):
        for _ in range(MAX_REDIRECTS + 1):
            parts, address = _check(url, rules, network, deadline)
            connection = _connect(parts, address, network, deadline, url)
            try:
                response = _request(connection, parts, url)
                network.remaining_seconds(deadline, url)
                if response.status in _REDIRECTS:
                    location = response.getheader("Location")
                    if not location:
                        raise make_fetch_error(url, f"status {response.status} without a Location")
                    url = urljoin(url, location)
                    continue
                _check_status(response.status, url)
                content = _read(response, url, limit_bytes, network, deadline)
                return decode_content(
                    content, response.getheader("Content-Encoding") or "", url, limit_bytes
                ), url
            except (OSError, http.client.HTTPException) as error:
                network.remaining_seconds(deadline, url)
                raise make_fetch_error(
                    url, str(error) or type(error).__name__, retryable=True
                ) from None
            finally:
                if connection.sock is not None:
                    network.forget(connection.sock)
                connection.close()
    raise make_fetch_error(url, f"more than {MAX_REDIRECTS} redirects")


def _check_status(status: int, url: str) -> None:
    if status in (404, 410):
        raise CommonplaceError(
            SPEC_NOT_FOUND, f"{describe_url(url)} answered {status}.", hint="Check the URL."
        )
    if status != 200:
        raise make_fetch_error(url, f"status {status}", retryable=status >= 500 or status == 429)


def _check(
    url: str, rules: UrlRules, network: CallNetwork, deadline: float
) -> tuple[SplitResult, str]:
    """Return the parts of a URL and the IP address that was checked, to connect to.

    Connecting by name would allow DNS to change in between.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        raise CommonplaceError(
            URL_NOT_ALLOWED, "The value is not a URL.", hint="Pass http://... or https://..."
        ) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        scheme = parts.scheme[:20] if parts.scheme not in ("http", "https") else ""
        message = (
            f"Only http and https URLs are fetched, not {scheme!r}."
            if scheme
            else "The URL has no host."
        )
        raise CommonplaceError(
            URL_NOT_ALLOWED, message, hint="Pass http://... or https://..., or a path as `file`."
        )
    if any(ord(character) <= 32 or ord(character) == 127 for character in url):
        raise CommonplaceError(
            URL_NOT_ALLOWED,
            "The URL contains spaces or control characters.",
            hint="Percent-encode them.",
        )
    for address in resolve_host(
        parts.hostname, port, url, network.remaining_seconds(deadline, url)
    ):
        if rules.allows_host(parts) or rules.admits(ipaddress.ip_address(address.split("%", 1)[0])):
            return parts, address
    raise CommonplaceError(
        URL_NOT_ALLOWED,
        f"{parts.hostname} is in a private or local network, which this server does not fetch.",
        hint="Pass the document as content, or ask the operator to add the host to the allow list.",
        details={"host": parts.hostname},
    )


def _connect(
    parts: SplitResult, address: str, network: CallNetwork, deadline: float, url: str
) -> http.client.HTTPConnection:
    secure = parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    left = network.remaining_seconds(deadline, url)
    raw: socket.socket | None = None
    try:
        raw = socket.create_connection((address, port), timeout=min(left, 10.0))
        raw.settimeout(network.remaining_seconds(deadline, url))
        if secure:
            raw = ssl.create_default_context().wrap_socket(
                raw, server_hostname=parts.hostname, do_handshake_on_connect=False
            )
        network.watch(raw)
        if isinstance(raw, ssl.SSLSocket):
            raw.do_handshake()
    except (OSError, ssl.SSLError, CommonplaceError) as error:
        if raw is not None:
            network.forget(raw)
            raw.close()
        network.remaining_seconds(deadline, url)
        raise make_fetch_error(url, str(error), retryable=True) from None
    connection = http.client.HTTPConnection(parts.hostname or "", port, timeout=left)
    connection.sock = raw
    return connection


def _request(
    connection: http.client.HTTPConnection, parts: SplitResult, url: str
) -> http.client.HTTPResponse:
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    accept = "application/vnd.oai.openapi+json, application/json, application/yaml, text/yaml, */*"
    host = parts.netloc.rsplit("@", 1)[-1]
    try:
        connection.request(
            "GET",
            target,
            headers={
                "Host": host,
                "Accept": accept,
                "User-Agent": "commonplace",
                "Accept-Encoding": "identity",
            },
        )
    except (ValueError, UnicodeError):
        raise CommonplaceError(
            URL_NOT_ALLOWED,
            "The URL contains characters that cannot be sent.",
            hint="Percent-encode it.",
        ) from None
    return connection.getresponse()


def _read(
    response: http.client.HTTPResponse,
    url: str,
    limit_bytes: int,
    network: CallNetwork,
    deadline: float,
) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while True:
        chunk = response.read1(1 << 18)
        # A connection that was closed at the deadline looks like the end of the document.
        network.remaining_seconds(deadline, url)
        if not chunk:
            return b"".join(chunks)
        size += len(chunk)
        if size > limit_bytes:
            raise CommonplaceError(
                SPEC_TOO_LARGE,
                f"The document is larger than {limit_bytes} bytes.",
                details={"limit_bytes": limit_bytes},
            )
        chunks.append(chunk)


def decode_content(content: bytes, encodings: str, url: str, limit_bytes: int) -> bytes:
    """Decode the Content-Encoding of a body; the size is bounded while it expands."""
    for encoding in reversed(
        [name.strip().lower() for name in encodings.split(",") if name.strip()]
    ):
        if encoding in ("identity", ""):
            continue
        if encoding not in ("gzip", "x-gzip", "deflate"):
            raise make_fetch_error(url, f"its content encoding {encoding[:20]!r} is not supported")
        content = _inflate(content, url, limit_bytes, gzip=encoding != "deflate")
    return content


def _inflate(content: bytes, url: str, limit_bytes: int, *, gzip: bool) -> bytes:
    # By RFC 9110 deflate means zlib, but some servers send the bare stream.
    formats = (16 + zlib.MAX_WBITS,) if gzip else (zlib.MAX_WBITS, -zlib.MAX_WBITS)
    for number, window in enumerate(formats, start=1):
        parts: list[bytes] = []
        left, rest = limit_bytes + 1, content
        try:
            while rest and left > 0:  # gzip allows several members
                stream = zlib.decompressobj(window)
                parts.append(stream.decompress(rest, left))
                left -= len(parts[-1])
                if not stream.eof and left > 0:
                    raise zlib.error("it ends too early")
                rest = stream.unused_data if gzip else b""
        except zlib.error:
            if number == len(formats):
                raise make_fetch_error(
                    url, "its content encoding is broken", retryable=True
                ) from None
            continue
        if left <= 0:
            raise CommonplaceError(
                SPEC_TOO_LARGE,
                f"The document is larger than {limit_bytes} bytes.",
                details={"limit_bytes": limit_bytes},
            )
        return b"".join(parts)
    return content
