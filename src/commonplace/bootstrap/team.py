"""The half of the product that lives in PostgreSQL, for installations of a team."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.kernel.errors import INVALID_CONFIG, CommonplaceError
from commonplace.kernel.settings import Settings

if TYPE_CHECKING:
    from commonplace.bootstrap.services import Services
    from commonplace.edge.sessions.directory import SessionDirectory
    from commonplace.files.service import FilesService
    from commonplace.files.store.postgres_sides import PostgresExternalSide, PostgresLocalSide
    from commonplace.instructions.service import InstructionsService
    from commonplace.memory.service import MemoryService
    from commonplace.search.model import LexicalStore
    from commonplace.storage.audit.shipper import AuditShipper
    from commonplace.storage.audit.trail import TeamTrail
    from commonplace.storage.credentials.postgres_keys import PostgresKeys
    from commonplace.storage.postgres.database import PostgresDatabase
    from commonplace.storage.postgres.migrations import SchemaComponent
    from commonplace.telemetry.trail import FolderTrail


def on_postgres(settings: Settings) -> bool:
    return settings.storage.url.startswith(("postgresql://", "postgres://"))


def direct_url(settings: Settings) -> str:
    """Return the address of the database server itself, past any connection pooler."""
    return settings.storage.direct_url or settings.storage.url


def postgres_components() -> list[SchemaComponent]:
    """List every component of the schema in PostgreSQL, in the order of their migrations."""
    from commonplace.context.capture.store.postgres import SCHEMA as CAPTURE
    from commonplace.context.store.postgres import SCHEMA as CONTEXT
    from commonplace.edge.sessions.postgres import SCHEMA as SESSIONS
    from commonplace.files.store.postgres import SCHEMA as FILES
    from commonplace.instructions.store.postgres import SCHEMA as INSTRUCTIONS
    from commonplace.memory.store.postgres import SCHEMA as MEMORY
    from commonplace.search.lexical.postgres import SCHEMA as SEARCH
    from commonplace.storage.audit.records import SCHEMA as AUDIT
    from commonplace.storage.postgres.migrations import CREDENTIALS, STORAGE

    return [
        STORAGE,
        CREDENTIALS,
        AUDIT,
        SEARCH,
        FILES,
        MEMORY,
        SESSIONS,
        INSTRUCTIONS,
        CONTEXT,
        CAPTURE,
    ]


def open_postgres(settings: Settings) -> PostgresDatabase:
    """Open the database of a team; raise where its schema is not the one of this version."""
    from commonplace.storage.postgres.database import PostgresDatabase
    from commonplace.storage.postgres.migrations import require_current

    storage = settings.storage
    database = PostgresDatabase(
        storage.url,
        direct_url=storage.direct_url,
        prepared_statements=storage.prepared_statements,
        pool_size=storage.pool_size,
    )
    try:
        require_current(database, postgres_components())
    except BaseException:  # whatever the reason: its connections must not stay open
        database.close()
        raise
    return database


def open_team_instructions(services: Services) -> InstructionsService:
    """Open the catalogue, usage and feedback that the servers of a team share."""
    from commonplace.bootstrap.embedded import request_stats
    from commonplace.instructions.assembly import build_shared_service
    from commonplace.instructions.store.kept.index import shared_state
    from commonplace.instructions.store.kept.place import KeptPlace

    return build_shared_service(
        services.postgres,
        services.settings.mcp.instructions,
        kept=KeptPlace(
            services.settings.data, lambda: shared_state(services.settings.database_url)
        ),
        governance=services.settings.governance,
        mutation_enabled=services.mutation,
        trace=services.tracer.emit,
        request_stats=lambda: request_stats(services),
        local=services.local,
        semantics=lambda: services.semantic.semantics,
    )


def open_team_files(services: Services) -> FilesService:
    """Open files in PostgreSQL, with the vectors of one model beside them.

    It is the external model where one is configured, else this machine's.
    """
    from commonplace.bootstrap.embedded import external_files
    from commonplace.bootstrap.sources.api_operations import OperationExtractor
    from commonplace.files.postgres_assembly import lexical_store, run_postgres_files
    from commonplace.files.store.postgres_words import require_mode
    from commonplace.search.assembly import hybrid_policy
    from commonplace.search.lexical.postgres import PostgresPostings
    from commonplace.search.retriever import NO_MODEL, HybridRetriever

    settings = services.settings.mcp.files
    database, semantic, models = services.postgres, services.semantic, services.external_models
    require_mode(database, settings.search.lexical)
    external, local = _semantic_sides(services, database)
    postings = PostgresPostings(database)

    def retriever(words: LexicalStore) -> HybridRetriever:
        policy, absent = hybrid_policy(settings.search), semantic.absent or NO_MODEL
        return HybridRetriever(words, None, policy, absent, external or local)

    return run_postgres_files(
        database,
        settings,
        postings=postings,
        retriever=retriever(lexical_store(database, settings, postings)),
        listener=local,
        external=external_files(services, models, external) if models is not None else None,
        rates=services.shared_rates,
        extractor=OperationExtractor(),
        extract_retriever=retriever(postings),
    )


def _semantic_sides(
    services: Services, database: PostgresDatabase
) -> tuple[PostgresExternalSide | None, PostgresLocalSide | None]:
    """Open the vectors in PostgreSQL: of the external model, of the local one, or of none."""
    semantic, models = services.semantic, services.external_models
    external = models.embedding if models is not None else None
    local = semantic.semantics.embedder if semantic.semantics is not None else None
    model = external or local
    if model is None:
        return None, None
    from commonplace.files.store.postgres_embeddings import PostgresEmbeddings, require_length
    from commonplace.files.store.postgres_sides import PostgresExternalSide, PostgresLocalSide

    length = services.settings.mcp.files.search.embedding.dimensions
    require_length(database, length)
    if model.dimensions != length:
        raise CommonplaceError(
            INVALID_CONFIG,
            f"settings.mcp.files.search.embedding.dimensions is {length}; the model "
            f"{model.identity} makes {model.dimensions}.",
        )
    embeddings = PostgresEmbeddings(database, model.identity, model.dimensions)
    services.on_close(embeddings.close)
    if external is not None:
        return PostgresExternalSide(external, embeddings), None
    assert local is not None
    earlier = semantic.semantics.earlier if semantic.semantics is not None else None
    return None, PostgresLocalSide(local, embeddings, earlier)


def open_team_memory(services: Services) -> MemoryService:
    """Open memory in PostgreSQL, on the connections that files use too."""
    from commonplace.bootstrap.embedded import code_checker
    from commonplace.memory.assembly import build_postgres_memory

    semantic = services.semantic
    return build_postgres_memory(
        services.postgres,
        settings=services.settings.mcp.memory,
        embedder=semantic.semantics.embedder if semantic.semantics is not None else None,
        earlier=semantic.semantics.earlier if semantic.semantics is not None else None,
        model_missing=semantic.absent or None,
        checker=code_checker(services),
    )


def open_team_keys(services: Services) -> PostgresKeys:
    """Open the keys that all servers of a team share."""
    from commonplace.storage.credentials.postgres_keys import PostgresKeys

    return PostgresKeys(services.postgres, grace_seconds=services.settings.auth.keys_grace_seconds)


def team_sessions(services: Services) -> SessionDirectory:
    """Return the sessions of MCP clients that all servers of a team share."""
    from commonplace.edge.sessions.directory import SessionDirectory
    from commonplace.edge.sessions.postgres import PostgresSessionStore

    return SessionDirectory(PostgresSessionStore(services.postgres))


def open_shipper(services: Services) -> AuditShipper:
    """Open what brings the audit records of the data folder to the database."""
    from commonplace.storage.audit.origin import read_origin
    from commonplace.storage.audit.records import AuditTable
    from commonplace.storage.audit.shipper import AuditShipper

    settings = services.settings
    table = AuditTable(services.postgres)
    return AuditShipper(settings.audit_directory, table, read_origin(settings.data))


def open_team_trail(
    services: Services, folder: FolderTrail, anchors: Path | None = None
) -> TeamTrail:
    """Open the audit trail over all servers; this server's own records are brought there first."""
    from commonplace.bootstrap.audit_upkeep import anchored_heads
    from commonplace.storage.audit.records import AuditTable
    from commonplace.storage.audit.trail import TeamTrail

    return TeamTrail(
        AuditTable(services.postgres),
        catch_up=lambda seconds: services.audit_shipper.catch_up(seconds),
        folder=folder,
        anchors=lambda: anchored_heads(services.settings, anchors),
    )


async def team_gauges(services: Services) -> dict[str, float]:
    """Return gauges for /metrics: connections to PostgreSQL, and circuit breakers that are open."""
    settings = services.settings
    gauges: dict[str, float] = {}
    if on_postgres(settings):
        gauges |= services.postgres.figures()
        if settings.audit.enabled:
            gauges["audit_lag_seconds"] = round(services.audit_shipper.lag_seconds, 3)
    search = settings.mcp.files.search
    if search.embedding.provider == "openai" or search.rerank.enabled:
        models = services.external_models
        gauges |= {
            f"model_{endpoint.name}_resting": float(endpoint.resting)
            for endpoint in (models.endpoints if models is not None else ())
        }
    if services.cache is not None:
        gauges["cache_resting"] = float(services.cache.paused)
    return gauges
