"""The HTTP clients of the chaos campaign lose no answer of a server that is well."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter

import httpx
from chaos_clients import HttpClients

SERVERS, TASKS, CALLS = 3, 40, 25
KEEPALIVE_SECONDS = 0.01  # so that connections expire all the time
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer every request of a connection; only the client closes it."""
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
        while head := await reader.readuntil(b"\r\n\r\n"):
            (length,) = [
                int(line.partition(b":")[2])
                for line in head.lower().split(b"\r\n")
                if line.startswith(b"content-length:")
            ]
            await reader.readexactly(length)
            await asyncio.sleep(random.uniform(0, 0.02))
            writer.write(ANSWER)
            await writer.drain()
    writer.close()


async def outcomes(lend: HttpClients) -> Counter[str]:
    """Return the outcomes of many calls at the same time."""
    servers = [await asyncio.start_server(answer, "127.0.0.1", 0) for _ in range(SERVERS)]
    urls = [f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/" for server in servers]
    found: Counter[str] = Counter()

    async def call_often() -> None:
        for _ in range(CALLS):
            try:
                async with lend.borrow() as http:
                    await http.post(random.choice(urls), json={}, timeout=60)
                found["answered"] += 1
            except httpx.HTTPError as failed:
                found[type(failed).__name__] += 1
            await asyncio.sleep(random.uniform(0, 0.03))

    async with lend:
        await asyncio.gather(*(call_often() for _ in range(TASKS)))
    for server in servers:
        server.close()
    return found


def test_no_call_to_a_server_that_is_well_ends_without_an_answer() -> None:
    """With one pool for all calls, about one of twenty ends in a ReadError here."""
    assert asyncio.run(outcomes(HttpClients(KEEPALIVE_SECONDS))) == {"answered": TASKS * CALLS}
