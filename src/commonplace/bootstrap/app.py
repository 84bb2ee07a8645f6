"""The product, assembled from its settings."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from commonplace import __version__
from commonplace.bootstrap.offer import (
    all_toolsets,
    instructions_for,
    named_features,
    selection_of,
)
from commonplace.bootstrap.services import Services
from commonplace.bootstrap.team import direct_url, on_postgres, team_gauges
from commonplace.context.offering.service import ContextOffering
from commonplace.dispatch.limiter import RateLimiter
from commonplace.dispatch.pipeline import Pipeline
from commonplace.dispatch.recording import CallRecorder
from commonplace.dispatch.registry import Registry, Selection, Toolset
from commonplace.edge.authenticate import Authenticator
from commonplace.edge.product import Product, tool_message_bytes
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.kernel.lazy import deferred
from commonplace.kernel.settings import Settings
from commonplace.telemetry.logs import configure_logging
from commonplace.telemetry.observer import EdgeObserver

log = logging.getLogger("commonplace.bootstrap")


@dataclass(frozen=True, slots=True)
class App:
    """The product. `close` ends what it started, newest first."""

    settings: Settings
    services: Services
    registry: Registry
    pipeline: Pipeline
    product: Product
    authenticator: Authenticator

    def start(self, *, http: bool) -> None:
        """Prepare a server for its first call.

        On PostgreSQL this raises if the schema is not the one of this version, or if the data
        folder holds what the database lacks, and starts to index. Elsewhere files are opened when a
        command asks for indexing: most servers never need it.
        """
        services = self.services
        services.keys.start()
        if on_postgres(self.settings):
            self._check_moved_in()
            _ = services.files
            if services.audit is not None:
                services.audit_shipper.start()
            if not self.settings.server.read_only:
                self._start_vector_upkeep()
        elif self.settings.mcp.files.index.workers > 0:
            from commonplace.storage.disk.signal_file import index_request

            services.on_close(index_request(self.settings.data).watch(lambda: services.files))
        if self.settings.mcp.memory.retention_days:
            from commonplace.bootstrap.memory_upkeep import MemoryUpkeep

            upkeep = MemoryUpkeep(services, self.pipeline)
            services.on_close(upkeep.close)
            upkeep.start()
        if http:
            services.upkeep.start_checking()
            services.audit_upkeep.start()

    def _start_vector_upkeep(self) -> None:
        """Build the vector indexes of memory in the background."""
        from commonplace.bootstrap.memory_upkeep import VectorIndexUpkeep
        from commonplace.memory.retrieval.postgres_indexes import VectorIndexes

        upkeep = VectorIndexUpkeep(VectorIndexes(self.services.postgres))
        self.services.on_close(upkeep.close)
        upkeep.start()

    def _check_moved_in(self) -> None:
        """Refuse to start without rules and keys of the folder; warn about the rest."""
        from commonplace.bootstrap.move_in import describe_not_moved, movers, require_moved_in

        data = self.settings.data
        chosen = list(movers(self.settings, self.services.postgres))
        require_moved_in(data, chosen)
        not_moved = describe_not_moved(data, chosen)
        if not_moved:
            log.warning(
                "the data folder contains data that the database lacks, and callers do not see "
                "it: %s; run `commonplace migrate --from %s`",
                not_moved,
                data,
            )

    @contextlib.contextmanager
    def claim_data_folder(self) -> Iterator[None]:
        """Tell other processes that a server uses the data folder.

        `restore` then refuses to run, and so does a second server where keys of callers would
        have to be in the memory of both.
        """
        from commonplace.storage.locks.credential_holder import hold_credentials_lock
        from commonplace.storage.locks.data_folder import share_data_folder

        settings = self.settings
        keeps_keys_in_memory = (
            settings.mcp.files.search.embedding.provider == "openai"
            and not settings.storage.cache_url
        )
        keeper = (
            hold_credentials_lock(
                settings.data,
                direct_url(settings) if on_postgres(settings) else settings.database_url,
            )
            if keeps_keys_in_memory
            else contextlib.nullcontext()
        )
        with (
            share_data_folder(settings.data),
            keeper,
            self._share_database(),
            self.services.upkeep.guard_data_folder(),
        ):
            yield

    def _share_database(self) -> contextlib.AbstractContextManager[None]:
        """Tell commands on other machines that a server uses the database of a team."""
        if not on_postgres(self.settings):
            return contextlib.nullcontext()
        from commonplace.storage.postgres.serving import share_database

        return share_database(self.services.postgres)

    def close(self) -> None:
        self.services.close()

    def __enter__(self) -> App:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def build(
    settings: Settings,
    *,
    extra_toolsets: Iterable[Toolset] = (),
    selection: Selection | None = None,
    environ: Mapping[str, str] | None = None,
    local_user_writes: bool = False,
    local: bool = True,
) -> App:
    """Assemble the product.

    `local_user_writes` opens the catalogue to commands of the local user (never to a server);
    `local` is false for a server over HTTP, whose callers may not reach this machine's files and
    loopback.
    """
    environ = os.environ if environ is None else environ
    configure_logging(settings.log)
    services = Services(settings, local=local, local_user_writes=local_user_writes)
    services.metrics.probes.append(lambda: services.files.figures())
    services.metrics.probes.append(lambda: team_gauges(services))
    services.metrics.probes.append(services.upkeep.gauges)
    registry = Registry(all_toolsets(services, extra_toolsets, environ))
    chosen = selection or selection_of(settings)
    registry.check(chosen)
    # commands of the local user are not narrowed
    pipeline = _pipeline(services, registry, Selection() if local_user_writes else chosen)
    authenticator = _authenticator(services)
    product = _product(services, pipeline, authenticator, chosen, environ)
    return App(settings, services, registry, pipeline, product, authenticator)


def product_for(app: App, selection: Selection, *, read_only: bool, mutation: bool) -> Product:
    """Return the product as one client of a shared server gets it.

    Raises INVALID_CONFIG for a selection with an unknown name.
    """
    app.registry.check(selection)
    if mutation:
        app.services.mutation.on = True  # the folder may be written; calls are checked one by one
    pipeline = app.pipeline.with_rules(
        selection, read_only=read_only, mutation_enabled=lambda: mutation
    )
    return replace(
        app.product,
        pipeline=pipeline,
        selection=selection,
        instructions=instructions_for(selection, app.settings),
    )


def _pipeline(services: Services, registry: Registry, selection: Selection) -> Pipeline:
    settings, upkeep = services.settings, services.upkeep
    recorder = CallRecorder(
        services.metrics,
        services.audit,
        services.tracer,
        settings.log,
        upkeep.folder.check,
        settings.mcp.instructions.agent_id,
    )
    return Pipeline(
        registry,
        mutation_enabled=services.mutation,
        read_only=settings.server.read_only,
        selection=selection,
        recorder=recorder,
        limiter=RateLimiter(settings.limits, shared=lambda: services.shared_rates),
        default_timeout_seconds=settings.limits.call_timeout_seconds or None,
        make_room=upkeep.reserve.release,
    )


def _product(
    services: Services,
    pipeline: Pipeline,
    authenticator: Authenticator,
    selection: Selection,
    environ: Mapping[str, str],
) -> Product:
    settings = services.settings
    limits = settings.limits

    async def ready() -> Mapping[str, Json]:
        toolsets = [toolset.name for toolset in pipeline.registry.toolsets]
        details = {"toolsets": toolsets, "mutation": services.mutation()}
        return await services.upkeep.readiness(services, details)

    return Product(
        pipeline,
        __version__,
        instructions_for(selection, settings),
        selection=selection,
        authenticate=authenticator.authenticate,
        stdio_auth=lambda: authenticator.stdio(environ),
        max_message_bytes=limits.request_bytes,
        tool_message_bytes=tool_message_bytes(settings),
        undecoded_bytes=max(limits.undecoded_bytes, limits.request_bytes),
        max_in_flight=limits.in_flight,
        max_sessions_per_key=limits.sessions_per_key,
        features=named_features(environ),
        offering=ContextOffering(),
        observer=EdgeObserver(services.tracer, services.metrics),
        ready=ready,
    )


def _authenticator(services: Services) -> Authenticator:
    settings = services.settings

    def record_refusal(error: CommonplaceError, address: str | None) -> None:
        """Record a request without a valid key; the authenticator bounds their number."""
        services.metrics.count("unauthenticated")
        if services.audit is None:
            return
        record: JsonObject = {
            "type": "call",
            "tool": None,
            "tenant": None,
            "label": "",
            "outcome": "refused",
            "code": error.code.name,
            "duration_ms": 0,
            "trace_id": "",
            "arguments": {},
        }
        if address is not None:
            record["address"] = address
        try:
            services.audit.append(record)
        except CommonplaceError as failed:
            log.error("a refused request could not be recorded: %s", failed.message)

    keys = deferred(lambda: services.keys)
    authenticator = Authenticator(settings.auth, keys, settings.limits.failed_logins_per_minute)
    authenticator.on_refusal = record_refusal
    return authenticator
