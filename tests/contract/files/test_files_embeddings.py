"""Vectors in PostgreSQL (docs/reference/contracts/files.md, section 10): exact and approximate
search inside one project, resumable embedding, another length.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from files_box import Words

from commonplace.files.postgres_assembly import build_postgres_files
from commonplace.files.store.index_store import partition_of
from commonplace.files.store.postgres_embeddings import (
    PostgresEmbeddings,
    fit_length,
    queries_of,
    require_length,
)
from commonplace.files.store.postgres_sides import PostgresLocalSide
from commonplace.kernel.auth import ALL_SCOPES, AuthContext, Tenant
from commonplace.kernel.errors import CommonplaceError
from commonplace.search.lexical.postgres import PostgresPostings
from commonplace.search.model import Partition, Passage
from commonplace.search.retriever import HybridRetriever
from commonplace.search.semantic.embed import EmbedderUnavailableError
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.queries import load_queries
from servers import drop_database, make_database

DIMENSIONS = 384


class Team:
    def __init__(self, url: str, exact_rows: int = 10_000) -> None:
        self.database = PostgresDatabase(url, pool_size=4)
        self.embedder = Words()
        self.embeddings = PostgresEmbeddings(self.database, Words.identity, DIMENSIONS, exact_rows)
        side = PostgresLocalSide(self.embedder, self.embeddings)
        retriever = HybridRetriever(PostgresPostings(self.database), None, external=side)
        self.files = build_postgres_files(self.database, retriever=retriever, listener=side)

    def write(self, tenant: str, path: str, content: str) -> None:
        asyncio.run(
            self.files.service.write(
                AuthContext(Tenant(tenant), ALL_SCOPES, ""), "p", path, content
            )
        )

    def index(self) -> None:
        assert asyncio.run(self.files.indexer.drain())

    def search(self, tenant: str, query: str, prefix: str = "") -> Any:
        return asyncio.run(
            self.files.service.search(
                AuthContext(Tenant(tenant), ALL_SCOPES, ""), "p", query, prefix, 5
            )
        )

    def partition(self, tenant: str) -> Partition:
        return partition_of(AuthContext(Tenant(tenant), ALL_SCOPES, "").apikey_hash, "p")

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self.database.read_now(lambda connection: connection.execute(sql).fetchall())


@pytest.fixture
def team(postgres_url: str) -> Iterator[Team]:
    made = Team(postgres_url)
    yield made
    made.database.close()


def test_meaning_and_words_are_fused_inside_one_tenant(team: Team) -> None:
    for tenant in ("t1", "t2"):
        team.write(tenant, "/a.md", f"propeller pitch engine {tenant}")
        team.write(tenant, "/b.md", "bread flour yeast oven")
    team.index()
    found = team.search("t1", "engine propeller")
    assert found.mode == "hybrid"
    assert found.chunks[0].path == "/a.md"
    assert found.chunks[0].content.endswith("t1")
    assert found.chunks[0].explain["semantic"] > 0.5
    assert found.chunks[0].explain["lexical"] > 0
    assert "consensus" in found.chunks[0].explain  # as on one machine
    near = asyncio.run(
        team.embeddings.nearest(
            team.partition("t1"), team.embedder.embed_query("engine"), 30, "", []
        )
    )
    mine = {
        f"{path}#{number}"
        for path, number in team.rows(
            "SELECT file_path, id FROM mcp_file_chunks WHERE chunk_content NOT LIKE '% t2'"
        )
    }
    assert (near.rows, near.exact) == (2, True)
    for key, vector in near.vectors.items():
        assert float(vector @ team.embedder.embed_query("engine")) == pytest.approx(
            near.cosines[key], abs=1e-3
        )
    assert set(near.cosines) < mine
    below = asyncio.run(
        team.embeddings.nearest(
            team.partition("t1"), team.embedder.embed_query("engine"), 30, "/b", []
        )
    )
    assert [key.partition("#")[0] for key in below.cosines] == ["/b.md"]


def test_vectors_are_deleted_with_their_chunks_and_only_new_text_is_embedded(team: Team) -> None:
    team.write("t1", "/a.md", "one text")
    team.index()
    assert team.embedder.embedded == 1
    team.index()
    asyncio.run(team.files.service.reindex(AuthContext(Tenant("t1"), ALL_SCOPES, ""), None))
    team.index()
    assert team.embedder.embedded == 1
    asyncio.run(team.files.service.delete(AuthContext(Tenant("t1"), ALL_SCOPES, ""), "p", "/a.md"))
    team.index()
    assert team.rows("SELECT count(*) FROM mcp_file_chunk_embeddings") == [(0,)]


def test_embedding_continues_after_an_interruption(team: Team) -> None:
    team.write("t1", "/a.md", "\n\n".join(f"# Part {n}\n\n" + f"word{n} " * 120 for n in range(80)))
    full = team.embedder.embed
    calls = 0

    def failing(texts: Sequence[str]) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise RuntimeError("the model went away")
        return full(texts)

    passages = [
        Passage(f"{path}#{number}", str(text), str(number))
        for path, number, text in (
            team.index(),
            team.rows("SELECT file_path, id, chunk_content FROM mcp_file_chunks ORDER BY id"),
        )[1]
    ]
    team.database.write_now(
        lambda connection: connection.execute("DELETE FROM mcp_file_chunk_embeddings") and None
    )
    team.embedder.embedded = 0
    with pytest.raises(RuntimeError):
        asyncio.run(team.embeddings.synchronise(team.partition("t1"), passages, failing))
    kept = team.rows("SELECT count(*) FROM mcp_file_chunk_embeddings")[0][0]
    assert 0 < kept < len(passages)
    asyncio.run(team.embeddings.synchronise(team.partition("t1"), passages, full))
    assert (
        team.embedder.embedded
        == len(passages)
        == team.rows("SELECT count(*) FROM mcp_file_chunk_embeddings")[0][0]
    )


def test_vectors_of_another_model_are_not_compared(team: Team) -> None:
    team.write("t1", "/a.md", "one text")
    team.index()
    other = PostgresEmbeddings(team.database, "another-model", DIMENSIONS)
    place, asked = team.partition("t1"), team.embedder.embed_query("text")
    found = asyncio.run(other.nearest(place, asked, 5, "", []))
    assert (found.cosines, found.other_model) == ({}, Words.identity)
    with pytest.raises(EmbedderUnavailableError, match="another model"):
        asyncio.run(PostgresLocalSide(team.embedder, other).nearest(place, asked, 5, "", []))


def add_many_vectors(team: Team) -> None:
    """Give two tenants 600 chunks each, with random vectors."""
    generator = np.random.default_rng(7)
    for tenant in ("t1", "t2"):
        partition = team.partition(tenant)
        team.database.write_now(
            lambda connection, partition=partition: (
                connection.execute(
                    "INSERT INTO mcp_file_chunks (apikey_hash, project, file_path, chunk_index, "
                    "start_byte, end_byte, chunk_content,"
                    " content_hash, context) SELECT %s, 'p', '/d' || n %% 10 || '/f' || n, 0, 0, "
                    "1, 'x', repeat('a', 64), ''"
                    " FROM generate_series(1, 600) n",
                    (partition.tenant,),
                )
                and None
            )
        )
        numbers = team.rows(
            f"SELECT id FROM mcp_file_chunks WHERE apikey_hash = '{partition.tenant}' ORDER BY id"
        )
        vectors = generator.standard_normal((len(numbers), DIMENSIONS)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        asyncio.run(
            team.embeddings.add(
                partition, [(row[0], vector) for row, vector in zip(numbers, vectors, strict=True)]
            )
        )


def compare_with_exact_search(team: Team, partition: Partition) -> None:
    exact = PostgresEmbeddings(team.database, Words.identity, DIMENSIONS, 10_000)
    team.database.connect().execute("ANALYZE")
    shared = 0
    for seed in range(20):
        query = np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32)
        query /= np.linalg.norm(query)
        near = asyncio.run(team.embeddings.nearest(partition, query, 30, "", []))
        true = asyncio.run(exact.nearest(partition, query, 30, "", []))
        assert not near.exact
        assert true.exact
        shared += len(near.cosines.keys() & true.cosines.keys())
        for key in near.cosines.keys() & true.cosines.keys():
            assert near.cosines[key] == pytest.approx(true.cosines[key], abs=1e-5)
        below = asyncio.run(team.embeddings.nearest(partition, query, 5, "/d3/", []))
        assert len(below.cosines) == 5
        assert all(key.startswith("/d3/") for key in below.cosines)
    assert shared >= 0.95 * 20 * 30


def check_index_scan(team: Team, number: int, index: str) -> None:
    """Check that the plan scans this project's index alone and discards no row."""
    statement = team.embeddings._statement(
        queries_of(partition_of("", ""))["nearest_approximate"], number
    )
    values = {
        "query": "[" + ",".join(["0.05"] * DIMENSIONS) + "]",
        "model": Words.identity,
        "limit": 30,
    }
    (plan,) = team.database.read_now(
        lambda connection: connection.execute(
            f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", values
        ).fetchone(),
        snapshot=True,
    )
    (scan,) = [
        node
        for node in nodes(plan[0]["Plan"])
        if node.get("Relation Name") == "mcp_file_chunk_embeddings"
    ]
    assert (scan["Node Type"], scan["Index Name"]) == ("Index Scan", index)
    assert scan.get("Rows Removed by Filter", 0) == 0


def test_a_large_project_gets_its_own_index_that_agrees_with_exact_search(
    postgres_url: str,
) -> None:
    team = Team(postgres_url, exact_rows=300)
    team.write("t1", "/seed.md", "seed")
    team.write("t2", "/seed.md", "seed")
    team.index()
    add_many_vectors(team)
    team.embeddings.close()  # waits for the build that the vectors called for
    partition = team.partition("t1")
    number = team.rows(f"SELECT id FROM search_partition WHERE tenant = '{partition.tenant}'")[0][0]
    name = f"idx_mcp_file_embeddings_hnsw_{number}"
    team.embeddings.build_index(number)
    assert team.rows(f"SELECT indisvalid FROM pg_index WHERE indexrelid = '{name}'::regclass") == [
        (True,)
    ]
    compare_with_exact_search(team, partition)
    check_index_scan(team, number, name)
    team.database.close()


def test_the_query_vector_is_read_once_even_in_a_cached_plan() -> None:
    """A parameter that is cast beside a column is cast again for every row of a cached plan.

    That takes seconds instead of milliseconds. A parameter in its own SELECT is read once.
    """
    statements = load_queries("commonplace.files.store", "postgres_embeddings.sql")
    comparing = {name: sql for name, sql in statements.items() if ":query" in sql}
    assert len(comparing) == 5
    for name, sql in comparing.items():
        assert sql.count(":query") == sql.count("(SELECT :query::text::"), name


def nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from nodes(child)


def test_another_vector_length_is_refused_until_migrated_and_then_embedded_again(
    postgres_server: str,
) -> None:
    from commonplace.bootstrap.team import postgres_components
    from commonplace.storage.postgres.migrations import migrate

    url = make_database(postgres_server)
    database = PostgresDatabase(url, pool_size=1)
    migrate(database, postgres_components())
    assert fit_length(database, DIMENSIONS) == (
        1536,
        0,
    )  # the contract's own length stands in the schema
    require_length(database, DIMENSIONS)
    team = Team(url)
    team.write("t1", "/a.md", "one text")
    team.index()
    with pytest.raises(CommonplaceError) as refused:
        require_length(database, 8)
    assert "commonplace migrate" in str(refused.value.hint)
    assert refused.value.code.name == "SCHEMA_MISMATCH"
    assert fit_length(database, 8) == (DIMENSIONS, 1)
    assert team.rows("SELECT status FROM mcp_file_index_jobs") == [("pending",)]
    assert team.rows("SELECT count(*) FROM mcp_file_chunk_embeddings") == [(0,)]
    team.database.close()
    database.close()
    drop_database(postgres_server, url)
