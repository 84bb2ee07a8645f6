"""Vector workers: the vectors of indexed files, by the local model or an external one.

An external model is asked with the key that the caller deposited for each file. A file is embedded
in short slices; after each the job goes back into the queue, whose claims are fair over tenants and
projects, so a large file delays no other. Without a valid key a job waits (`waiting_credential`)
until its tenant calls again; a resting model makes it wait without counting as a failure; what the
model will never accept is a dead letter. The envelope of a key is removed with its job.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import CancelledError

from commonplace.files.model import VectorJob
from commonplace.files.store.protocol import VECTOR_LEASE_SECONDS, PassageSource, VectorJobStore
from commonplace.kernel.errors import CommonplaceError
from commonplace.search.model import (
    KeyedListener,
    KeyNeededError,
    LacksVectors,
    Partition,
    Passage,
    PassageListener,
    ReusesVectors,
)
from commonplace.search.semantic.model_http import (
    ModelError,
    ModelKeyRefusedError,
    ModelMalformedError,
    ModelRejectedError,
    ModelUnavailableError,
)
from commonplace.storage.credentials.envelope import EnvelopeError
from commonplace.storage.credentials.handover import (
    CredentialHandover,
    CredentialPurpose,
    CredentialsUnavailableError,
)
from commonplace.storage.failures import describe_publicly

log = logging.getLogger("commonplace.files.embedding")

POLL_SECONDS = 0.25
BUSY_SECONDS = 0.2
REFUSED_KEY_SECONDS = 60.0  # before a refused key is tried again
MAX_BACKOFF_SECONDS = 60.0
TURN_SECONDS = 1.0  # spent on one file before others get a turn
REQUEST_TEXTS = 64  # sent to an external model at a time
LOCAL_TEXTS = 8  # embedded locally at a time: a few tenths of a second
LOCAL_FILES = 2  # embedded locally at a time: short files alone would leave threads idle
UNOPENED = "the model key cannot be taken out of envelope"
SAME_KEYS = (
    "Give all servers and workers the same encryption_keks; then the tenant's next call goes on."
)
ENVELOPE_CHARACTERS = 8  # of its name, enough to identify it
NO_KEY = "no key for the external model; the tenant's next call with X-Model-Key goes on"


class WithoutKey:
    """Adapts the listener of a model that needs no key."""

    def __init__(self, listener: PassageListener) -> None:
        self._listener = listener

    async def lacks_vectors(self, partition: Partition) -> bool:
        listener = self._listener
        return isinstance(listener, LacksVectors) and await listener.lacks_vectors(partition)

    async def synchronise(
        self,
        partition: Partition,
        prefix: str,
        passages: Sequence[Passage],
        model_key: str | None,
        *,
        most: int | None = None,
    ) -> int:
        return await self._listener.synchronise(partition, prefix, passages, most=most)


class _TextsUnderWay:
    """Texts that are being embedded: an equal one of the same tenant waits and is then copied."""

    def __init__(self) -> None:
        self._turns: list[tuple[frozenset[tuple[str, str]], asyncio.Event]] = []

    @contextlib.asynccontextmanager
    async def alone(self, texts: frozenset[tuple[str, str]]) -> AsyncIterator[None]:
        """Wait for earlier turns that share a text (tenant and digest)."""
        earlier = [ended for others, ended in self._turns if not others.isdisjoint(texts)]
        turn = (texts, asyncio.Event())
        self._turns.append(turn)
        try:
            for ended in earlier:
                await ended.wait()
            yield
        finally:
            self._turns.remove(turn)
            turn[1].set()


class EmbeddingWorker:
    """Run by the index worker of the same process, while that one leads.

    Without `handover` the model needs no keys.
    """

    def __init__(
        self,
        jobs: VectorJobStore,
        passages: Sequence[PassageSource],
        listener: KeyedListener,
        handover: CredentialHandover | None,
        *,
        workers: int = 2,
        texts: int = REQUEST_TEXTS,
        retry_max: int = 5,
        backoff_seconds: float = 1.0,
        reuser: ReusesVectors | None = None,
    ) -> None:
        """`passages` are embedded in their order; the last ones are those that every file has.

        `reuser` copies vectors of equal passages where the database does not do it by itself.
        """
        self._jobs = jobs
        self._reuser = reuser
        self._passages = passages
        self._listener = listener
        self._handover = handover
        self._workers = max(1, workers)
        self._texts = texts
        self._retry_max = retry_max
        self._backoff_seconds = backoff_seconds
        self._owner = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._busy: set[tuple[str, str, str]] = set()
        self._under_way = _TextsUnderWay()
        self._tasks: dict[asyncio.Task[None], VectorJob] = {}
        self._wake: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = False
        self.completed = 0

    def wake(self) -> None:
        """Tell the worker that work was queued or a key came. Call from any thread."""
        loop, event = self._loop, self._wake
        if loop is not None and event is not None and not loop.is_closed():
            loop.call_soon_threadsafe(event.set)

    def stop(self) -> None:
        self._stopping = True
        self.wake()

    async def run(self, leads: Callable[[], bool]) -> None:
        """Work until stopped, on as many files at a time as there are workers."""
        self._loop, self._wake = asyncio.get_running_loop(), asyncio.Event()
        led = False
        renewing = asyncio.create_task(self._renew())
        try:
            while not self._stopping:
                try:
                    if leads():
                        if not led:
                            await self._jobs.reclaim(self._owner)
                            await self._queue_unembedded()
                        await self._fill()
                    led = leads()
                except CommonplaceError as away:
                    log.warning("the embedding worker waits: %s", away)
                except Exception:  # as in the index worker: log and go on
                    log.exception("the embedding worker failed; it goes on")
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(POLL_SECONDS):
                        await self._wake.wait()
                self._wake.clear()
        finally:
            renewing.cancel()
            tasks = list(self._tasks)
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.gather(*tasks, return_exceptions=True)
                with contextlib.suppress(
                    Exception
                ):  # the database is closed or away: the leases expire
                    await self._jobs.release(self._owner)

    async def drain(self) -> int:
        """Do all jobs that are due now; return how many."""
        await self._queue_unembedded()
        done = 0
        while batch := await self._jobs.claim(self._owner, self._workers):
            await asyncio.gather(*(self._work(job) for job in batch))
            done += len(batch)
        return done

    async def _queue_unembedded(self) -> None:
        """Queue the projects whose vectors another model made, or that never had any."""
        if not isinstance(self._listener, LacksVectors):
            return
        for tenant, project in await self._jobs.indexed_projects():
            if await self._listener.lacks_vectors(self._passages[-1].partition(tenant, project)):
                queued = await self._jobs.enqueue_project(tenant, project)
                if queued:
                    log.info("%d files of a project are embedded by another model", queued)

    async def _fill(self) -> None:
        while (free := self._workers - len(self._tasks)) > 0 and await self._jobs.due():
            claimed = await self._jobs.claim(self._owner, free)
            for job in claimed:
                task = asyncio.create_task(self._work(job))
                self._tasks[task] = job
                task.add_done_callback(self._forget_finished)
            if not claimed:
                return

    def _forget_finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        if self._wake is not None:
            self._wake.set()

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(VECTOR_LEASE_SECONDS / 3)
            if self._tasks:
                try:
                    await self._jobs.renew(self._owner, [job.id for job in self._tasks.values()])
                except (
                    Exception
                ):  # the database is away: the lease may expire and the work be repeated
                    log.warning("leases of embedding jobs could not be renewed", exc_info=True)

    async def _work(self, job: VectorJob) -> None:
        place = (job.tenant, job.project, job.path)
        if place in self._busy:  # the file changed while its last version is being embedded
            await self._jobs.retry(job, "", BUSY_SECONDS, job.retry_count)
            return
        self._busy.add(place)
        try:
            await self._embed(job)
        except Exception as error:  # one bad file must not stop the others
            log.warning("embedding job %d failed", job.id, exc_info=error)
            with contextlib.suppress(Exception):
                await self._try_again(
                    job,
                    describe_publicly(error) if self._handover is None else type(error).__name__,
                )
        finally:
            self._busy.discard(place)

    async def _embed(self, job: VectorJob) -> None:
        key = None
        try:
            key = await self._key(job)
            left = await self._take_turn(job, key)
        except CancelledError:  # this process is stopping
            await self._jobs.retry(job, "", 0.0, job.retry_count)
        except KeyNeededError:
            await self._jobs.wait(job, NO_KEY, 0.0)
        except EnvelopeError as sealed:
            reason = (
                f"{UNOPENED} {(job.credential_ref or '')[-ENVELOPE_CHARACTERS:]}: {sealed}. "
                f"{SAME_KEYS}"
            )
            log.warning("embedding job %d: %s", job.id, reason)
            await self._end(job, self._jobs.wait(job, reason, 0.0))
        except ModelKeyRefusedError as refused:
            fingerprint = (
                self._handover.fingerprint(key)
                if self._handover is not None and key is not None
                else None
            )
            await self._end(
                job, self._jobs.wait(job, str(refused), REFUSED_KEY_SECONDS, fingerprint)
            )
        except ModelRejectedError as rejected:
            if isinstance(rejected, ModelMalformedError) and job.retry_count < self._retry_max:
                await self._try_again(job, str(rejected))
                return
            await self._end(job, self._jobs.bury(job, str(rejected)))
            log.warning("embedding job %d was given up: %s", job.id, rejected)
        except ModelUnavailableError as unavailable:
            if unavailable.rest_seconds > 0:
                await self._jobs.retry(
                    job, str(unavailable), unavailable.rest_seconds, job.retry_count
                )
            else:
                await self._try_again(job, str(unavailable))
        except (ModelError, CredentialsUnavailableError) as failed:
            await self._try_again(job, str(failed))
        else:
            await self._finish(job, left)

    async def _take_turn(self, job: VectorJob, key: str | None) -> int:
        """Embed a slice of a file; return how many of its passages still lack a vector."""
        until = time.monotonic() + TURN_SECONDS
        for source in self._passages:
            left = await self._embed_passages(job, key, source, until)
            if left:
                return left
        return 0

    async def _embed_passages(
        self, job: VectorJob, key: str | None, source: PassageSource, until: float
    ) -> int:
        passages = await source.passages(job)
        partition = source.partition(job.tenant, job.project)
        texts = frozenset((job.tenant, passage.digest) for passage in passages)
        async with self._under_way.alone(texts):
            await self._reuse(job, source, passages)
            while True:
                left = await self._listener.synchronise(
                    partition, f"{job.path}#", passages, key, most=self._texts
                )
                if not left or self._stopping or time.monotonic() >= until:
                    return left

    async def _reuse(
        self, job: VectorJob, source: PassageSource, passages: Sequence[Passage]
    ) -> None:
        """Copy vectors of equal passages from other projects of the tenant."""
        if self._reuser is None or not passages:
            return
        projects = await source.projects_with_twins(job)
        others = [source.partition(job.tenant, project) for project in projects]
        if others:
            partition = source.partition(job.tenant, job.project)
            await self._reuser.reuse(partition, f"{job.path}#", passages, others)

    async def _key(self, job: VectorJob) -> str | None:
        if self._handover is None or job.credential_ref is None:
            return None
        return await self._handover.open(
            CredentialPurpose(job.tenant, job.project, job.path), job.credential_ref
        )

    async def _finish(self, job: VectorJob, left: int) -> None:
        """End the job, or requeue it for its next slice with its failures forgotten."""
        if left:
            await self._jobs.retry(job, "", 0.0, 0)
        else:
            self.completed += 1
            await self._end(job, self._jobs.complete(job))

    async def _try_again(self, job: VectorJob, error: str) -> None:
        """Retry later with growing pauses; after the last one wait for the tenant's next call."""
        if job.retry_count < self._retry_max:
            delay = min(self._backoff_seconds * 2**job.retry_count, MAX_BACKOFF_SECONDS)
            await self._jobs.retry(job, error, delay, job.retry_count + 1)
        elif self._handover is None:
            await self._jobs.bury(job, error)
        else:
            await self._end(job, self._jobs.wait(job, error, 0.0))

    async def _end(self, job: VectorJob, ended: Awaitable[bool]) -> None:
        """Remove the envelope, unless the file changed meanwhile: then the next round uses it."""
        if await ended and job.credential_ref is not None and self._handover is not None:
            try:
                await self._handover.discard([job.credential_ref])
            except CredentialsUnavailableError as unavailable:
                log.warning(
                    "an envelope could not be removed; it ends with its time: %s", unavailable
                )
