"""Recent events are bounded by number and by size."""

from __future__ import annotations

import asyncio

from mcp.types import JSONRPCResponse

from commonplace.edge.sdk.events import RecentEvents, SessionEventStore, StreamEvent


def answer(number: int, characters: int) -> JSONRPCResponse:
    return JSONRPCResponse(
        jsonrpc="2.0", id=number, result={"content": [{"type": "text", "text": "x" * characters}]}
    )


def replayed(events: RecentEvents, count: int, characters: int) -> int:
    """How many of so many events can still be asked for."""

    store = SessionEventStore(events, "session")

    async def run() -> int:
        ids = [
            await store.store_event("stream", answer(number, characters)) for number in range(count)
        ]
        known = 0
        for event_id in ids:

            async def send(event: object) -> None:
                return None

            known += await store.replay_events_after(event_id, send) is not None
        return known

    return asyncio.run(run())


def test_the_number_of_events_is_bounded() -> None:
    assert replayed(RecentEvents(max_events=20), 50, 10) == 20


def test_large_events_are_bounded_by_their_size() -> None:
    assert 5 <= replayed(RecentEvents(max_bytes=1_000_000), 50, 150_000) <= 6


def test_the_newest_event_is_kept_whatever_its_size() -> None:
    assert replayed(RecentEvents(max_bytes=1_000), 3, 150_000) == 1


def test_a_session_never_receives_the_events_of_another() -> None:
    events = RecentEvents()
    ours, theirs = SessionEventStore(events, "ours"), SessionEventStore(events, "theirs")
    sent: list[StreamEvent] = []

    async def send(event: StreamEvent) -> None:
        sent.append(event)

    async def run() -> str | None:
        first = await ours.store_event("1", None)
        await theirs.store_event("1", answer(1, 10))
        second = await ours.store_event("1", answer(2, 10))
        assert await ours.replay_events_after(first, send) == "1"
        assert [event.event_id for event in sent] == [second]
        return await theirs.replay_events_after(first, send)

    assert asyncio.run(run()) is None
    assert len(sent) == 1
