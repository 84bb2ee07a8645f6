"""The transitional lexical mode: words in a GIN index over tsvector, ranked by ts_rank.

See docs/reference/contracts/files.md, section 7.3.

The terms come from the same text analysis, so both modes find the same files. A document's score is
the sum, over the query's terms it has, of idf (inside the project) times ts_rank, which is 0 to 1:
the share of the ceiling compares as BM25's does.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson
import psycopg

from commonplace.files.engine.reindex import CONTEXT, TEXT
from commonplace.files.store.index_store import COLLECTION, key_of
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import LexicalMode
from commonplace.search.lexical.plan import MAX_LOOKUPS, MAX_QUERY_TERMS, informative_first
from commonplace.search.lexical.postgres import PostgresPostings
from commonplace.search.lexical.ranking import SCORE_DIGITS, TIE_ROOM
from commonplace.search.model import (
    EVEN,
    MAX_TERMS_OF_PASSAGE,
    IndexDocument,
    LexicalMatch,
    LexicalResult,
    Partition,
    QueryTerm,
    SearchUnavailableError,
    Terms,
    upper_bound,
)
from commonplace.search.rarity import idf
from commonplace.storage.errors import SCHEMA_MISMATCH
from commonplace.storage.failures import describe_publicly
from commonplace.storage.postgres.connection import PostgresConnection
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.queries import load_postgres_queries
from commonplace.storage.relational import SqlConnection

log = logging.getLogger("commonplace.files.words")
LABELS = {TEXT: "A", CONTEXT: "B"}  # PostgreSQL's labels of positions, D to A
MEASURE = "ts_rank"
MAX_FREQUENCY = 64  # of a term in a field; ts_rank hardly distinguishes more
COUNTED = 10_001  # of a project; beyond, only the logarithm matters
AT_ONCE = 500
_QUERIES = load_postgres_queries("commonplace.files.store", "postgres_words.sql")


class PostgresWords:
    """`LexicalStore` of the collection of files."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def search(
        self,
        partition: Partition,
        terms: Sequence[str],
        *,
        limit: int,
        weights: Mapping[str, float],
        prefix: str = "",
        emphasis: Mapping[str, float] = EVEN,
    ) -> LexicalResult:
        return await self._read(
            lambda connection: _rank(
                connection, partition, terms, weights, limit, prefix, None, emphasis
            )
        )

    async def score_keys(
        self,
        partition: Partition,
        terms: Sequence[str],
        keys: Sequence[str],
        *,
        weights: Mapping[str, float],
        emphasis: Mapping[str, float] = EVEN,
    ) -> LexicalResult:
        """Score given chunks wherever they rank; leave out those without a query term."""
        ids = [int(key.rpartition("#")[2]) for key in keys]
        return await self._read(
            lambda connection: _rank(
                connection, partition, terms, weights, len(ids), "", ids, emphasis
            )
        )

    async def _read(self, work: Callable[[PostgresConnection], LexicalResult]) -> LexicalResult:
        try:
            return await self._database.read(work, snapshot=True)
        except (psycopg.Error, CommonplaceError) as failed:
            log.warning("the words cannot be read", exc_info=failed)
            raise SearchUnavailableError(describe_publicly(failed)) from failed


def add_words(
    connection: SqlConnection,
    partition_id: int,
    tenant: str,
    chunks: Sequence[tuple[int, Terms]],
) -> None:
    """Index the words of chunks, in the caller's transaction; deleted with their chunk."""
    rows = [
        {"id": chunk_id, "tenant": tenant, "words": words_of(partition_id, terms)}
        for chunk_id, terms in chunks
    ]
    connection.executemany(_QUERIES["chunk_words_add"], rows)


def words_of(partition_id: int, terms: Terms) -> str:
    """Return the terms of a chunk as a tsvector literal.

    ts_rank counts positions and reads their labels, never the positions themselves.
    """
    places: dict[str, list[str]] = {f"#{partition_id}": []}
    for field, frequencies in terms.items():
        for term, frequency in frequencies.items():
            known = places.setdefault(term, [])
            known += [
                f"{len(known) + n}{LABELS[field]}"
                for n in range(1, min(frequency, MAX_FREQUENCY) + 1)
            ]
    return " ".join(
        f"{_quote(term)}:{','.join(where)}" if where else _quote(term)
        for term, where in places.items()
    )


def _quote(term: str) -> str:
    return "'" + term.replace("\\", "\\\\").replace("'", "''") + "'"


def _rank(
    connection: PostgresConnection,
    partition: Partition,
    terms: Sequence[str],
    weights: Mapping[str, float],
    limit: int,
    prefix: str,
    ids: Sequence[int] | None,
    emphasis: Mapping[str, float],
) -> LexicalResult:
    place = {"tenant": partition.tenant, "project": partition.scope}
    named = {
        "tenant": partition.tenant,
        "collection": partition.collection,
        "scope": partition.scope,
    }
    row = connection.execute(_QUERIES["words_partition"], named).fetchone()
    asked = list(dict.fromkeys(terms))[:MAX_LOOKUPS]
    if row is None or not asked:
        return LexicalResult(measure=MEASURE)
    counted = connection.execute(
        _QUERIES["words_documents"], {**place, "limit": COUNTED}
    ).fetchone()
    documents = int(counted[0]) if counted else 0
    bound = {term: f"{_quote(f'#{row[0]}')} & {_quote(term)}" for term in asked}
    holders = connection.execute(
        _QUERIES["words_holders"], {"terms": _json(list(bound.values()))}
    ).fetchall()
    terms_by_idf = [
        QueryTerm(
            asked[number - 1],
            int(count),
            idf(documents, int(count)) * emphasis.get(asked[number - 1], 1.0),
        )
        for number, count in holders
    ]
    terms_by_idf = sorted(terms_by_idf, key=informative_first)[:MAX_QUERY_TERMS]
    values = {
        **place,
        "terms": _json([(bound[term.term], _quote(term.term), term.idf) for term in terms_by_idf]),
        "weights": _label_weights(weights),
        "ids": ids if ids is None else list(ids),
        "prefix": prefix,
        "upper": upper_bound(prefix),
        "limit": limit + TIE_ROOM,
    }
    matches = []
    for key, score, numbers in connection.execute(_QUERIES["words_rank"], values):
        matched = tuple(terms_by_idf[number - 1].term for number in sorted(numbers))
        matches.append(LexicalMatch(str(key), round(float(score), SCORE_DIGITS), matched))
    matches.sort(key=lambda match: (-match.score, match.key))
    return LexicalResult(
        tuple(matches[:limit]),
        tuple(terms_by_idf),
        documents,
        sum(term.idf for term in terms_by_idf[:MAX_TERMS_OF_PASSAGE]),
        MEASURE,
    )


def _label_weights(weights: Mapping[str, float]) -> list[float]:
    """Return the weights of the fields in PostgreSQL's order, D to A, the largest 1."""
    largest = max(weights.values(), default=1.0) or 1.0
    by_label = {
        LABELS[field]: weight / largest for field, weight in weights.items() if field in LABELS
    }
    return [by_label.get(label, 0.0) for label in "DCBA"]


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


# The mode of a database


def lexical_mode(connection: PostgresConnection) -> LexicalMode:
    row = connection.execute(_QUERIES["mode"]).fetchone()
    return "tsvector" if row is not None and row[0] == "tsvector" else "bm25"


def require_mode(database: PostgresDatabase, mode: LexicalMode) -> None:
    found = database.read_now(lexical_mode)
    if found != mode:
        raise CommonplaceError(
            SCHEMA_MISMATCH,
            f"The database is indexed for the lexical mode {found}; "
            f"settings.mcp.files.search.lexical is {mode}.",
            hint="Stop servers and workers, then run: commonplace migrate (it makes what the "
            "other mode needs; vectors stay)",
            details={"found": found, "needed": mode},
        )


def fit_mode(database: PostgresDatabase, mode: LexicalMode) -> tuple[LexicalMode, int]:
    """Complete what a lexical mode needs, in small committed steps, then record the mode.

    Return the mode before, and how many chunks were indexed.
    """
    before = database.read_now(lexical_mode)
    postings, made, after = PostgresPostings(database), 0, 0

    def step(connection: PostgresConnection) -> list[int]:
        return (
            _words_step(connection, after)
            if mode == "tsvector"
            else _postings_step(connection, postings, after)
        )

    while done := database.write_now(step, lock_timeout_seconds=60):
        made, after = made + len(done), done[-1]

    def store_mode(connection: PostgresConnection) -> None:
        connection.execute(_QUERIES["mode_forget"])
        if mode != "bm25":
            connection.execute(_QUERIES["mode_set"], {"mode": mode})

    if before != mode:
        database.write_now(store_mode)
    return before, made


def _words_step(connection: PostgresConnection, after: int) -> list[int]:
    rows = connection.execute(
        _QUERIES["words_missing"], {"after": after, "limit": AT_ONCE, "collection": COLLECTION}
    ).fetchall()
    for chunk_id, partition_id, tenant, tokens in rows:
        add_words(connection, partition_id, tenant, [(chunk_id, tokens)])
    return [int(row[0]) for row in rows]


def _postings_step(
    connection: PostgresConnection, postings: PostgresPostings, after: int
) -> list[int]:
    rows = connection.execute(
        _QUERIES["postings_missing"], {"after": after, "limit": AT_ONCE, "collection": COLLECTION}
    ).fetchall()
    documents: dict[Partition, list[IndexDocument]] = {}
    for chunk_id, tenant, project, path, tokens in rows:
        fields = {
            field: [term for term, frequency in terms.items() for _ in range(frequency)]
            for field, terms in tokens.items()
        }
        documents.setdefault(Partition(tenant, COLLECTION, project), []).append(
            IndexDocument(key_of(path, chunk_id), fields)
        )
    for partition in sorted(documents, key=lambda partition: (partition.tenant, partition.scope)):
        postings.put(connection, partition, documents[partition], keep_terms=False)
    return [int(row[0]) for row in rows]
