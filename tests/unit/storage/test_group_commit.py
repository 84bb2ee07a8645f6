"""Group commit: writes that wait together are committed together, and each gets its outcome."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import Future

import pytest

from commonplace.storage.group_commit import GroupCommitter, PendingWrite, resolve_writes


class Recorder:
    """Commits groups when told to, and remembers their sizes."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.proceed = threading.Event()
        self.busy = threading.Event()

    def commit(self, group: Sequence[PendingWrite]) -> None:
        self.busy.set()
        assert self.proceed.wait(10)
        self.sizes.append(len(group))
        for number, write in enumerate(group):
            write.value = number
        resolve_writes(group)


def test_writes_that_arrive_during_a_commit_share_the_next_one() -> None:
    recorder = Recorder()
    committer = GroupCommitter[PendingWrite](recorder.commit, name="test", max_group=3)
    futures: list[Future[int]] = [Future() for _ in range(6)]
    committer.submit(PendingWrite(future=futures[0]))
    assert recorder.busy.wait(10)
    for future in futures[1:]:
        committer.submit(PendingWrite(future=future))
    recorder.proceed.set()
    assert [future.result(10) for future in futures] == [0, 0, 1, 2, 0, 1]
    committer.close()
    assert recorder.sizes == [1, 3, 2]


def test_close_writes_what_is_queued_and_a_later_write_starts_again() -> None:
    recorder = Recorder()
    recorder.proceed.set()
    committer = GroupCommitter[PendingWrite](recorder.commit, name="test", max_group=10)
    committer.close()
    for _ in range(2):
        futures: list[Future[int]] = [Future() for _ in range(4)]
        for future in futures:
            committer.submit(PendingWrite(future=future))
        committer.close()
        assert all(future.done() for future in futures)


def test_a_commit_may_take_writes_that_were_queued_meanwhile() -> None:
    sizes: list[int] = []
    ready = threading.Event()

    def commit(group: Sequence[PendingWrite]) -> None:
        assert ready.wait(10)
        whole = [*group, *committer.take_queued(5)]
        sizes.append(len(whole))
        resolve_writes(whole)

    committer = GroupCommitter[PendingWrite](commit, name="test", max_group=1)
    futures: list[Future[None]] = [Future() for _ in range(4)]
    for future in futures:
        committer.submit(PendingWrite(future=future))
    ready.set()
    for future in futures:
        future.result(10)
    committer.close()
    assert sizes == [4]


async def wait_for(committer: GroupCommitter[PendingWrite]) -> object:
    future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
    committer.submit(PendingWrite(future=future))
    return await asyncio.wait_for(future, 10)


def test_tasks_of_an_event_loop_get_values_and_errors() -> None:
    def commit(group: Sequence[PendingWrite]) -> None:
        for write in group:
            write.error = ValueError("refused")
        resolve_writes(group)

    failing = GroupCommitter[PendingWrite](commit, name="test", max_group=10)
    recorder = Recorder()
    recorder.proceed.set()
    working = GroupCommitter[PendingWrite](recorder.commit, name="test", max_group=10)
    assert asyncio.run(wait_for(working)) == 0
    with pytest.raises(ValueError, match="refused"):
        asyncio.run(wait_for(failing))
    failing.close()
    working.close()


def test_a_cancelled_caller_gets_nothing_and_disturbs_nobody() -> None:
    recorder = Recorder()
    committer = GroupCommitter[PendingWrite](recorder.commit, name="test", max_group=10)

    async def scenario() -> None:
        future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        write = PendingWrite(future=future)
        committer.submit(write)
        future.cancel()
        assert write.cancelled
        recorder.proceed.set()
        assert await wait_for(committer) is not None

    asyncio.run(scenario())
    committer.close()
