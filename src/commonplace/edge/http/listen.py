"""Serving the HTTP application on a socket, in the foreground or beside stdio."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from types import FrameType

import uvicorn

from commonplace.edge.http.application import build_app
from commonplace.edge.http.connections import GuardedProtocol, guarded_protocol
from commonplace.edge.http.reach import HttpOptions, StopCallback
from commonplace.edge.product import Product
from commonplace.kernel.errors import INVALID_CONFIG, CommonplaceError

STOP_SECONDS = 10
PROXY_SECONDS = 10  # a proxy should close its idle connections sooner
LOOK_SECONDS = 0.05
BACKLOG = 2048


def serve_http(
    product: Product, options: HttpOptions, host: str, port: int, announce: Callable[[str], None]
) -> int:
    """Serve until a signal; return the exit code.

    `announce` is called with the address once the socket listens.
    """
    server = _Graceful(_config(product, options), options)
    with server.capture_signals():  # from before the socket listens: a signal then is not fatal
        listener = bind(host, port)
        announce(address_of(listener))
        server.run(sockets=[listener])
    return 0


@contextlib.asynccontextmanager
async def serve_beside(
    product: Product, options: HttpOptions, listener: socket.socket
) -> AsyncIterator[None]:
    """Serve on the running event loop while the caller does something else."""
    server = _Guest(_config(product, options), options.on_stop)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield
    finally:
        server.should_exit = True
        await asyncio.wait({task}, timeout=STOP_SECONDS + 1)


class StoppingServer(uvicorn.Server):
    """Calls `on_stop` before it waits for open requests: streams end only when they are told."""

    def __init__(self, config: uvicorn.Config, on_stop: Sequence[StopCallback]) -> None:
        super().__init__(config)
        self._on_stop = on_stop

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for stop in self._on_stop:
            await stop()
        await super().shutdown(sockets)


class _Graceful(StoppingServer):
    """Stops by a signal and returns, so that the caller can close what it opened.

    SIGTERM first reports the server as not ready, and stops it when probes could have noticed. A
    second one, or SIGINT, stops it at once.
    """

    def __init__(self, config: uvicorn.Config, options: HttpOptions) -> None:
        super().__init__(config, options.on_stop)
        self._draining = options.draining
        self._limits = options.connections

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if sig == signal.SIGTERM and not self._draining.begun:
            self._draining.begin()
            if not self._draining.over:
                return
        super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        if self._draining.over:
            self.should_exit = True
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._draining.begun and self._limits.trusted_proxies:
            await self._leave_proxies(sockets or [])
        await super().shutdown(sockets)

    async def _leave_proxies(self, sockets: list[socket.socket]) -> None:
        """Stop listening, and let proxies close their idle connections.

        A proxy cannot repeat a POST that it sent on a connection while the server closed it. It
        can choose another server if a connection is refused.
        """
        loop = asyncio.get_running_loop()
        waiting = accept_waiting(sockets)
        for server in self.servers:
            server.close()
        self.server_state.default_headers.append((b"connection", b"close"))
        for connection in waiting:
            await loop.connect_accepted_socket(self._new_protocol, connection)
        give_up_at = loop.time() + PROXY_SECONDS
        # polled, as uvicorn itself waits for connections
        while (  # noqa: ASYNC110
            self._has_idle_proxy() and loop.time() < give_up_at and not self.force_exit
        ):
            await asyncio.sleep(LOOK_SECONDS)

    def _new_protocol(self) -> asyncio.Protocol:
        made: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return made

    def _has_idle_proxy(self) -> bool:
        return any(
            isinstance(connection, GuardedProtocol) and connection.is_idle_proxy
            for connection in self.server_state.connections
        )

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {
            number: signal.signal(number, self.handle_exit)
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class _Guest(StoppingServer):
    """Runs beside stdio, which handles the signals."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def accept_waiting(listeners: Sequence[socket.socket]) -> list[socket.socket]:
    """Accept the connections that clients have opened and the server has not taken yet.

    Closing a listener would reset them.
    """
    accepted: list[socket.socket] = []
    for listener in listeners:
        listener.setblocking(False)
        with contextlib.suppress(OSError):  # there are no more
            while True:
                connection, _ = listener.accept()
                connection.setblocking(False)
                accepted.append(connection)
    return accepted


def bind(host: str, port: int, tries: int = 1) -> socket.socket:
    """Return a listening socket, on one of `tries` ports. Raises INVALID_CONFIG."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in range(port, port + (tries if port else 1)):
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, candidate))
            listener.listen(BACKLOG)
            listener.set_inheritable(True)
            return listener
        except OSError as error:
            listener.close()
            if error.errno != errno.EADDRINUSE or candidate == port + tries - 1:
                raise CommonplaceError(
                    INVALID_CONFIG,
                    f"Cannot listen on {host}:{candidate}: {error.strerror or error}.",
                    hint="Choose another port, or stop what listens there.",
                ) from error
    raise AssertionError("unreachable: the last attempt raises")


def address_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _config(product: Product, options: HttpOptions) -> uvicorn.Config:
    return uvicorn.Config(
        build_app(product, options),
        log_level="warning",
        access_log=False,
        server_header=False,
        http=guarded_protocol(options.connections),
        timeout_keep_alive=round(options.connections.idle_seconds),
        timeout_graceful_shutdown=STOP_SECONDS,
        lifespan="on",
        # None: uvicorn trusts this machine, or what FORWARDED_ALLOW_IPS names
        forwarded_allow_ips=[str(network) for network in options.connections.trusted_proxies]
        or None,
    )
