"""The parts of the product, each built when it is first used."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol, TypeVar

from commonplace import __version__
from commonplace.bootstrap.team import on_postgres
from commonplace.bootstrap.upkeep import Upkeep
from commonplace.kernel.json_types import Json
from commonplace.kernel.lazy import deferred, lazy
from commonplace.kernel.settings import Settings
from commonplace.kernel.settings.switch import Switch
from commonplace.storage.locks.data_folder import is_data_folder_in_use
from commonplace.telemetry.audit import AuditLog
from commonplace.telemetry.metrics import Metrics
from commonplace.telemetry.trace import Tracer

if TYPE_CHECKING:
    from commonplace.bootstrap.audit_upkeep import AuditUpkeep
    from commonplace.context.capture.service import CaptureService
    from commonplace.context.finding.opening import OpenRefService
    from commonplace.context.finding.searching import SearchAllService
    from commonplace.context.service import ContextService
    from commonplace.files.service import FilesService
    from commonplace.instructions.service import InstructionsService
    from commonplace.instructions.use_cases.review.promoting import LessonStates
    from commonplace.memory.service import MemoryService
    from commonplace.openapi.service import OpenApiService
    from commonplace.search.assembly import ExternalModels, SemanticSearch
    from commonplace.server.service import ServerService
    from commonplace.storage.audit.shipper import AuditShipper
    from commonplace.storage.credentials.key_records import KeyRegistry
    from commonplace.storage.credentials.server_secret import ServerSecret
    from commonplace.storage.network_loop import NetworkLoop
    from commonplace.storage.postgres.database import PostgresDatabase
    from commonplace.storage.valkey.client import Valkey
    from commonplace.storage.valkey.rates import ValkeyRates
    from commonplace.telemetry.trail import AuditTrail

Gauge = Callable[[], Mapping[str, int]]


class Closeable(Protocol):
    """A service that ends with the product."""

    def close(self) -> None: ...


class Examinable(Protocol):
    """A service with findings for `commonplace doctor`."""

    def doctor(self) -> Iterable[Mapping[str, Json]]: ...


C = TypeVar("C", bound=Closeable)


class Services:
    """Everything that is shared inside one process.

    A property is built by its first use, so that a call builds only what it needs, and closed by
    `close`, newest first.
    """

    def __init__(self, settings: Settings, *, local: bool, local_user_writes: bool) -> None:
        self.settings = settings
        self.local = local  # one local user on stdio or the command line, not callers over HTTP
        self.beside_server = local_user_writes and is_data_folder_in_use(settings.data)
        self.locks: dict[str, threading.RLock] = {}
        self.gauges: dict[str, Gauge] = {}  # sizes of caches, by name, of what is built
        self.metrics = Metrics()
        self.mutation = Switch(settings.mcp.instructions.mutation_enabled or local_user_writes)
        self.upkeep = Upkeep(settings)
        self._started = time.monotonic()
        self._closing = contextlib.ExitStack()
        self.tracer = self._close_later(Tracer(settings))
        self.audit = self._open_audit()

    def on_close(self, callback: Callable[[], object]) -> None:
        """Call this when the product ends, before what was opened earlier is closed."""
        self._closing.callback(callback)

    def close(self) -> None:
        self._closing.close()

    @lazy
    def instructions(self) -> InstructionsService:
        with self._data_folder():
            if on_postgres(self.settings):
                from commonplace.bootstrap.team import open_team_instructions as open_catalogue
            else:
                from commonplace.bootstrap.embedded import open_instructions as open_catalogue
            service = self._close_later(open_catalogue(self))
            service.lessons = deferred(self._connect_lessons)
            return service

    def _connect_lessons(self) -> LessonStates:
        """Return the lessons behind rules; memory is opened when they are asked for."""
        from commonplace.bootstrap.sources.promotion import LessonsBehindRules

        return LessonsBehindRules(self)

    @lazy
    def files(self) -> FilesService:
        with self._data_folder():
            if on_postgres(self.settings):
                from commonplace.bootstrap.team import open_team_files

                return self._close_later(open_team_files(self))
            from commonplace.bootstrap.embedded import open_files

            return self._close_later(open_files(self))

    @lazy
    def memory(self) -> MemoryService:
        with self._data_folder():
            if on_postgres(self.settings):
                from commonplace.bootstrap.team import open_team_memory

                return self._close_later(open_team_memory(self))
            from commonplace.bootstrap.embedded import open_memory

            return self._close_later(open_memory(self))

    @lazy
    def openapi(self) -> OpenApiService:
        return self._open_openapi(self.local)

    @lazy
    def openapi_over_http(self) -> OpenApiService:
        """For the dashboard of a stdio server, whose callers may not reach this machine's files."""
        return self._open_openapi(local=False)

    @lazy
    def context(self) -> ContextService:
        from commonplace.bootstrap.sources.assembly import open_context

        return self._close_later(open_context(self))

    @lazy
    def capture(self) -> CaptureService:
        from commonplace.bootstrap.sources.assembly import open_capture

        with self._data_folder():
            return self._close_later(open_capture(self))

    @lazy
    def search_all(self) -> SearchAllService:
        from commonplace.bootstrap.sources.assembly import open_search_all

        return open_search_all(self)

    @lazy
    def open_ref(self) -> OpenRefService:
        from commonplace.bootstrap.sources.assembly import open_refs

        return open_refs(self)

    @lazy
    def server(self) -> ServerService:
        from commonplace.server.service import ServerService

        return ServerService(
            __version__,
            self.metrics,
            self.trail,
            self.audit,
            with_diagnostics=self.settings.trace.health_mixed,
            read_only=self.settings.server.read_only,
            gauges=self.gauges,
            integrity=self.upkeep.integrity,
            started=self._started,
        )

    @lazy
    def trail(self) -> AuditTrail:
        """The audit trail of all servers of a team, else of the data folder."""
        from commonplace.bootstrap.audit_upkeep import anchored_heads
        from commonplace.telemetry.trail import FolderTrail

        folder = FolderTrail(self.settings.audit_directory, lambda: anchored_heads(self.settings))
        if not on_postgres(self.settings):
            return folder
        from commonplace.bootstrap.team import open_team_trail

        return open_team_trail(self, folder)

    @lazy
    def audit_upkeep(self) -> AuditUpkeep:
        """Removes old audit records and anchors the heads of chains, where configured."""
        from commonplace.bootstrap.audit_upkeep import AuditUpkeep

        return self._close_later(AuditUpkeep(self))

    @lazy
    def audit_shipper(self) -> AuditShipper:
        """Brings the audit records of this data folder to the database of a team."""
        from commonplace.bootstrap.team import open_shipper

        return self._close_later(open_shipper(self))

    @lazy
    def postgres(self) -> PostgresDatabase:
        """The one database of a team; its connections are shared by all domains."""
        from commonplace.bootstrap.team import open_postgres

        with self._data_folder():
            return self._close_later(open_postgres(self.settings))

    @lazy
    def keys(self) -> KeyRegistry:
        """The keys of callers: in the database of a team, else in a file of the data folder."""
        if on_postgres(self.settings):
            from commonplace.bootstrap.team import open_team_keys

            return self._close_later(open_team_keys(self))
        from commonplace.storage.credentials.keys import KeyStore

        return self._close_later(KeyStore(self.settings.data / "keys.json"))

    @lazy
    def server_secret(self) -> ServerSecret:
        """The secret that all servers of this installation share, for what they sign."""
        from commonplace.storage.credentials import server_secret as secret

        if on_postgres(self.settings):
            return secret.ServerSecret(lambda: secret.read_secret_row(self.postgres))
        return secret.ServerSecret(lambda: secret.read_secret_file(self.settings.data))

    @lazy
    def semantic(self) -> SemanticSearch:
        """The local model and its vectors, shared by files and memory."""
        from commonplace.search.assembly import open_semantic_search

        settings = self.settings
        embedding = settings.mcp.files.search.embedding
        with self._data_folder():
            return self._close_later(
                open_semantic_search(settings.data, embedding, models=settings.models_directory)
            )

    @lazy
    def external_models(self) -> ExternalModels | None:
        from commonplace.search.assembly import open_external

        return open_external(self.settings.mcp.files.search, self.outbound, self.metrics.count)

    @lazy
    def outbound(self) -> NetworkLoop:
        """The event loop of the connections to models and to the cache."""
        from commonplace.storage.network_loop import NetworkLoop

        with self._data_folder():
            return self._close_later(NetworkLoop())

    @lazy
    def cache(self) -> Valkey | None:
        """What processes share beside the database; None where it is not configured."""
        if not self.settings.storage.cache_url:
            return None
        from commonplace.storage.valkey.client import Valkey

        return Valkey(self.settings.storage.cache_url, self.outbound)

    @lazy
    def shared_rates(self) -> ValkeyRates | None:
        if self.cache is None:
            return None
        from commonplace.storage.valkey.rates import ValkeyRates

        return ValkeyRates(self.cache)

    def examinable(self, *, database: bool = True) -> Iterator[Examinable]:
        """Build and yield, one by one, the services that `commonplace doctor` asks.

        Without `database`, only those that work without it.
        """
        if database and on_postgres(self.settings):
            yield self.postgres
        yield self.semantic
        if self.cache is not None:
            yield self.cache
        if self.external_models is not None:
            yield self.external_models
        if database:
            yield self.instructions
            yield self.files
            yield self.memory

    def _open_openapi(self, local: bool) -> OpenApiService:
        from commonplace.bootstrap.embedded import open_openapi

        with self._data_folder():
            return self._close_later(open_openapi(self, local))

    def _open_audit(self) -> AuditLog | None:
        settings = self.settings.audit
        if not settings.enabled:
            return None
        audit = AuditLog(
            self.settings.audit_directory,
            segment_bytes=settings.segment_bytes,
            recent_reads=settings.recent_reads,
        )
        return self._close_later(audit)

    @contextlib.contextmanager
    def _data_folder(self) -> Iterator[None]:
        """Make sure that the data folder is there and can be used while a service is opened."""
        from commonplace.storage.disk.access import explain_disk_errors

        self.upkeep.folder.check()  # do not recreate a folder that was removed under a server
        with explain_disk_errors(self.settings.data):
            self.settings.data.mkdir(parents=True, exist_ok=True, mode=0o700)
            yield

    def _close_later(self, service: C) -> C:
        self._closing.callback(service.close)
        return service
