"""Bootstrap's part for data in order: identity of the data folder, space held back, checks of
databases, and readiness.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.kernel.errors import NOT_AVAILABLE, CommonplaceError
from commonplace.kernel.settings import Settings
from commonplace.storage.disk.access import require_writable
from commonplace.storage.disk.identity import DataFolder
from commonplace.storage.disk.private_files import tighten_data_folder
from commonplace.storage.disk.reserve import Reserve
from commonplace.telemetry.audit import AuditLog
from commonplace.telemetry.metrics import Metrics

if TYPE_CHECKING:
    from commonplace.server.readiness import Probe, Readiness
    from commonplace.storage.integrity.checks import DatabaseChecks
    from commonplace.storage.integrity.monitor import IntegrityWatch
    from commonplace.storage.migrations import Migration
    from commonplace.storage.sqlite.database import Database

log = logging.getLogger("commonplace.bootstrap")

SQLITE_SCHEME = "sqlite:///"
THREADS = (
    2  # of readiness alone: what hangs elsewhere must not hide that this server cannot be used
)
Services = Mapping[str, Callable[[], Any]]


def sqlite_path(settings: Settings) -> Path | None:
    """The SQLite file of files and their index; None on PostgreSQL."""
    url = settings.database_url
    return Path(url[len(SQLITE_SCHEME) :]) if url.startswith(SQLITE_SCHEME) else None


def database_checks(settings: Settings) -> list[DatabaseChecks]:
    """How to check each SQLite file of this installation."""
    path = sqlite_path(settings)
    if path is None:
        return []
    from commonplace.files.store.integrity import database_checks as checks_of_files
    from commonplace.memory.store.integrity import database_checks as checks_of_memory

    return [checks_of_files(path), checks_of_memory(settings.data / "memory.db")]


def record_refusal(error: CommonplaceError, audit: AuditLog | None, metrics: Metrics) -> None:
    """Record a request without a valid key.

    The authenticator bounds their number, so they cannot fill the disk.
    """
    metrics.count("unauthenticated")
    if audit is not None:
        record = {
            "type": "call",
            "tool": None,
            "tenant": None,
            "label": "",
            "outcome": "refused",
            "code": error.code.name,
        }
        try:
            audit.append({**record, "duration_ms": 0, "trace_id": "", "arguments": {}})
        except CommonplaceError as failed:
            log.error("a refused request could not be recorded: %s", failed.message)


class Deferred:
    """Stands for a service that is built when it is first used.

    `known` attributes are answered without it.
    """

    __slots__ = ("_known", "_make")

    def __init__(self, make: Callable[[], Any], **known: Any) -> None:
        self._make = make
        self._known = known

    def __getattr__(self, name: str) -> Any:
        return self._known[name] if name in self._known else getattr(self._make(), name)


def deferred(name: str, make: Callable[[], Any], settings: Settings) -> Callable[[], Any]:
    """Let a call open a service on disk, not a listing of tools: a disk that is full then fails
    calls, and only those.
    """
    if name == "files":
        return lambda: Deferred(make, settings=settings.mcp.files)
    if name == "memory":
        return lambda: _deferred_memory(make, settings)
    return make


def _deferred_memory(make: Callable[[], Any], settings: Settings) -> Deferred:
    from commonplace.memory.assembly import policy_of

    return Deferred(make, policy=policy_of(settings.mcp.memory))


class Upkeep:
    """What a server does for its data beside serving it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.folder = DataFolder(settings.data)
        self.reserve = Reserve(settings.data)
        self.databases: list[Database] = []  # those that are open in this process
        self._watch: IntegrityWatch | None = None
        self._threads: ThreadPoolExecutor | None = None
        self._readiness: Readiness | None = None

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Guard the data folder while a server uses it."""
        tighten_data_folder(self._settings.data)
        self.folder.hold()
        self.reserve.hold()
        try:
            yield
        finally:
            if self._watch is not None:
                self._watch.stop()
            if self._threads is not None:
                self._threads.shutdown(wait=False, cancel_futures=True)
            self.folder.release()

    def start_checking(self) -> None:
        """Begin the slow check of the databases.

        For servers that live long enough to finish one.
        """
        self._integrity().start()

    def integrity(self) -> dict[str, Any]:
        """What the last check of each database found."""
        return self._integrity().summary()

    def _integrity(self) -> IntegrityWatch:
        if self._watch is None:
            from commonplace.storage.integrity.monitor import IntegrityWatch

            hours = self._settings.storage.integrity_check_hours
            self._watch = IntegrityWatch(
                self._settings.data, database_checks(self._settings), hours * 3600
            )
        return self._watch

    async def report(
        self, services: Services, audit: AuditLog | None, details: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """What /readyz tells; raises where changes would be refused."""
        from commonplace.server.readiness import Readiness

        if self._readiness is None:
            self._readiness = Readiness(list(self._probes(services, audit)))
        return await self._readiness.report({**details, "integrity": self.integrity()})

    def _probes(self, services: Services, audit: AuditLog | None) -> Iterator[Probe]:
        from commonplace.server.readiness import Probe

        settings = self._settings
        yield Probe("data folder", self._threaded(self._check_folder))
        if sqlite_path(settings) is not None:
            yield Probe("database", self._threaded(self._check_sqlite))
        else:
            yield Probe("database", lambda: _check_postgres(services))
        if settings.storage.cache_url:
            yield Probe("cache", lambda: _check_cache(services))
        if audit is not None:
            yield Probe("audit", self._threaded(audit.probe))

    def _threaded(self, check: Callable[[], None]) -> Callable[[], Any]:
        async def ask() -> None:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="readiness")
            await asyncio.get_running_loop().run_in_executor(self._threads, check)

        return ask

    def _check_folder(self) -> None:
        self.folder.check()
        require_writable(self._settings.data)
        self.reserve.hold()

    def _check_sqlite(self) -> None:
        for database in self.databases:
            database.check_identity()
        from commonplace.storage.migrations import load_migrations
        from commonplace.storage.sqlite.migrations import require_current

        path = sqlite_path(self._settings)
        assert path is not None
        memory = self._settings.data / "memory.db"
        for component, place in (("search", path), ("files", path), ("memory", memory)):
            migrations: tuple[Migration, ...] = load_migrations(
                f"commonplace.{component}", "migrations/sqlite"
            )
            require_current(place, component, migrations)


async def _check_postgres(services: Services) -> None:
    from commonplace.bootstrap.team import postgres_components
    from commonplace.storage.postgres.migrations import require_of, standing

    components = postgres_components()
    require_of(
        await services["postgres"]().read(lambda connection: standing(connection, components))
    )


async def _check_cache(services: Services) -> None:
    from commonplace.storage.valkey.client import ValkeyUnavailableError

    try:
        await services["cache"]().ping()
    except ValkeyUnavailableError as away:
        hint = (
            "Is the server of settings.storage.cache_url running? Until it is, model keys "
            "wait and rates count per process."
        )
        raise CommonplaceError(
            NOT_AVAILABLE, f"The cache cannot be used: {away}.", hint=hint, retryable=True
        ) from None
