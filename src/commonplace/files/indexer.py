"""The index worker: takes queued jobs while it leads, brings the index up to date, and does the housekeeping of its data folder."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from commonplace.files.embedding import EmbeddingWorker
from commonplace.files.engine.reindex import difference
from commonplace.files.model import IndexChange, Job, Source
from commonplace.files.store import FileStore, JobStore
from commonplace.search.store import Partition, PassageListener

log = logging.getLogger("commonplace.files.indexer")

POLL_SECONDS = 0.25  # how soon work queued by another process, or a free leadership, is noticed
RENEW_SECONDS = 4.0  # a lease lasts several times as long
GATHER_SECONDS = 0.1
BURST_WRITES = 8  # within that time: somebody writes as fast as they can, and is not to be slowed
MAX_GATHER_SECONDS = 0.5
YIELD_SHARE = 3  # times a batch's own duration that is left to callers who are writing
MAX_YIELD_SECONDS = 0.5
BATCH_BYTES = 4_000_000
PURGE_EVERY_SECONDS = 60.0
PURGE_ROWS = 500
NOTHING = IndexChange((), (), ())


class Leader(Protocol):
    """Whether this process is the one that indexes this data folder."""

    def try_acquire(self) -> bool: ...

    def release(self) -> None: ...


@dataclass(frozen=True, slots=True)
class IndexerSettings:
    workers: int = 2
    batch_size: int = 20
    retention_days: int = 30
    poll_seconds: float = POLL_SECONDS


class Indexer:
    """Start `run` as a task; `wake` after queueing; `stop` ends it. Without leadership it only waits for it."""

    def __init__(
        self,
        jobs: JobStore,
        files: FileStore,
        leader: Leader,
        partition_of: Callable[[str, str], Partition],
        settings: IndexerSettings | None = None,
        listener: PassageListener | None = None,
        embedding: EmbeddingWorker | None = None,
    ) -> None:
        """`embedding` makes the vectors of an external model: a second step, run beside this one."""
        self._jobs = jobs
        self._files = files
        self._leader = leader
        self._partition_of = partition_of
        self._settings = settings or IndexerSettings()
        self._listener = listener
        self._embedding = embedding
        self._owner = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._wake: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = False
        self._purged_at = 0.0
        self._woken = 0
        self.completed = 0  # jobs of this process, for metrics
        self.leads = False

    def wake(self) -> None:
        """Work was queued. From any thread."""
        self._woken += 1
        loop, event = self._loop, self._wake
        if loop is not None and event is not None and not event.is_set() and not loop.is_closed():
            loop.call_soon_threadsafe(event.set)

    def stop(self) -> None:
        self._stopping = True
        self.wake()

    async def run(self) -> None:
        """Work until stopped. A failure of the loop itself is logged and the loop goes on."""
        self._loop, self._wake = asyncio.get_running_loop(), asyncio.Event()
        beside = asyncio.create_task(self._embedding.run(lambda: self.leads)) if self._embedding is not None else None
        try:
            while not self._stopping:
                try:
                    if self._settings.workers > 0 and await self._lead():
                        await self._drain_once()
                        await self._housekeep()
                    await self._jobs.flush_served()
                except Exception:  # the worker's catch-all: an index that stops silently is worse than one that complains
                    log.exception("the index worker failed; it goes on")
                    await asyncio.sleep(POLL_SECONDS)
                await self._pause(self._wake)
        finally:
            if self._embedding is not None and beside is not None:
                self._embedding.stop()
                await beside
            await self._jobs.flush_served()
            self._leader.release()
            self.leads = False

    async def _pause(self, wake: asyncio.Event) -> None:
        """Until work is queued, and then a moment more: a burst of writes is indexed together, not against itself."""
        try:
            async with asyncio.timeout(self._settings.poll_seconds):
                await wake.wait()
            gathered = 0.0
            while not self._stopping and gathered < MAX_GATHER_SECONDS:
                woken = self._woken
                await asyncio.sleep(GATHER_SECONDS)
                gathered += GATHER_SECONDS
                if self._woken - woken < BURST_WRITES:
                    break
        except TimeoutError:
            pass
        wake.clear()

    async def drain(self, progress: Callable[[int], None] = lambda done: None) -> bool:
        """Work off what is due now, if this process may lead; False when another one does (it will do the work)."""
        if not await self._lead():
            return False
        try:
            done = 0
            while batch := await self._drain_once(rounds=1):
                done += batch
                progress(done)
            if self._embedding is not None:
                await self._embedding.drain()
            return True
        finally:
            self._leader.release()
            self.leads = False

    async def _lead(self) -> bool:
        """Whether this process leads. A new leader takes over what the last one left half done."""
        if not self._leader.try_acquire():
            self.leads = False
        elif not self.leads:
            await self._jobs.reclaim(self._owner)
            self.leads = True
        return self.leads

    async def _drain_once(self, rounds: int | None = None) -> int:
        done = 0
        while not self._stopping and rounds != 0 and await self._jobs.due():
            begun = time.monotonic()
            batch = await self._jobs.claim(self._owner, self._settings.batch_size)
            keeping = asyncio.create_task(self._keep_leases())
            try:
                left = batch
                while left:
                    sources = await self._jobs.sources(left, BATCH_BYTES)
                    await self._work(left[: len(sources)], sources)
                    left = left[len(sources) :]
            finally:
                keeping.cancel()
            done += len(batch)
            rounds = None if rounds is None else rounds - 1
            if self._wake is not None and self._wake.is_set():  # callers are writing: leave them most of the time
                self._wake.clear()
                await asyncio.sleep(min(YIELD_SHARE * (time.monotonic() - begun), MAX_YIELD_SECONDS))
        return done

    async def _keep_leases(self) -> None:
        """A large file takes longer than a lease, and a worker that is still at it is not a dead one."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            try:
                await self._jobs.renew(self._owner)
            except Exception:  # the next one may come through; if not, somebody else does the work again
                log.warning("the leases of this worker could not be renewed", exc_info=True)

    async def _work(self, jobs: Sequence[Job], sources: Sequence[Source | None]) -> None:
        room = asyncio.Semaphore(max(1, self._settings.workers))
        changes = await asyncio.to_thread(_differences, jobs, sources)
        finished = await asyncio.gather(*(self._finish(*work, room) for work in zip(jobs, sources, changes, strict=True)))
        self.completed += sum(finished)
        if self._embedding is not None:
            self._embedding.wake()

    async def _finish(self, job: Job, source: Source | None, change: IndexChange | Exception, room: asyncio.Semaphore) -> bool:
        try:
            if isinstance(change, Exception):
                raise change
            applied = await self._jobs.apply(job, source, change, complete=self._listener is None)
            if not applied:
                return False  # somebody else has it, or a newer state of the file waits
            if self._listener is not None:
                async with room:
                    passages = await self._jobs.passages(job)
                    await self._listener.synchronise(self._partition_of(job.tenant, job.project), f"{job.path}#", passages)
                await self._jobs.complete(job)
            return True
        except Exception as error:  # one bad file must not stop the others
            buried = await self._jobs.fail(job, f"{type(error).__name__}: {error}")
            log.warning("index job %d failed (try %d%s)", job.id, job.retry_count + 1, ", given up" if buried else "", exc_info=error)
            return False

    async def _housekeep(self) -> None:
        now = time.monotonic()
        if now - self._purged_at >= PURGE_EVERY_SECONDS or not self._purged_at:
            self._purged_at = now
            before = int((time.time() - self._settings.retention_days * 86_400) * 1e6)
            while await self._files.purge(before, PURGE_ROWS) == PURGE_ROWS:
                pass
        while not self._stopping and not await self._jobs.due() and await self._jobs.tidy():
            pass


def _differences(jobs: Sequence[Job], sources: Sequence[Source | None]) -> list[IndexChange | Exception]:
    """What each job must change, worked out in one go: a hop to a thread per job would cost more than the work."""
    changes: list[IndexChange | Exception] = []
    for job, source in zip(jobs, sources, strict=True):
        try:
            changes.append(NOTHING if source is None else difference(job.path, source.content, source.indexed))
        except Exception as error:  # handed to the job it belongs to
            changes.append(error)
    return changes
