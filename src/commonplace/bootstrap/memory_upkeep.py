"""Apply the retention of memory and keep its vector indexes while a server runs."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import TYPE_CHECKING

from commonplace.dispatch.call import Call, to_json
from commonplace.dispatch.pipeline import Pipeline
from commonplace.kernel.auth import ALL_SCOPES, AuthContext, Tenant

if TYPE_CHECKING:
    from commonplace.bootstrap.services import Services
    from commonplace.memory.retrieval.postgres_indexes import VectorIndexes

log = logging.getLogger("commonplace.memory")

SWEEP_SECONDS = 3600.0
INDEX_SECONDS = 600.0
CANCEL_SECONDS = 0.5  # between two attempts to interrupt a build
FIRST_SECONDS = 30.0  # a server has other things to do when it starts
LABEL = "retention"


class MemoryUpkeep:
    """A thread that purges what is older than the retention, by the tool that people use.

    So a purge has the audit record of a call. Nothing is started where no retention is configured.
    """

    def __init__(
        self, services: Services, pipeline: Pipeline, first_seconds: float = FIRST_SECONDS
    ) -> None:
        self._services = services
        self._pipeline = pipeline
        self._first_seconds = first_seconds
        self._days = services.settings.mcp.memory.retention_days
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start, if there is a retention and the server may change something."""
        if self._days and not self._services.settings.server.read_only:
            self._thread = threading.Thread(target=self._run, name="memory-upkeep", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop after the purge that runs."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        if self._stopping.wait(self._first_seconds):
            return
        _ = self._services.memory
        self._services.on_close(self.close)  # before memory, which is closed newest first
        seconds = 0.0
        while not self._stopping.wait(seconds):
            seconds = SWEEP_SECONDS
            try:
                asyncio.run(self.sweep())
            except Exception as failed:  # whatever it is: the next hour tries again
                log.error("the retention of memory could not be applied: %s", failed)

    async def sweep(self) -> int:
        """Purge what is older than the retention, of every tenant; returns how many entries."""
        memory = self._services.memory
        purged = 0
        for tenant in await memory.tenants():
            counts = await memory.housekeeping.purge(tenant, days=self._days, dry_run=True)
            if not counts.is_empty and not self._stopping.is_set():
                purged += await self._purge(tenant)
        return purged

    async def _purge(self, tenant: Tenant) -> int:
        caller = AuthContext(tenant, ALL_SCOPES, LABEL)
        call = Call("memory_purge", {"older_than_days": self._days}, caller)
        outcome = await self._pipeline.run(call)
        if outcome.error is not None:
            raise outcome.error
        assert outcome.output is not None, "a call without an error has an output"
        output = to_json(outcome.output)
        log.info(
            "memory retention purged %(purged)d entries and %(revisions)d earlier states", output
        )
        return int(output["purged"])


class VectorIndexUpkeep:
    """A thread that builds and drops indexes; of several servers, one does it at a time."""

    def __init__(self, indexes: VectorIndexes, first_seconds: float = FIRST_SECONDS) -> None:
        self._indexes = indexes
        self._first_seconds = first_seconds
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="memory-vector-indexes", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stop; a build that runs is interrupted, and another server or a later one repeats it."""
        self._stopping.set()
        while self._thread.is_alive():
            self._indexes.stop()
            self._thread.join(CANCEL_SECONDS)

    def _run(self) -> None:
        seconds = self._first_seconds
        while not self._stopping.wait(seconds):
            seconds = INDEX_SECONDS
            self._indexes.maintain()
