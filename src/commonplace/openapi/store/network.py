"""The network connections of a call: deadline, cancellation and name resolution."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

from commonplace.kernel.errors import CommonplaceError
from commonplace.openapi.errors import FETCH_FAILED

MAX_RESOLVERS = 16
_resolvers = threading.BoundedSemaphore(MAX_RESOLVERS)


class CallNetwork:
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
    def close_after(self, deadline: float) -> Iterator[None]:
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

    def remaining_seconds(self, deadline: float, url: str) -> float:
        """Return the seconds until the deadline; raise FETCH_FAILED if it has passed."""
        seconds = deadline - time.monotonic()
        if seconds <= 0 or self._cancelled.is_set():
            raise make_fetch_error(url, "it took too long", retryable=True)
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


def resolve_host(host: str, port: int, url: str, seconds: float) -> list[str]:
    """Return the IP addresses of a host.

    The resolver of the system has its own timeout, so it runs in a thread that may be abandoned.
    """
    if not _resolvers.acquire(timeout=seconds):
        raise make_fetch_error(url, "too many host names are being resolved", retryable=True)
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
        raise make_fetch_error(url, "its host name was not resolved in time", retryable=True)
    if failure:
        raise make_fetch_error(url, "the host is unknown") from None
    return addresses


def describe_url(url: str) -> str:
    """Return a URL for messages, without credentials and query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"[
        :200
    ]


def make_fetch_error(url: str, why: str, *, retryable: bool = False) -> CommonplaceError:
    """Return FETCH_FAILED with a reason."""
    hint = (
        "Try again, or pass the document as content."
        if retryable
        else "Check the URL, or pass the document as content."
    )
    return CommonplaceError(
        FETCH_FAILED,
        f"{describe_url(url)} could not be fetched: {why[:200]}.",
        hint=hint,
        retryable=retryable,
    )
