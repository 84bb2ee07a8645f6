"""Writing of whole lines to a client, with flow control."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
from collections.abc import Callable

HIGH_WATER_BYTES = 4 * 1024 * 1024
SEND_BYTES = 64 * 1024  # the size of a pipe: the client reads while we go on


def is_watchable(fd: int) -> bool:
    """Tell whether an event loop can wait for a descriptor."""
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(fd)


class LineWriter:
    """Writes whole lines: the answers of one read together, up to the size of a pipe.

    A broken pipe ends the connection.
    """

    def __init__(self, fd: int, on_broken: Callable[[], None]) -> None:
        self._fd = fd
        self._on_broken = on_broken
        self._lines: list[bytes] = []
        self._waiting_bytes = 0
        self._transport: asyncio.WriteTransport | None = None
        self._flow = Flow(on_broken)
        self._scheduled = False

    @classmethod
    async def open(cls, fd: int, on_broken: Callable[[], None]) -> LineWriter:
        writer = cls(fd, on_broken)
        if is_watchable(fd):
            loop = asyncio.get_running_loop()
            transport, _ = await loop.connect_write_pipe(
                lambda: writer._flow, os.fdopen(fd, "wb", 0)
            )
            writer._use(transport)
        return writer

    @classmethod
    def over(cls, transport: asyncio.WriteTransport, flow: Flow) -> LineWriter:
        """Return a writer on a transport whose protocol tells `flow` of its state."""
        writer = cls(-1, flow.on_broken)
        writer._flow = flow
        writer._use(transport)
        return writer

    def _use(self, transport: asyncio.WriteTransport) -> None:
        transport.set_write_buffer_limits(high=HIGH_WATER_BYTES)
        self._transport = transport

    def send(self, line: bytes) -> None:
        self._lines.append(line)
        self._waiting_bytes += len(line)
        if self._waiting_bytes >= SEND_BYTES:
            self.flush()
        elif not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._flush_soon)

    def flush(self) -> None:
        if not self._lines:
            return
        self._waiting_bytes = 0
        self._lines.append(b"")
        data = b"\n".join(self._lines)
        self._lines.clear()
        if self._transport is not None:
            self._transport.write(data)
        else:
            self._write_file(data)

    def _flush_soon(self) -> None:
        self._scheduled = False
        self.flush()

    def _write_file(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self._fd, data) :]
        except OSError:
            self._on_broken()

    async def wait_until_writable(self) -> None:
        await self._flow.writable.wait()

    async def close(self) -> None:
        self.flush()
        if self._transport is not None:
            self._transport.close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(5):
                    await self._flow.closed.wait()


class Flow(asyncio.BaseProtocol):
    """Tells when the pipe takes more, and when it has closed."""

    def __init__(self, on_broken: Callable[[], None]) -> None:
        self.on_broken = on_broken
        self.writable = asyncio.Event()
        self.writable.set()
        self.closed = asyncio.Event()

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.writable.set()
        self.closed.set()
        self.on_broken()
