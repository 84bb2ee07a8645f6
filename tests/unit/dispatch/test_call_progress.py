"""Progress of a call rises, and is sent to clients that ask for it in calls above a second."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from commonplace.dispatch.progress import CallProgress
from commonplace.dispatch.tool import ClientChannel


class Client(ClientChannel):
    """Keeps what it hears."""

    wants_progress = True

    def __init__(self, fails: bool = False) -> None:
        self.heard: list[tuple[float, float | None, str | None]] = []
        self.called = asyncio.Event()
        self._fails = fails

    async def progress(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> None:
        self.called.set()
        if self._fails:
            raise ConnectionResetError("the client went away")
        self.heard.append((done, total, message))

    async def log(self, level: str, data: Any, logger: str | None = None) -> None:
        return None

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:
        return None


def notes(progress: CallProgress, count: int) -> list[tuple[float, float | None, str]]:
    """Send and return the next notifications."""
    described = []
    for _ in range(count):
        note = progress.describe()
        asyncio.run(progress.progress(*note))
        described.append(tuple(note))
    return described


def test_without_stages_the_seconds_rise() -> None:
    client = Client()
    described = notes(CallProgress(client, "oas_convert"), 30)
    assert client.heard == described
    assert all(later[0] > earlier[0] for earlier, later in pairwise(described))
    assert described[0][1:] == (None, "oas_convert: 0 s")


def test_a_stage_shows_its_steps_and_its_total() -> None:
    progress = CallProgress(Client(), "instructions_import")
    progress.report("Rules read", 3, 10)
    assert notes(progress, 1) == [(3, 10, "Rules read: 3 of 10")]
    progress.report("Rules read", 9, 10)
    assert notes(progress, 1) == [(9, 10, "Rules read: 9 of 10")]
    progress.report("Lines", 1)
    assert notes(progress, 1)[0][1:] == (None, "Lines: 1")


def test_values_rise_while_a_step_takes_long_and_never_reach_the_next_one() -> None:
    client = Client()
    progress = CallProgress(client, "instructions_import")
    progress.report("Rules read", 3, 10)
    waiting = notes(progress, 200)
    assert waiting[-1][0] < 4
    progress.report("Rules read", 4, 10)
    waiting += notes(progress, 2)
    assert client.heard == waiting
    assert all(later[0] > earlier[0] for earlier, later in pairwise(waiting))


def test_values_rise_when_another_stage_begins_or_all_steps_are_done() -> None:
    client = Client()
    progress = CallProgress(client, "memory_import")
    sent = notes(progress, 2)  # seconds first
    for stage, done, total in (("read", 5, 5), ("read", 5, 5), ("write", 0, 7), ("write", 6, 7)):
        progress.report(stage, done, total)
        sent += notes(progress, 1)
    assert client.heard == sent
    assert all(later[0] > earlier[0] for earlier, later in pairwise(sent))
    assert all(total is None or done < total for done, total, _ in sent)
    assert sent[-1][2] == "write: 6 of 7"


def test_a_value_of_the_handler_is_sent_at_once_unless_it_does_not_rise() -> None:
    async def use() -> None:
        client = Client()
        progress = CallProgress(client, "wait")
        for done in (0.0, 50.0, 50.0, 20.0, 100.0):
            await progress.progress(done, 100, "fixture")
        assert [done for done, _, _ in client.heard] == [0, 50, 100]

    asyncio.run(use())


def test_a_client_that_went_away_does_not_fail_the_call() -> None:
    async def use() -> None:
        client = Client(fails=True)
        progress = CallProgress(client, "wait")
        progress.start()
        await asyncio.wait_for(client.called.wait(), 30)
        progress.stop()
        assert client.heard == []

    asyncio.run(use())


def test_a_call_that_ended_sends_nothing_more() -> None:
    async def use() -> None:
        client = Client()
        ended, running = CallProgress(client, "ended"), CallProgress(client, "running")
        ended.start()
        running.start()
        ended.stop()
        await asyncio.wait_for(client.called.wait(), 30)
        running.stop()
        assert {str(message).partition(":")[0] for _, _, message in client.heard} == {"running"}

    asyncio.run(use())
