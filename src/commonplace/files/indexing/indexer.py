"""The index worker: takes queued jobs while it leads and indexes the words of their files.

Vectors are made by other workers from their own queues. Small files are indexed in batches. Large
files are indexed in steps beside them, a few at a time in turn, so they delay no other file. The
worker also purges deleted files and packs posting lists.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from commonplace.files.indexing.embedding import EmbeddingWorker
from commonplace.files.indexing.steps import FileReaders, all_steps, batches, plan_steps
from commonplace.files.model import Job
from commonplace.files.store.protocol import FileStore, IndexSource, IndexStep, JobStore
from commonplace.storage.failures import describe_publicly
from commonplace.storage.outbox import LargeJobs

log = logging.getLogger("commonplace.files.indexer")

POLL_SECONDS = 0.25  # until work of another process or a free leadership is noticed
RENEW_SECONDS = 4.0  # a lease lasts several times as long
GATHER_SECONDS = 0.1
BURST_WRITES = 8  # in that time: a caller writes as fast as it can; do not slow it down
MAX_GATHER_SECONDS = 0.5
YIELD_SHARE = 3  # times the duration of a batch that is left to writing callers
MAX_YIELD_SECONDS = 0.5
BATCH_BYTES = 1_000_000
LARGE_BYTES = 32_768  # larger files are indexed in steps
LARGE_CHUNKS = 256  # so are files with more indexed chunks: removing them takes long, too
MAX_LARGE = 4  # large files at a time, each of another tenant
PURGE_EVERY_SECONDS = 60.0
PURGE_ROWS = 500
OUTDATED_FILES = 20  # queued at a time: files that change meanwhile wait for few others
OUTDATED_EVERY_SECONDS = 30.0  # when none was found


class Leader(Protocol):
    """Whether this process is the one that indexes this data folder."""

    def try_acquire(self) -> bool: ...

    def release(self) -> None: ...


@dataclass(frozen=True, slots=True)
class IndexerSettings:
    """Settings of an index worker; 0 workers: it never indexes."""

    workers: int = 2
    batch_size: int = 20
    retention_days: int = 30
    poll_seconds: float = POLL_SECONDS
    renew_seconds: float = RENEW_SECONDS
    gather_seconds: float = GATHER_SECONDS


class Indexer:
    """Start `run` as a task; `wake` after queueing; `stop` ends it.

    Without leadership it only waits for it.
    """

    def __init__(
        self,
        jobs: JobStore,
        files: FileStore,
        leader: Leader,
        settings: IndexerSettings | None = None,
        embedding: Sequence[EmbeddingWorker] = (),
        readers: FileReaders | None = None,
    ) -> None:
        """`embedding` are the workers that make vectors, run beside this one."""
        self._jobs = jobs
        self._files = files
        self._leader = leader
        self._settings = settings or IndexerSettings()
        self._embedding = embedding
        self._readers = readers or FileReaders()
        self._outdated_at = 0.0
        self._owner = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._wake: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = False
        self._purged_at = 0.0
        self._woken = 0  # writes of this process
        self._handled = 0  # of them that the last pause waited for
        self._batch: frozenset[int] = frozenset()  # ids of the small files at work
        self._large: dict[asyncio.Task[None], Job] = {}  # running large files
        self._turn = asyncio.Lock()  # fair: a batch of small files, then a step of a large one
        self.completed = 0  # jobs of this process, for metrics
        self.leads = False

    def wake(self) -> None:
        """Tell the worker that work was queued. Call from any thread."""
        self._woken += 1
        loop, event = self._loop, self._wake
        if loop is not None and event is not None and not event.is_set() and not loop.is_closed():
            loop.call_soon_threadsafe(event.set)

    def stop(self) -> None:
        self._stopping = True
        self.wake()

    async def run(self) -> None:
        """Work until stopped. A failure of the loop itself is logged, and the loop continues."""
        self._loop, self._wake, self._turn = (
            asyncio.get_running_loop(),
            asyncio.Event(),
            asyncio.Lock(),
        )
        beside = [asyncio.create_task(worker.run(lambda: self.leads)) for worker in self._embedding]
        keeping = asyncio.create_task(self._keep_leases())
        try:
            while not self._stopping:
                try:
                    if self._settings.workers > 0 and await self._lead():
                        await self._drain_once()
                        await self._clean_up()
                    await self._jobs.flush_served()
                # catch all: an index that stops silently is worse than one that logs errors
                except Exception:
                    log.exception("the index worker failed; it goes on")
                    await asyncio.sleep(POLL_SECONDS)
                await self._pause(self._wake)
        finally:
            keeping.cancel()
            for worker in self._embedding:
                worker.stop()
            await asyncio.gather(*beside)
            await self._stop_large()
            self._readers.close()
            await self._jobs.flush_served()
            self._leader.release()
            self.leads = False

    async def _pause(self, wake: asyncio.Event) -> None:
        """Wait for work, and then a moment more: a burst of writes is indexed as one batch.

        The end of a large file does not count as a write, so the next one begins at once.
        """
        try:
            async with asyncio.timeout(self._settings.poll_seconds):
                await wake.wait()
            gathered = 0.0
            while (
                self._woken != self._handled
                and not self._stopping
                and gathered < MAX_GATHER_SECONDS
            ):
                woken = self._woken
                await asyncio.sleep(self._settings.gather_seconds)
                gathered += self._settings.gather_seconds
                if self._woken - woken < BURST_WRITES:
                    break
        except TimeoutError:
            pass
        wake.clear()
        self._handled = self._woken

    async def drain(self, progress: Callable[[int], None] = lambda done: None) -> bool:
        """Do all jobs that are due now; return False if another process leads."""
        if not await self._lead():
            return False
        self._turn = asyncio.Lock()
        keeping = asyncio.create_task(self._keep_leases())
        try:
            done = 0
            while True:
                running = len(self._large)
                batch = await self._drain_once(rounds=1)
                done += batch
                if batch:
                    progress(done)
                elif self._large:
                    await asyncio.wait(self._large, return_when=asyncio.FIRST_COMPLETED)
                elif running:  # the last large file ended while the next one was not claimed yet
                    continue
                elif not await self._jobs.enqueue_outdated(OUTDATED_FILES):
                    break
            for worker in self._embedding:
                await worker.drain()
            return True
        finally:
            keeping.cancel()
            await self._stop_large()
            self._readers.close()
            self._leader.release()
            self.leads = False

    async def _lead(self) -> bool:
        """Return whether this process leads. A new leader takes over unfinished jobs."""
        if not self._leader.try_acquire():
            self.leads = False
        elif not self.leads:
            await self._jobs.reclaim(self._owner)
            self.leads = True
        return self.leads

    async def _drain_once(self, rounds: int | None = None) -> int:
        """Index small files and start large ones; return how many jobs were claimed."""
        done = 0
        while not self._stopping and rounds != 0 and await self._jobs.due():
            begun, woken = time.monotonic(), self._woken
            async with self._turn:
                batch = await self._work_batch()
            if not batch:
                break  # only large files are due, and enough of them are running
            done += batch
            rounds = None if rounds is None else rounds - 1
            if self._wake is not None and self._wake.is_set():
                self._wake.clear()
            if self._woken != woken:  # callers are writing: leave them most of the time
                await asyncio.sleep(
                    min(YIELD_SHARE * (time.monotonic() - begun), MAX_YIELD_SECONDS)
                )
        return done

    async def _work_batch(self) -> int:
        busy = frozenset(job.tenant for job in self._large.values())
        large = LargeJobs(LARGE_BYTES, MAX_LARGE - len(self._large), busy)
        batch = await self._jobs.claim(self._owner, self._settings.batch_size, large)
        for job in batch:
            if job.size > LARGE_BYTES:
                self._begin_large(job)
        left = [job for job in batch if job.size <= LARGE_BYTES]
        self._batch = frozenset(job.id for job in left)
        try:
            while left:
                sources = await self._jobs.sources(left, BATCH_BYTES)
                await self._work(left[: len(sources)], sources)
                left = left[len(sources) :]
        finally:
            self._batch = frozenset()
        return len(batch)

    async def _keep_leases(self) -> None:
        """Renew the leases of jobs at work: a large file takes longer than one.

        Jobs that failed with the connection to the database are not renewed, so that they are
        claimed again.
        """
        while True:
            await asyncio.sleep(self._settings.renew_seconds)
            try:
                at_work = self._batch | {job.id for job in self._large.values()}
                if self.leads and at_work:
                    await self._jobs.renew(self._owner, at_work)
            except Exception:  # the next renewal may succeed; else another worker repeats the job
                log.warning("the leases of this worker could not be renewed", exc_info=True)

    async def _work(self, jobs: Sequence[Job], sources: Sequence[IndexSource]) -> None:
        """Index small files in one thread: a thread per job would cost more than the work."""
        now = []
        for job, source in zip(jobs, sources, strict=True):
            if len(source.source.indexed) + len(source.extracts) > LARGE_CHUNKS:
                self._begin_large(job)
            else:
                now.append((job, source))
        made = await asyncio.to_thread(all_steps, now, self._readers)
        short: list[IndexStep] = []
        beside = []
        for (job, _), steps in zip(now, made, strict=True):
            if isinstance(steps, list) and len(steps) == 1:
                short += steps
            else:
                beside.append(self._finish(job, steps))
        beside += [self._finish_together(batch) for batch in batches(short)]
        self.completed += sum(await asyncio.gather(*beside))
        self._wake_embedding()

    async def _finish_together(self, steps: Sequence[IndexStep]) -> int:
        """Apply the only steps of several files at once; return how many are indexed."""
        try:
            return sum(await self._jobs.apply(steps))
        except Exception:  # one bad file must not stop the others: find it
            return sum([await self._finish(step.job, [step]) for step in steps])

    async def _finish(self, job: Job, steps: Sequence[IndexStep] | Exception) -> int:
        """Apply the steps of a small file; return 1 if it is indexed."""
        try:
            if isinstance(steps, Exception):
                raise steps
            for step in steps:
                if not all(await self._jobs.apply([step])):
                    return 0  # another worker has the job, or the file changed
            return 1
        except Exception as error:  # one bad file must not stop the others
            await self._fail(job, error)
            return 0

    def _begin_large(self, job: Job) -> None:
        task = asyncio.create_task(self._work_large(job))
        self._large[task] = job
        task.add_done_callback(self._end_large)

    def _end_large(self, task: asyncio.Task[None]) -> None:
        self._large.pop(task, None)
        self._wake_embedding()
        if self._wake is not None:
            self._wake.set()

    async def _work_large(self, job: Job) -> None:
        """Index a large file in steps; other large files get their turn between them."""
        try:
            async with self._turn:
                (source,) = await self._jobs.sources([job], BATCH_BYTES)
            # a process of its own reads the file: others go on meanwhile
            reading = await asyncio.to_thread(self._readers.read, job, source)
            async with self._turn:
                plan = await asyncio.to_thread(plan_steps, job, source, reading)
            for number in range(len(plan.parts)):
                async with self._turn:
                    step = await asyncio.to_thread(plan.step, number)
                    if not all(await self._jobs.apply([step])):
                        return
            self.completed += 1
        except Exception as error:  # one bad file must not stop the others
            await self._fail(job, error)

    async def _stop_large(self) -> None:
        """Stop large files between two steps; the next worker continues from there."""
        tasks = list(self._large)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._jobs.release(self._owner)

    async def _fail(self, job: Job, error: Exception) -> None:
        buried = await self._jobs.fail(job, describe_publicly(error))
        log.warning(
            "index job %d failed (try %d%s)",
            job.id,
            job.retry_count + 1,
            ", given up" if buried else "",
            exc_info=error,
        )

    def _wake_embedding(self) -> None:
        for worker in self._embedding:
            worker.wake()

    async def _clean_up(self) -> None:
        now = time.monotonic()
        if now - self._purged_at >= PURGE_EVERY_SECONDS or not self._purged_at:
            self._purged_at = now
            before = int((time.time() - self._settings.retention_days * 86_400) * 1e6)
            while await self._files.purge(before, PURGE_ROWS) == PURGE_ROWS:
                pass
        await self._queue_outdated(now)
        while not self._stopping and not await self._jobs.due() and await self._jobs.tidy():
            pass

    async def _queue_outdated(self, now: float) -> None:
        """Queue files that older versions indexed, a few at a time and only without other work."""
        if self._stopping or now < self._outdated_at or await self._jobs.due():
            return
        if await self._jobs.enqueue_outdated(OUTDATED_FILES):
            if self._wake is not None:
                self._wake.set()
        else:
            self._outdated_at = now + OUTDATED_EVERY_SECONDS
