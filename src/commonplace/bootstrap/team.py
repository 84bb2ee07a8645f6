"""The parts of the product that live in PostgreSQL, put together for `bootstrap`: the schema's
components, the database, files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Protocol

from commonplace.kernel.errors import INVALID_CONFIG, CommonplaceError
from commonplace.kernel.settings import Settings

if TYPE_CHECKING:
    from commonplace.storage.postgres.database import PostgresDatabase
    from commonplace.storage.postgres.migrations import Component


class Parts(Protocol):
    """What bootstrap hands to a builder."""

    @property
    def settings(self) -> Settings: ...

    @property
    def closing(self) -> ExitStack: ...

    def service(self, name: str) -> Any: ...


def on_postgres(settings: Settings) -> bool:
    return settings.storage.url.startswith(("postgresql://", "postgres://"))


def postgres_components() -> list[Component]:
    """Every part of the schema in PostgreSQL, in the order in which they are brought up."""
    from commonplace.files.store.postgres import SCHEMA as FILES
    from commonplace.memory.store.postgres import SCHEMA as MEMORY
    from commonplace.search.lexical.postgres import SCHEMA as SEARCH
    from commonplace.storage.postgres.migrations import STORAGE

    return [STORAGE, SEARCH, FILES, MEMORY]


def open_postgres(parts: Parts) -> PostgresDatabase:
    """The one database of a team, its schema checked.

    The components of this process share its connections.
    """
    from commonplace.storage.postgres.database import PostgresDatabase
    from commonplace.storage.postgres.migrations import require

    storage = parts.settings.storage
    database = PostgresDatabase(storage.url, pool_size=storage.pool_size)
    try:
        require(database, postgres_components())
    except BaseException:
        database.close()
        raise
    return database


def files_of_a_team(parts: Parts, external_of: Callable[[Any], Any]) -> Any:
    """Files in PostgreSQL.

    Vectors are there too, of one model: the external one if it is configured, else this machine's.
    """
    from commonplace.files.postgres_assembly import lexical_store, run_postgres_files
    from commonplace.files.store.postgres_words import require_mode
    from commonplace.search.assembly import hybrid_policy
    from commonplace.search.lexical.postgres import PostgresPostings
    from commonplace.search.retriever import NO_MODEL, HybridRetriever

    settings = parts.settings.mcp.files
    database, meaning, models = (
        parts.service("postgres"),
        parts.service("meaning"),
        parts.service("external models"),
    )
    require_mode(database, settings.search.lexical)
    chosen = models.embedding if models is not None else None
    model: Any = chosen or (meaning.semantics.embedder if meaning.semantics is not None else None)
    side: Any = None
    if model is not None:
        from commonplace.files.store.postgres_embeddings import PostgresEmbeddings, require_length
        from commonplace.files.store.postgres_sides import PostgresExternalSide, PostgresLocalSide

        length = settings.search.embedding.dimensions
        require_length(database, length)
        if model.dimensions != length:
            name = "settings.mcp.files.search.embedding.dimensions"
            raise CommonplaceError(
                INVALID_CONFIG,
                f"{name} is {length}; the model {model.identity} makes {model.dimensions}.",
            )
        embeddings = PostgresEmbeddings(database, model.identity, model.dimensions)
        side = (
            PostgresExternalSide(model, embeddings)
            if chosen is not None
            else PostgresLocalSide(model, embeddings)
        )
        parts.closing.callback(embeddings.close)
    postings = PostgresPostings(database)
    words = lexical_store(database, settings, postings)
    return run_postgres_files(
        database,
        settings,
        postings=postings,
        retriever=HybridRetriever(
            words, None, hybrid_policy(settings.search), meaning.absent or NO_MODEL, side
        ),
        listener=side if chosen is None else None,
        external=external_of(side if chosen is not None else None) if models is not None else None,
        rates=parts.service("shared rates"),
    )


async def figures_of_a_team(
    settings: Settings, services: Mapping[str, Callable[[], Any]]
) -> dict[str, float]:
    """For metrics: the connections to PostgreSQL, and which of the models and the cache are left
    alone because they failed.
    """
    figures: dict[str, float] = services["postgres"]().figures() if on_postgres(settings) else {}
    search = settings.mcp.files.search
    if search.embedding.provider == "openai" or search.rerank.enabled:
        figures |= {
            f"model_{endpoint.name}_resting": float(endpoint.resting)
            for endpoint in services["external models"]().endpoints
        }
    if settings.storage.cache_url:
        figures["cache_resting"] = float(services["cache"]().resting)
    return figures
