"""Serving stdin and stdout: stdout carries protocol only, and the process ends with its client."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import sys
from collections.abc import Awaitable, Callable

from commonplace.edge.core import Core
from commonplace.edge.product import Product
from commonplace.edge.stdio.line_writer import LineWriter, is_watchable
from commonplace.edge.stdio.session import ClientSession

READ_BYTES = 64 * 1024  # the size of a pipe; a larger buffer is mapped again for every read

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
    writer = await LineWriter.open(write_fd, ended.set)
    session = ClientSession(Core(product), await _open_reader(read_fd), writer, ended)
    with contextlib.suppress(NotImplementedError):  # Windows
        # as if the input had ended: calls that began are answered
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, session.end_input)
    await session.run()


async def _open_reader(read_fd: int) -> Callable[[], Awaitable[bytes]]:
    """Return a reader: on the event loop for pipes and sockets, in a thread for other files."""
    if not is_watchable(read_fd):

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
