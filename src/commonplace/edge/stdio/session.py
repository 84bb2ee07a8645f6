"""The session of one client on one duplex byte stream, from its first line to its last answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from commonplace.edge.core import Core
from commonplace.edge.stdio.connection import Connection
from commonplace.edge.stdio.framing import LineReader
from commonplace.edge.stdio.line_writer import LineWriter
from commonplace.kernel.auth import AuthContext

GRACE_SECONDS = 10.0


class ClientSession:
    """Reads lines and answers them until the input ends, the client sends exit or leaves.

    `ended` is set when the output breaks. `caller` is the client; by default the product tells who
    uses its stdin. `name` is the one under which undecoded bytes are counted.
    """

    def __init__(
        self,
        core: Core,
        read: Callable[[], Awaitable[bytes]],
        writer: LineWriter,
        ended: asyncio.Event,
        *,
        caller: AuthContext | None = None,
        name: str = "stdio",
    ) -> None:
        self._read = read
        self._writer = writer
        self._ended = ended
        self._connection = Connection(core, writer.send, ended.set, caller)
        self._lines = LineReader(core, self._connection, name)
        self._pump = asyncio.get_running_loop().create_task(self._read_lines())

    def end_input(self) -> None:
        """Stop reading; calls that began are answered."""
        self._pump.cancel()

    async def run(self) -> None:
        """Return when the session has ended and its answers are written."""
        waiter = asyncio.create_task(self._ended.wait())
        await asyncio.wait({self._pump, waiter}, return_when=asyncio.FIRST_COMPLETED)
        exited = self._ended.is_set()
        for task in (self._pump, waiter):
            task.cancel()
        await asyncio.gather(self._pump, waiter, return_exceptions=True)
        await self._connection.drain(0.5 if exited else GRACE_SECONDS)
        await self._writer.close()

    async def _read_lines(self) -> None:
        lines, writer, calls = self._lines, self._writer, self._connection.calls
        while data := await self._read():
            lines.feed(data)
            writer.flush()
            if lines.is_waiting:
                await lines.decode_waiting()
            if calls.is_full:
                await calls.wait_for_room()
            await writer.wait_until_writable()
        lines.finish()
        await lines.decode_waiting()
        writer.flush()
