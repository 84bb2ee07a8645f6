"""Care for the data while a server runs: the data folder, reserved space, integrity, readiness."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.kernel.errors import NOT_AVAILABLE, CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.kernel.settings import Settings
from commonplace.storage.disk.access import require_writable
from commonplace.storage.disk.identity import DataFolderIdentity
from commonplace.storage.disk.private_files import restrict_data_folder
from commonplace.storage.disk.reserve import Reserve

if TYPE_CHECKING:
    from commonplace.bootstrap.services import Services
    from commonplace.server.readiness import Probe, Readiness
    from commonplace.storage.integrity.checks import DatabaseChecks
    from commonplace.storage.integrity.monitor import IntegrityMonitor
    from commonplace.storage.migrations import Migration
    from commonplace.storage.sqlite.database import Database
    from commonplace.storage.valkey.client import Valkey

SQLITE_SCHEME = "sqlite:///"
LOW_SPACE_BYTES = 200_000_000  # below it /readyz warns
PROBE_THREADS = 2  # of their own: a pool that hangs elsewhere must not hide that probes fail


def sqlite_path(settings: Settings) -> Path | None:
    """Return the SQLite file of files and their index; None on PostgreSQL."""
    url = settings.database_url
    return Path(url[len(SQLITE_SCHEME) :]) if url.startswith(SQLITE_SCHEME) else None


def database_checks(settings: Settings) -> list[DatabaseChecks]:
    """Return the checks of each SQLite file of this installation."""
    path = sqlite_path(settings)
    if path is None:
        return []
    from commonplace.files.store.integrity import database_checks as checks_of_files
    from commonplace.memory.store.integrity import database_checks as checks_of_memory

    return [checks_of_files(path), checks_of_memory(settings.data / "memory.db")]


class Upkeep:
    """The care of a server for its data."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.folder = DataFolderIdentity(settings.data)
        self.reserve = Reserve(settings.data)
        self.databases: list[Database] = []  # open in this process
        self._watch: IntegrityMonitor | None = None
        self._threads: ThreadPoolExecutor | None = None
        self._readiness: Readiness | None = None

    @contextmanager
    def guard_data_folder(self) -> Iterator[None]:
        """Guard the data folder while a server uses it."""
        restrict_data_folder(self._settings.data)
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
        """Start the slow check of the databases, for servers that live long enough."""
        self._integrity().start()

    def integrity(self) -> JsonObject:
        """Return the findings of the last check of each database."""
        return self._integrity().summary()

    def _integrity(self) -> IntegrityMonitor:
        if self._watch is None:
            from commonplace.storage.integrity.monitor import IntegrityMonitor

            hours = self._settings.storage.integrity_check_hours
            self._watch = IntegrityMonitor(
                self._settings.data, database_checks(self._settings), hours * 3600
            )
        return self._watch

    async def readiness(self, services: Services, details: JsonObject) -> Mapping[str, Json]:
        """Return the report of /readyz; raise where changes would be refused."""
        from commonplace.server.readiness import Readiness

        if self._readiness is None:
            self._readiness = Readiness(list(self._probes(services)))
        details = {**details, "integrity": self.integrity()}
        warnings = self.warnings()
        if warnings:
            details["warnings"] = warnings
        return await self._readiness.report(details)

    def free_bytes(self) -> int | None:
        """Return the free space on the disk of the data folder; None if it cannot be read."""
        try:
            return shutil.disk_usage(self._settings.data).free
        except OSError:
            return None

    async def gauges(self) -> Mapping[str, float]:
        """Return gauges for /metrics: the free space on the disk of the data folder."""
        free = self.free_bytes()
        return {"disk_free_bytes": float(free)} if free is not None else {}

    def warnings(self) -> list[str]:
        """Return what an operator should look at while calls are still answered."""
        free = self.free_bytes()
        if free is None or free >= LOW_SPACE_BYTES:
            return []
        left = f"The disk of the data folder has {free / 1e6:.0f} MB left."
        return [f"{left} Changes are refused once it is full: free space."]

    def _probes(self, services: Services) -> Iterator[Probe]:
        from commonplace.server.readiness import Probe

        settings = self._settings
        yield Probe("data folder", self._run_in_thread(self._check_folder))
        if sqlite_path(settings) is not None:
            yield Probe("database", self._run_in_thread(self._check_sqlite))
        else:
            yield Probe("database", lambda: _check_postgres(services))
        cache = services.cache
        if cache is not None:
            yield Probe("cache", lambda: _check_cache(cache), required=False)
        if services.audit is not None:
            yield Probe("audit", self._run_in_thread(services.audit.probe))

    def _run_in_thread(self, check: Callable[[], None]) -> Callable[[], Awaitable[None]]:
        async def ask() -> None:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(PROBE_THREADS, thread_name_prefix="readiness")
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
    from commonplace.storage.postgres.migrations import read_versions, require_versions

    components = postgres_components()
    require_versions(
        await services.postgres.read(lambda connection: read_versions(connection, components))
    )


async def _check_cache(cache: Valkey) -> None:
    from commonplace.storage.valkey.client import ValkeyUnavailableError

    try:
        await cache.ping()
    except ValkeyUnavailableError as failure:
        raise CommonplaceError(
            NOT_AVAILABLE,
            f"The cache cannot be used: {failure}.",
            hint="Is the server of settings.storage.cache_url running? Until it is, model keys "
            "wait and rates count per process.",
            retryable=True,
        ) from None
