"""Fetching a document by URL: schemes, addresses, redirects, size and time are checked before and while reading."""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import time
from dataclasses import dataclass
from urllib.parse import SplitResult, urljoin, urlsplit

from commonplace.kernel.errors import CommonplaceError
from commonplace.openapi.errors import FETCH_FAILED, SPEC_NOT_FOUND, SPEC_TOO_LARGE, URL_NOT_ALLOWED

MAX_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class UrlRules:
    """Which addresses may be fetched. `local`: the caller is the person at this machine, so its own networks are theirs."""

    local: bool = False
    allow_hosts: tuple[str, ...] = ()  # exact host, host:port, or .suffix; these skip the address check
    timeout_seconds: float = 20.0

    def listed(self, parts: SplitResult) -> bool:
        host = (parts.hostname or "").lower()
        for entry in self.allow_hosts:
            wanted = entry.lower()
            if host == wanted or f"{host}:{parts.port}" == wanted or (wanted.startswith(".") and host.endswith(wanted)):
                return True
        return False

    def admits(self, address: Address) -> bool:
        """Link-local addresses hold cloud credentials, so nobody reads them by default."""
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        if address.is_link_local or address.is_multicast or address.is_unspecified:
            return False
        if self.local:
            return True
        return address.is_global and not address.is_reserved


def fetch(url: str, rules: UrlRules, limit_bytes: int) -> tuple[bytes, str]:
    """The bytes at an address and the address they came from, after at most five redirects."""
    deadline = time.monotonic() + rules.timeout_seconds
    for _ in range(MAX_REDIRECTS + 1):
        parts, address = _check(url, rules)
        connection = _connect(parts, address, deadline, url)
        try:
            response = _request(connection, parts, url)
            if response.status in _REDIRECTS:
                location = response.getheader("Location")
                if not location:
                    raise _failed(url, f"status {response.status} without a Location")
                url = urljoin(url, location)
                continue
            if response.status in (404, 410):
                raise CommonplaceError(SPEC_NOT_FOUND, f"{_shown(url)} answered {response.status}.", hint="Check the address.")
            if response.status != 200:
                raise _failed(url, f"status {response.status}", retryable=response.status >= 500 or response.status == 429)
            return _read(response, connection, url, limit_bytes, deadline), url
        except (OSError, http.client.HTTPException) as error:
            raise _failed(url, str(error) or type(error).__name__, retryable=True) from None
        finally:
            connection.close()
    raise _failed(url, f"more than {MAX_REDIRECTS} redirects")


def _check(url: str, rules: UrlRules) -> tuple[SplitResult, str]:
    """The parts of an address and the IP to connect to: the one that was checked, so that DNS cannot change in between."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        raise CommonplaceError(URL_NOT_ALLOWED, "The address is not a URL.", hint="Pass http://... or https://...") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        scheme = parts.scheme[:20] if parts.scheme not in ("http", "https") else ""
        message = f"Only http and https addresses are fetched, not {scheme!r}." if scheme else "The address names no host to ask."
        raise CommonplaceError(URL_NOT_ALLOWED, message, hint="Pass http://... or https://..., or a path as `file`.")
    if any(ord(character) <= 32 or ord(character) == 127 for character in url):
        raise CommonplaceError(URL_NOT_ALLOWED, "The address holds spaces or control characters.", hint="Percent-encode them.")
    try:
        found = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise _failed(url, "the host is not known") from None
    for entry in found:
        address = str(entry[4][0])
        if rules.listed(parts) or rules.admits(ipaddress.ip_address(address.split("%", 1)[0])):
            return parts, address
    raise CommonplaceError(
        URL_NOT_ALLOWED,
        f"{parts.hostname} is in a private or local network, which this server does not fetch.",
        hint="Pass the document as content, or let the operator add the host to the allow-list.",
        details={"host": parts.hostname},
    )


def _connect(parts: SplitResult, address: str, deadline: float, url: str) -> http.client.HTTPConnection:
    left = max(0.1, deadline - time.monotonic())
    secure = parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    try:
        raw = socket.create_connection((address, port), timeout=min(left, 10.0))
        if secure:
            raw = ssl.create_default_context().wrap_socket(raw, server_hostname=parts.hostname)
    except (OSError, ssl.SSLError) as error:
        raise _failed(url, str(error), retryable=True) from None
    raw.settimeout(max(0.1, deadline - time.monotonic()))
    connection = http.client.HTTPConnection(parts.hostname or "", port, timeout=left)
    connection.sock = raw
    return connection


def _request(connection: http.client.HTTPConnection, parts: SplitResult, url: str) -> http.client.HTTPResponse:
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    accept = "application/vnd.oai.openapi+json, application/json, application/yaml, text/yaml, */*"
    host = parts.netloc.rsplit("@", 1)[-1]
    try:
        connection.request(
            "GET", target, headers={"Host": host, "Accept": accept, "User-Agent": "commonplace", "Accept-Encoding": "identity"}
        )
    except (ValueError, UnicodeError):
        raise CommonplaceError(URL_NOT_ALLOWED, "The address cannot be sent as it is.", hint="Percent-encode it.") from None
    return connection.getresponse()


def _read(response: http.client.HTTPResponse, connection: http.client.HTTPConnection, url: str, limit_bytes: int, deadline: float) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise _failed(url, "it took too long", retryable=True)
        if connection.sock is not None:
            connection.sock.settimeout(left)
        chunk = response.read1(1 << 18)
        if not chunk:
            return b"".join(chunks)
        size += len(chunk)
        if size > limit_bytes:
            raise CommonplaceError(
                SPEC_TOO_LARGE, f"The document is larger than {limit_bytes} bytes.", details={"limit_bytes": limit_bytes}
            )
        chunks.append(chunk)


def _shown(url: str) -> str:
    """An address without the credentials it may carry."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"[:200]


def _failed(url: str, why: str, *, retryable: bool = False) -> CommonplaceError:
    hint = "Try again, or pass the document as content." if retryable else "Check the address, or pass the document as content."
    return CommonplaceError(FETCH_FAILED, f"{_shown(url)} could not be fetched: {why[:200]}.", hint=hint, retryable=retryable)
