"""One socket as a stream of bytes in and lines out."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

from commonplace.edge.stdio.line_writer import Flow

READ_BYTES = 64 * 1024


class SocketProtocol(Flow, asyncio.Protocol):
    """Hands what arrives to a reader, and tells when more can be sent."""

    def __init__(self, on_broken: Callable[[], None]) -> None:
        super().__init__(on_broken)
        self.reader = asyncio.StreamReader(limit=READ_BYTES)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.reader.set_transport(transport)

    def data_received(self, data: bytes) -> None:
        self.reader.feed_data(data)

    def eof_received(self) -> bool:
        self.reader.feed_eof()
        return True  # answers can still be sent

    def connection_lost(self, exc: Exception | None) -> None:
        self.reader.feed_eof()
        super().connection_lost(exc)


class SocketStream:
    """Reading of a connection; its writing goes through `transport`, guarded by `flow`."""

    def __init__(self, transport: asyncio.Transport, flow: SocketProtocol) -> None:
        self.transport = transport
        self.flow = flow
        self._held = b""

    @classmethod
    async def open(cls, connection: socket.socket, on_broken: Callable[[], None]) -> SocketStream:
        """Return the stream of an accepted connection."""
        connection.setblocking(False)
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.connect_accepted_socket(
            lambda: SocketProtocol(on_broken), connection
        )
        return cls(transport, protocol)

    async def read(self) -> bytes:
        """Return what arrived; empty at the end."""
        if self._held:
            held, self._held = self._held, b""
            return held
        return await self.flow.reader.read(READ_BYTES)

    async def read_first_line(self, most: int) -> bytes:
        """Return the first line with its newline; what follows stays.

        A beginning of `most` bytes without a newline is returned as it is.
        """
        data = b""
        while b"\n" not in data and len(data) < most:
            part = await self.flow.reader.read(READ_BYTES)
            if not part:
                break
            data += part
        end = data.find(b"\n") + 1 or len(data)
        self._held = data[end:]
        return data[:end]

    def put_back(self, data: bytes) -> None:
        """Let `read` return these bytes first."""
        self._held = data + self._held
