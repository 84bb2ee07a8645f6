"""The domains on this machine: instructions, files and memory in the data folder, OpenAPI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.kernel.auth import local_user
from commonplace.kernel.paths import expand_home

if TYPE_CHECKING:
    from commonplace.bootstrap.services import Services
    from commonplace.files.assembly import External
    from commonplace.files.service import FilesService
    from commonplace.instructions.model import RequestStats
    from commonplace.instructions.service import InstructionsService
    from commonplace.memory.code.protocol import AnchorChecker
    from commonplace.memory.service import MemoryService
    from commonplace.openapi.service import OpenApiService
    from commonplace.search.assembly import ExternalModels
    from commonplace.search.model import KeyedListener


def open_instructions(services: Services) -> InstructionsService:
    """Open the instruction catalogue."""
    from commonplace.instructions.assembly import build_service

    settings, tracer = services.settings, services.tracer
    return build_service(
        settings.instructions_directory,
        settings.data,
        settings.mcp.instructions,
        governance=settings.governance,
        mutation_enabled=services.mutation,
        trace=tracer.emit,
        trace_files=tracer.wants("catalog:file"),
        request_stats=lambda: request_stats(services),
        local=services.local,
        semantics=lambda: services.semantic.semantics,
    )


def request_stats(services: Services) -> RequestStats:
    """Summarize the calls of this process, for the health of the catalogue."""
    from commonplace.instructions.model import RequestStats

    methods = services.server.figures(local_user()).methods
    count = sum(figures.count for figures in methods)
    if not count:
        return RequestStats()
    return RequestStats(
        count,
        sum(figures.average_ms * figures.count for figures in methods) / count,
        sum(figures.errors for figures in methods) / count,
    )


def open_files(services: Services) -> FilesService:
    """Open files on SQLite with hybrid search; the indexer has a thread of its own."""
    from commonplace.bootstrap.sources.api_operations import OperationExtractor
    from commonplace.files.assembly import database_path, from_settings
    from commonplace.search.assembly import hybrid_retriever
    from commonplace.search.lexical.sqlite import SqlitePostings
    from commonplace.storage.sqlite.database import Database

    settings, semantic, models = services.settings, services.semantic, services.external_models
    database = Database(database_path(settings))
    services.upkeep.databases.append(database)
    postings = SqlitePostings(database)
    services.gauges["posting lists"] = postings.cached
    side = models.on_disk(settings.data) if models is not None else None
    return from_settings(
        settings,
        database=database,
        retriever=hybrid_retriever(postings, semantic, settings.mcp.files.search, side),
        listener=semantic.listener,
        external=external_files(services, models, side) if models is not None else None,
        rates=services.shared_rates,
        beside_server=services.beside_server,
        extractor=OperationExtractor(),
    )


def external_files(
    services: Services, models: ExternalModels, listener: KeyedListener | None
) -> External:
    """Connect external models to files.

    Keys of callers reach the indexer sealed: through the cache where there is one, else in memory.
    """
    from commonplace.files.assembly import External
    from commonplace.storage.credentials.envelope import Keyring
    from commonplace.storage.credentials.handover import (
        CredentialHandover,
        EnvelopeStore,
        MemoryEnvelopeStore,
    )

    security = services.settings.mcp.files.security
    handover = None
    if listener is not None:
        keyring = Keyring(
            {int(kek_id): secret for kek_id, secret in security.encryption_keks.items()}
        )
        store: EnvelopeStore = MemoryEnvelopeStore()
        if services.cache is not None:
            from commonplace.storage.valkey.envelopes import ValkeyEnvelopeStore

            store = ValkeyEnvelopeStore(services.cache)
        handover = CredentialHandover(
            keyring, store, security.credential_cache_prefix, security.credential_cache_ttl_seconds
        )
    return External(listener, handover, models.reranker, services.outbound.close)


def open_memory(services: Services) -> MemoryService:
    """Open memory in its own SQLite file, with the model that files use."""
    from commonplace.memory.assembly import build_memory, open_database

    semantic = services.semantic
    database = open_database(services.settings.data)
    services.upkeep.databases.append(database)
    return build_memory(
        database,
        settings=services.settings.mcp.memory,
        embedder=semantic.semantics.embedder if semantic.semantics is not None else None,
        earlier=semantic.semantics.earlier if semantic.semantics is not None else None,
        model_missing=semantic.absent or None,
        on_close=database.close,
        checker=code_checker(services),
    )


def code_checker(services: Services) -> AnchorChecker:
    """Return what compares anchors with configured folders and stored projects."""
    from commonplace.bootstrap.sources.project_code import StoredCode
    from commonplace.memory.code.checker import CodeChecker
    from commonplace.memory.code.repositories import Repositories

    roots = tuple(expand_home(root) for root in services.settings.mcp.memory.roots)
    return CodeChecker(Repositories(roots, services.local, StoredCode(services)))


def open_openapi(services: Services, local: bool) -> OpenApiService:
    """Open the OpenAPI tools, which read paths, addresses, texts and stored files.

    `local` callers may reach this machine's files and loopback.
    """
    from commonplace.bootstrap.referenced_files import ReferencedFiles
    from commonplace.openapi.toolset import build_openapi

    settings = services.settings.mcp.openapi
    service = build_openapi(
        local=local,
        roots=[expand_home(root) for root in settings.roots],
        allow_hosts=settings.url_allow,
        settings=settings,
        stored_files=ReferencedFiles(services),
    )
    services.gauges.setdefault("OpenAPI documents", service.cache_usage)
    return service
