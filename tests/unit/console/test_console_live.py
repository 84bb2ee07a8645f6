"""Server-sent events: what is sent when, and how a stream ends."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import pytest
from starlette.requests import Request
from starlette.responses import StreamingResponse

from commonplace.console.errors import SignedOut
from commonplace.console.live import format_event, stream_parts
from commonplace.console.page import ConsoleParts, Page


def page_with(stopping: asyncio.Event, method: str = "GET") -> Page:
    parts = ConsoleParts(cast(Any, None), cast(Any, None), "1", lambda scheme: False, stopping)
    request = Request({"type": "http", "method": method, "headers": [], "path": "/console/live/x"})
    return Page(request, cast(Any, None), parts)


async def collect(answers: list[Mapping[str, str] | Exception]) -> list[str]:
    """Return the events of a stream whose parts are rendered to these answers, then stopped."""
    stopping = asyncio.Event()

    async def render() -> Mapping[str, str]:
        answer = answers.pop(0)
        if not answers:
            stopping.set()
        if isinstance(answer, Exception):
            raise answer
        return answer

    response = stream_parts(page_with(stopping), render, interval=0.001)
    assert isinstance(response, StreamingResponse)
    return [str(event) async for event in response.body_iterator]


def test_a_part_is_sent_when_it_has_changed() -> None:
    events = asyncio.run(
        collect([{"a": "1", "b": "x"}, {"a": "1", "b": "x"}, {"a": "2", "b": "x"}])
    )
    assert events == [
        "retry: 1000\nid: 1\n\n",
        "event: a\ndata: 1\n\n",
        "event: b\ndata: x\n\n",
        ": alive\n\n",
        "event: a\ndata: 2\n\n",
    ]


def test_a_person_who_is_signed_out_is_told() -> None:
    events = asyncio.run(collect([{"a": "1"}, SignedOut(), {}]))
    assert events[-1] == "event: signed-out\ndata: \n\n"


def test_lines_of_a_part_become_lines_of_data() -> None:
    assert format_event("a", "<p>\nx</p>") == "event: a\ndata: <p>\ndata: x</p>\n\n"


def test_a_carriage_return_does_not_begin_another_field() -> None:
    hostile = "a\revent: signed-out\r\nb\r"
    assert format_event("x", hostile) == (
        "event: x\ndata: a\ndata: event: signed-out\ndata: b\ndata: \n\n"
    )


def test_a_stream_ends_soon_after_the_server_stops() -> None:
    async def run() -> None:
        stopping = asyncio.Event()

        async def render() -> Mapping[str, str]:
            return {}

        response = stream_parts(page_with(stopping), render, interval=60)
        assert isinstance(response, StreamingResponse)
        events = response.body_iterator.__aiter__()
        await anext(events)
        await anext(events)
        asyncio.get_running_loop().call_soon(stopping.set)
        with pytest.raises(StopAsyncIteration):
            await asyncio.wait_for(anext(events), 5)

    asyncio.run(run())


def test_head_asks_only_whether_somebody_is_signed_in() -> None:
    async def render() -> Mapping[str, str]:
        raise AssertionError("rendered")

    answer = stream_parts(page_with(asyncio.Event(), "HEAD"), render)
    assert not isinstance(answer, StreamingResponse)
    assert answer.status_code == 200
