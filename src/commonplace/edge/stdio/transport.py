"""Serving stdin and stdout: stdout carries protocol only, and the process ends with its client."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import stat
import sys
from collections.abc import Awaitable, Callable

from commonplace.edge.core import Core
from commonplace.edge.product import Product
from commonplace.edge.stdio.connection import Connection
from commonplace.edge.stdio.framing import LineReader

READ_BYTES = 64 * 1024  # the size of a pipe; a larger buffer is mapped again for every read
GRACE_SECONDS = 10.0
HIGH_WATER_BYTES = 4 * 1024 * 1024
SEND_BYTES = 64 * 1024  # the size of a pipe: the client reads while we go on

Beside = Callable[[], contextlib.AbstractAsyncContextManager[object]]


def serve(product: Product, beside: Beside = contextlib.nullcontext) -> int:
    """Serve until the client leaves or sends exit; return the exit code.

    `beside` runs on the same event loop meanwhile: the listener of the dashboard.
    """
    read_fd, write_fd = _take_streams()
    try:
        asyncio.run(_serve(product, read_fd, write_fd, beside))
    except KeyboardInterrupt:
        return 130
    return 0


def _take_streams() -> tuple[int, int]:
    """Take the descriptors of the protocol; a stray print goes to stderr, a stray read ends."""
    read_fd = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3)
    write_fd = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 3)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return read_fd, write_fd


async def _serve(product: Product, read_fd: int, write_fd: int, beside: Beside) -> None:
    async with beside():
        await _serve_client(product, read_fd, write_fd)


async def _serve_client(product: Product, read_fd: int, write_fd: int) -> None:
    ended = asyncio.Event()
    writer = await _Writer.open(write_fd, ended.set)
    core = Core(product)
    connection = Connection(core, writer.send, ended.set)
    pump = asyncio.create_task(_pump(read_fd, LineReader(core, connection), connection, writer))
    waiter = asyncio.create_task(ended.wait())
    with contextlib.suppress(NotImplementedError):  # Windows
        # as if the input had ended: calls that began are answered
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, pump.cancel)
    await asyncio.wait({pump, waiter}, return_when=asyncio.FIRST_COMPLETED)
    exited = ended.is_set()
    for task in (pump, waiter):
        task.cancel()
    await asyncio.gather(pump, waiter, return_exceptions=True)
    await connection.drain(0.5 if exited else GRACE_SECONDS)
    await writer.close()


async def _pump(read_fd: int, lines: LineReader, connection: Connection, writer: _Writer) -> None:
    read = await _open_reader(read_fd)
    while data := await read():
        lines.feed(data)
        writer.flush()
        if lines.is_waiting:
            await lines.decode_waiting()
        if connection.calls.is_full:
            await connection.calls.wait_for_room()
        await writer.wait_until_writable()
    lines.finish()
    await lines.decode_waiting()
    writer.flush()


async def _open_reader(read_fd: int) -> Callable[[], Awaitable[bytes]]:
    """Return a reader: on the event loop for pipes and sockets, in a thread for other files."""
    if not _is_watchable(read_fd):

        async def read_file() -> bytes:
            return await asyncio.to_thread(os.read, read_fd, READ_BYTES)

        return read_file
    reader = asyncio.StreamReader(limit=READ_BYTES)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read_fd, "rb", 0)
    )
    transport.max_size = READ_BYTES  # type: ignore[attr-defined]

    async def read_pipe() -> bytes:
        return await reader.read(READ_BYTES)

    return read_pipe


def _is_watchable(fd: int) -> bool:
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(fd)


class _Writer:
    """Writes whole lines: the answers of one read together, up to the size of a pipe.

    A broken pipe ends the connection.
    """

    def __init__(self, fd: int, on_broken: Callable[[], None]) -> None:
        self._fd = fd
        self._on_broken = on_broken
        self._lines: list[bytes] = []
        self._waiting_bytes = 0
        self._transport: asyncio.WriteTransport | None = None
        self._flow = _Flow(on_broken)
        self._scheduled = False

    @classmethod
    async def open(cls, fd: int, on_broken: Callable[[], None]) -> _Writer:
        writer = cls(fd, on_broken)
        if _is_watchable(fd):
            loop = asyncio.get_running_loop()
            transport, _ = await loop.connect_write_pipe(
                lambda: writer._flow, os.fdopen(fd, "wb", 0)
            )
            transport.set_write_buffer_limits(high=HIGH_WATER_BYTES)
            writer._transport = transport
        return writer

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


class _Flow(asyncio.BaseProtocol):
    """Tells when the pipe takes more, and when it has closed."""

    def __init__(self, on_broken: Callable[[], None]) -> None:
        self._on_broken = on_broken
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
        self._on_broken()
