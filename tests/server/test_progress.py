"""Clients hear of the progress of calls above a second, over every transport and era."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from conformance.program import COMMONPLACE, Served, environment, serve_http
from mcp import Client, StdioServerParameters
from transport_clients import TOOLS

TIMEOUT_SECONDS = 90
LARGE = "x" * 100_000  # above what is decoded at once, so that the core answers over HTTP, too
SECONDS = 3.4  # two reports at least, also on a busy machine


class Listener:
    """Keeps the progress of one call."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self.totals: list[float | None] = []
        self.messages: list[str | None] = []

    async def hear(self, progress: float, total: float | None, message: str | None) -> None:
        self.values.append(progress)
        self.totals.append(total)
        self.messages.append(message)

    @property
    def rises(self) -> bool:
        return len(self.values) > 1 and all(a < b for a, b in pairwise(self.values))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve_http(tmp_path_factory.mktemp("progress"), TOOLS) as served:
        yield served


@pytest.fixture(params=["stdio legacy", "stdio 2026-07-28", "http legacy", "http 2026-07-28"])
def connect(request: pytest.FixtureRequest, tmp_path: Path, server: Served) -> Callable[[], Client]:
    """Return a function that makes a client of each transport and era."""
    transport, mode = str(request.param).split(" ")
    stdio = StdioServerParameters(
        command=str(COMMONPLACE), args=["serve"], env=environment(tmp_path, TOOLS)
    )
    return lambda: Client(stdio if transport == "stdio" else server.url, mode=mode, cache=None)


async def wait(client: Client, seconds: float, **arguments: Any) -> Listener:
    listener = Listener()
    answer = await client.call_tool(
        "wait", {"seconds": seconds, **arguments}, progress_callback=listener.hear
    )
    assert answer.structured_content == {"waited": seconds}
    return listener


def test_calls_above_a_second_report_and_quick_ones_do_not(connect: Callable[[], Client]) -> None:
    async def use() -> None:
        async with asyncio.timeout(TIMEOUT_SECONDS), connect() as client:
            begun = time.monotonic()
            quick = await wait(client, 0)
            took = time.monotonic() - begun
            plain, staged, large = await asyncio.gather(
                wait(client, SECONDS),
                wait(client, SECONDS, stages=20),
                wait(client, SECONDS, mark=LARGE),
            )
        assert quick.values == [] or took > 1  # a busy machine makes it a slow call
        assert plain.rises
        assert plain.totals == [None] * len(plain.values)
        assert all(str(message).startswith("wait: ") for message in plain.messages)
        assert staged.rises
        assert staged.totals[0] == 20
        assert "of 20" in str(staged.messages[0])
        assert large.rises

    asyncio.run(use())


def test_a_client_without_a_token_gets_its_answer_only(connect: Callable[[], Client]) -> None:
    async def use() -> None:
        async with asyncio.timeout(TIMEOUT_SECONDS), connect() as client:
            answer = await client.call_tool("wait", {"seconds": 1.2})
            assert answer.structured_content == {"waited": 1.2}

    asyncio.run(use())
