"""Fetching of documents by URL, with checks of scheme, address, redirects, size and time."""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import SplitResult, urljoin, urlsplit

from commonplace.kernel.errors import CommonplaceError
from commonplace.openapi.errors import FETCH_FAILED, SPEC_NOT_FOUND, SPEC_TOO_LARGE, URL_NOT_ALLOWED

MAX_REDIRECTS = 5
RESOLVERS = 16
_resolvers = threading.BoundedSemaphore(RESOLVERS)
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_UNICAST = ipaddress.IPv6Network("2000::/3")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_NAT64_LOCAL = ipaddress.IPv6Network("64:ff9b:1::/48")
_TRANSLATED = ipaddress.IPv6Network("::ffff:0:0:0/96")
_NOT_PUBLIC = tuple(
    ipaddress.ip_network(network)
    for network in (
        "192.0.0.0/24",
        "192.88.99.0/24",
        "2001::/23",
        "2002::/16",
        "3fff::/20",
    )  # newer than the tables of Python, or tunnels
)
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class UrlRules:
    """Rules about which URLs may be fetched.

    `local`: the caller is the user of this machine and may use its networks.
    """

    local: bool = False
    # Exact host, host:port or .suffix; these skip the check of the address.
    allow_hosts: tuple[str, ...] = ()
    timeout_seconds: float = 20.0

    def listed(self, parts: SplitResult) -> bool:
        """Tell whether the host of a URL is in `allow_hosts`."""
        host = (parts.hostname or "").lower()
        for entry in self.allow_hosts:
            wanted = entry.lower()
            if (
                host == wanted
                or f"{host}:{parts.port}" == wanted
                or (wanted.startswith(".") and host.endswith(wanted))
            ):
                return True
        return False

    def admits(self, address: Address) -> bool:
        """Tell whether an IP address may be used; link-local ones serve cloud credentials."""
        inner = _find_embedded(address)
        if inner is not None and (not self.admits(inner) or _is_translation(address)):
            return self.admits(inner)
        if address.is_link_local or address.is_multicast or address.is_unspecified:
            return False
        return self.local or _is_public(address)


def _is_public(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address) and address not in _UNICAST:
        return False
    return (
        address.is_global
        and not address.is_reserved
        and not any(address in network for network in _NOT_PUBLIC)
    )


def _is_translation(address: Address) -> bool:
    """Tell whether an IPv6 address only stands for an IPv4 one, where the packets go."""
    return isinstance(address, ipaddress.IPv6Address) and (
        address.ipv4_mapped is not None or address in _NAT64
    )


def _find_embedded(address: Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address inside an IPv6 address that may lead to it.

    Covers mapped, NAT64, 6to4, Teredo, ISATAP and compatible addresses.
    """
    if not isinstance(address, ipaddress.IPv6Address):
        return None
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    low = int(address) & 0xFFFFFFFF
    isatap = (int(address) >> 32) & 0xFCFFFFFF == 0x00005EFE
    carries = address in _NAT64 or address in _NAT64_LOCAL or address in _TRANSLATED or isatap
    compatible = int(address) >> 32 == 0 and low > 0xFFFF  # not ::1 and ::
    return ipaddress.IPv4Address(low) if carries or compatible else None


class Network:
    """The network connections of one call, with a deadline and a way to cancel them."""

    def __init__(self, seconds: float, fetch_seconds: float | None = None) -> None:
        self._ends = time.monotonic() + seconds
        self._fetch_seconds = fetch_seconds if fetch_seconds is not None else seconds
        self._lock = threading.Lock()
        self._links: set[socket.socket] = set()
        self._cancelled = threading.Event()

    def deadline(self) -> float:
        """Return when a fetch that begins now must end, by the monotonic clock."""
        return min(self._ends, time.monotonic() + self._fetch_seconds)

    @contextlib.contextmanager
    def ending(self, deadline: float) -> Iterator[None]:
        """Close every connection made inside the block once the deadline has passed."""
        timer = threading.Timer(max(0.0, deadline - time.monotonic()), self._break)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def cancel(self) -> None:
        """Close all connections now."""
        self._cancelled.set()
        self._break()

    def left(self, deadline: float, url: str) -> float:
        """Return the seconds until the deadline; raise FETCH_FAILED if it has passed."""
        seconds = deadline - time.monotonic()
        if seconds <= 0 or self._cancelled.is_set():
            raise _make_fetch_error(url, "it took too long", retryable=True)
        return seconds

    def watch(self, link: socket.socket) -> None:
        """Include a connection in `cancel` and the deadline."""
        with self._lock:
            self._links.add(link)
        if self._cancelled.is_set():
            self._break()

    def forget(self, link: socket.socket) -> None:
        """Stop watching a connection."""
        with self._lock:
            self._links.discard(link)

    def _break(self) -> None:
        with self._lock:
            links = tuple(self._links)
        for link in links:
            with contextlib.suppress(OSError):
                # Wakes a thread that reads from it, also below TLS.
                socket.socket.shutdown(link, socket.SHUT_RDWR)


def fetch(
    url: str, rules: UrlRules, limit_bytes: int, network: Network | None = None
) -> tuple[bytes, str]:
    """Return the bytes at a URL and the URL they came from, after at most five redirects.

    One deadline covers everything: name resolution, connecting, headers and body.
    """
    network = network or Network(rules.timeout_seconds)
    deadline = network.deadline()
    with network.ending(deadline):
        for _ in range(MAX_REDIRECTS + 1):
            parts, address = _check(url, rules, network, deadline)
            connection = _connect(parts, address, network, deadline, url)
            try:
                response = _request(connection, parts, url)
                network.left(deadline, url)
                if response.status in _REDIRECTS:
                    location = response.getheader("Location")
                    if not location:
                        raise _make_fetch_error(url, f"status {response.status} without a Location")
                    url = urljoin(url, location)
                    continue
                _check_status(response.status, url)
                content = _read(response, url, limit_bytes, network, deadline)
                return decode_content(
                    content, response.getheader("Content-Encoding") or "", url, limit_bytes
                ), url
            except (OSError, http.client.HTTPException) as error:
                network.left(deadline, url)
                raise _make_fetch_error(
                    url, str(error) or type(error).__name__, retryable=True
                ) from None
            finally:
                if connection.sock is not None:
                    network.forget(connection.sock)
                connection.close()
    raise _make_fetch_error(url, f"more than {MAX_REDIRECTS} redirects")


def _check_status(status: int, url: str) -> None:
    if status in (404, 410):
        raise CommonplaceError(
            SPEC_NOT_FOUND, f"{_describe_url(url)} answered {status}.", hint="Check the URL."
        )
    if status != 200:
        raise _make_fetch_error(url, f"status {status}", retryable=status >= 500 or status == 429)


def _check(url: str, rules: UrlRules, network: Network, deadline: float) -> tuple[SplitResult, str]:
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
    for address in _resolve_host(parts.hostname, port, url, network.left(deadline, url)):
        if rules.listed(parts) or rules.admits(ipaddress.ip_address(address.split("%", 1)[0])):
            return parts, address
    raise CommonplaceError(
        URL_NOT_ALLOWED,
        f"{parts.hostname} is in a private or local network, which this server does not fetch.",
        hint="Pass the document as content, or ask the operator to add the host to the allow list.",
        details={"host": parts.hostname},
    )


def _resolve_host(host: str, port: int, url: str, seconds: float) -> list[str]:
    """Return the IP addresses of a host.

    The resolver of the system has its own timeout, so it runs in a thread that may be abandoned.
    """
    if not _resolvers.acquire(timeout=seconds):
        raise _make_fetch_error(url, "too many host names are being resolved", retryable=True)
    addresses: list[str] = []
    failure: list[Exception] = []
    done = threading.Event()

    def look_up() -> None:
        try:
            addresses.extend(
                str(entry[4][0])
                for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            )
        except (OSError, UnicodeError) as error:
            failure.append(error)
        finally:
            _resolvers.release()
            done.set()

    threading.Thread(target=look_up, name="openapi-resolve", daemon=True).start()
    if not done.wait(seconds):
        raise _make_fetch_error(url, "its host name was not resolved in time", retryable=True)
    if failure:
        raise _make_fetch_error(url, "the host is unknown") from None
    return addresses


def _connect(
    parts: SplitResult, address: str, network: Network, deadline: float, url: str
) -> http.client.HTTPConnection:
    secure = parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    left = network.left(deadline, url)
    raw: socket.socket | None = None
    try:
        raw = socket.create_connection((address, port), timeout=min(left, 10.0))
        raw.settimeout(network.left(deadline, url))
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
        network.left(deadline, url)
        raise _make_fetch_error(url, str(error), retryable=True) from None
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
    network: Network,
    deadline: float,
) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while True:
        chunk = response.read1(1 << 18)
        # A connection that was closed at the deadline looks like the end of the document.
        network.left(deadline, url)
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
            raise _make_fetch_error(url, f"its content encoding {encoding[:20]!r} is not supported")
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
                raise _make_fetch_error(
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


def _describe_url(url: str) -> str:
    """Return a URL for messages, without credentials and query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"[
        :200
    ]


def _make_fetch_error(url: str, why: str, *, retryable: bool = False) -> CommonplaceError:
    hint = (
        "Try again, or pass the document as content."
        if retryable
        else "Check the URL, or pass the document as content."
    )
    return CommonplaceError(
        FETCH_FAILED,
        f"{_describe_url(url)} could not be fetched: {why[:200]}.",
        hint=hint,
        retryable=retryable,
    )
