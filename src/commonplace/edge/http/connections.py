"""Limits of connections: how many, and timeouts for headers, bodies and slow readers.

An open stream is not idle: no timer runs while a response is sent and its reader keeps up.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from commonplace.kernel.settings import Settings

MAX_HEADER_BYTES = 64 * 1024
MAX_HEADERS = 200
BODY_GRACE_SECONDS = 5.0  # in which the endpoint itself answers 408
RESERVED_FILES = 128  # descriptors for databases, logs and outgoing connections
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: "
    b"close\r\n\r\n"
)
_LATE = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The number of connections, and the time of each phase of one, in seconds."""

    most: int = 1000
    most_per_address: int = 256
    header_seconds: float = 15.0
    body_seconds: float = 60.0
    idle_seconds: float = 75.0
    trusted_proxies: tuple[Network, ...] = ()

    @classmethod
    def of(cls, settings: Settings) -> ConnectionLimits:
        limits = settings.limits
        return cls(
            _bound_by_open_files(limits.connections),
            limits.connections_per_address,
            limits.header_seconds,
            limits.body_seconds,
            limits.idle_seconds,
            tuple(
                ipaddress.ip_network(text, strict=False) for text in settings.server.trusted_proxies
            ),
        )

    def is_trusted(self, address: str) -> bool:
        """Tell whether an address is that of a proxy, which many clients share."""
        return is_within(address, self.trusted_proxies)


def is_within(address: str, networks: Sequence[Network]) -> bool:
    """Tell whether an address belongs to one of these networks."""
    if not networks:
        return False
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return any(found in network for network in networks)


def _bound_by_open_files(wanted: int) -> int:
    """Return the wanted number of connections, bounded by the limit of open files."""
    try:
        import resource
    except ImportError:  # Windows
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + RESERVED_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        with contextlib.suppress(ValueError, OSError):
            raised = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return wanted if soft == resource.RLIM_INFINITY else max(8, min(wanted, soft - RESERVED_FILES))


@dataclass(slots=True)
class OpenConnections:
    """The connections of one listener, in all and by address."""

    limits: ConnectionLimits
    total: int = 0
    by_address: Counter[str] = field(default_factory=Counter)

    def admit(self, address: str) -> bool:
        """Count a connection, unless there are too many already."""
        limits = self.limits
        if self.total >= limits.most:
            return False
        if self.by_address[address] >= limits.most_per_address and not limits.is_trusted(address):
            return False
        self.total += 1
        self.by_address[address] += 1
        return True

    def end(self, address: str) -> None:
        self.total -= 1
        self.by_address[address] -= 1
        if self.by_address[address] <= 0:
            del self.by_address[address]


def guarded_protocol(limits: ConnectionLimits) -> type[HttpToolsProtocol]:
    """Return uvicorn's protocol with these limits, for one listener."""
    connections = OpenConnections(limits)

    class Guarded(GuardedProtocol):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(connections, *args, **kwargs)

    return Guarded


class GuardedProtocol(HttpToolsProtocol):
    """One connection with at most one timer: for its header, its body, or a slow reader."""

    def __init__(self, connections: OpenConnections, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._connections = connections
        self._limits = connections.limits
        self._address: str | None = None  # of an admitted connection
        self._timer: asyncio.TimerHandle | None = None
        self._header_bytes = 0
        self._in_header = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        address = self.client[0] if self.client else ""
        if not self._connections.admit(address):
            transport.write(_FULL)
            transport.close()
            return
        self._address = address
        self._arm(self._limits.header_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        self._release()
        super().connection_lost(exc)

    @property
    def is_idle_proxy(self) -> bool:
        """Whether a proxy keeps this connection open for later requests."""
        return (
            (self.cycle is None or self.cycle.response_complete)
            and self._address is not None
            and self._limits.is_trusted(self._address)
            and not self.transport.is_closing()
        )

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._header_bytes = 0
        self._in_header = True
        self._arm(self._limits.header_seconds)

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._count_header(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._count_header(len(name) + len(value))

    def on_headers_complete(self) -> None:
        self._in_header = False
        self._arm(self._limits.body_seconds + BODY_GRACE_SECONDS)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._disarm()
        super().on_message_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._arm(self._limits.idle_seconds)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._disarm()

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection to another protocol; it counts until that one ends."""
        self._disarm()
        super().handle_websocket_upgrade()
        following: Any = self.transport.get_protocol()
        if following is self:
            return
        lost = following.connection_lost

        def connection_lost(exc: Exception | None) -> None:
            self._release()
            lost(exc)

        following.connection_lost = connection_lost

    def _count_header(self, size: int) -> None:
        self._header_bytes += size
        if self._header_bytes > MAX_HEADER_BYTES or len(self.headers) > MAX_HEADERS:
            raise ValueError("the header is too large")  # the parser stops, and uvicorn answers 400

    def _arm(self, seconds: float) -> None:
        self._disarm()
        self._timer = self.loop.call_later(seconds, self._handle_timeout, seconds)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _handle_timeout(self, seconds: float) -> None:
        self._timer = None
        if self.flow.read_paused and not self.flow.write_paused:
            self._arm(seconds)  # the server has paused reading: not the fault of the client
            return
        if self._in_header and not self.transport.is_closing():
            self.transport.write(_LATE)
            self.transport.close()
        else:
            self.transport.abort()

    def _release(self) -> None:
        if self._address is not None:
            self._connections.end(self._address)
            self._address = None
