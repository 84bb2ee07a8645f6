"""The calls of a connection that are under way."""

from __future__ import annotations

import asyncio

from commonplace.edge.stdio.in_flight import CallsInFlight


async def forever() -> None:
    await asyncio.Event().wait()


def test_reading_pauses_at_the_limit_and_resumes_after_a_call() -> None:
    async def scenario() -> None:
        calls, release = CallsInFlight(2, lambda: 0), asyncio.Event()

        async def wait() -> None:
            await release.wait()

        calls.start(wait(), 1)
        assert not calls.is_full
        calls.start(wait(), 2)
        assert calls.is_full
        release.set()
        await asyncio.wait_for(calls.wait_for_room(), 5)
        assert not calls.is_full

    asyncio.run(scenario())


def test_requests_of_the_sdk_count_too() -> None:
    async def scenario() -> None:
        forwarded = 1
        calls = CallsInFlight(2, lambda: forwarded)
        task = calls.start(forever(), 1)
        assert calls.is_full
        forwarded = 0
        calls.update_room()
        await asyncio.wait_for(calls.wait_for_room(), 5)
        task.cancel()

    asyncio.run(scenario())


def test_a_call_is_cancelled_by_its_id_only() -> None:
    async def scenario() -> None:
        calls = CallsInFlight(9, lambda: 0)
        task = calls.start(forever(), "a")
        assert not calls.cancel("b")
        assert calls.cancel("a")
        await asyncio.wait({task}, timeout=5)
        assert task.cancelled()
        assert not calls.cancel("a")

    asyncio.run(scenario())


def test_draining_cancels_what_does_not_end_in_time() -> None:
    async def scenario() -> None:
        calls = CallsInFlight(9, lambda: 0)
        task = calls.start(forever(), 1)
        await calls.drain(0.01)
        assert task.cancelled()

    asyncio.run(scenario())
