"""The transitional lexical mode on PostgreSQL (docs/reference/contracts/files.md, section 7.3):
results, explanations, and changes between the modes.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from files_box import Box, Words
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.bootstrap.app import build
from commonplace.cli.migrate import SchemaStep, _on_postgres
from commonplace.files.postgres_assembly import lexical_store
from commonplace.files.store.postgres_embeddings import PostgresEmbeddings
from commonplace.files.store.postgres_sides import PostgresLocalSide
from commonplace.files.store.postgres_words import fit_mode, lexical_mode, words_of
from commonplace.kernel.auth import Tenant, tenant_hash
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import (
    Embedding,
    FilesSearch,
    FilesSettings,
    LexicalMode,
    McpSettings,
    Settings,
    StorageSettings,
)
from commonplace.search.lexical.postgres import PostgresPostings
from commonplace.search.retriever import HybridRetriever
from commonplace.storage.postgres.database import PostgresDatabase, open_database

TEXTS = {
    "/wing.md": "# Wings\n\nThe swept wing lowers drag near the speed of sound.",
    "/propeller.md": "# Propellers\n\nA variable pitch propeller keeps the engine at its "
    "best speed.",
    "/aile.md": "Les ailes en flèche réduisent la traînée à grande vitesse.",
    "/retry.py": "def retry_policy(maxAttempts):\n    return BackoffError('x')\n",
    "/ja.md": "東京都の天気は晴れです。",
    "/odd.md": "C++ and C# and o'clock and back\\slash, version 1.2.3",
}
QUERIES = [
    "swept wing drag", "propellers pitch", "réduire la trainée", "max attempts", "backoff error",
    "天気", "c#", "version 1.2.3",
    "o'clock", "speed",
]  # fmt: skip


def with_mode(mode: LexicalMode) -> FilesSettings:
    return FilesSettings(search=FilesSearch(lexical=mode))


def hybrid_box(path: Path, url: str, mode: LexicalMode, embedder: Words) -> Box:
    chosen = with_mode(mode)
    database = PostgresDatabase(url, pool_size=2)
    side = PostgresLocalSide(
        embedder, PostgresEmbeddings(database, embedder.identity, embedder.dimensions)
    )
    box = Box(
        path,
        chosen,
        url=url,
        retriever=HybridRetriever(
            lexical_store(database, chosen, PostgresPostings(database)), external=side
        ),
        listener=side,
    )
    box.also = database  # type: ignore[attr-defined]
    return box


def close(box: Box) -> None:
    box.close()
    box.also.close()  # type: ignore[attr-defined]


def test_both_modes_find_the_same_files_and_agree_on_the_first(
    tmp_path: Path, postgres_url: str
) -> None:
    answers: dict[str, list[tuple[set[str], str]]] = {}
    for mode in ("bm25", "tsvector"):
        box = Box(tmp_path, with_mode(mode), url=postgres_url)
        for path, text in TEXTS.items():
            box.call("file_write", mode, path=path, content=text)
        box.index()
        found = [
            [chunk["file_path"] for chunk in box.call("file_search", mode, query=query)["chunks"]]
            for query in QUERIES
        ]
        assert all(found), dict(zip(QUERIES, found, strict=True))
        answers[mode] = [(set(paths), paths[0]) for paths in found]
        box.close()
    assert answers["tsvector"] == answers["bm25"]


def test_the_components_of_the_score_stay_visible_and_are_fused(
    tmp_path: Path, postgres_url: str
) -> None:
    """003-7.4.4"""
    box = hybrid_box(tmp_path, postgres_url, "tsvector", Words())
    for path, text in TEXTS.items():
        box.write(path, text)
    box.index()
    answer = box.call("file_search", query="variable propeller wombat", explain=True)
    best = answer["chunks"][0]
    assert (answer["mode"], best["file_path"]) == ("hybrid", "/propeller.md")
    assert 0 < best["explain"]["lexical"] < 1
    assert 0 < best["explain"]["semantic"] <= 1
    assert best["explain"]["ts_rank"] > 0
    assert "bm25" not in best["explain"]
    assert best["explain"]["missing"] == ["wombat"]
    assert answer["chunks"] == sorted(answer["chunks"], key=lambda chunk: -chunk["score"])
    only_meaning = [chunk for chunk in answer["chunks"] if chunk["explain"]["lexical"] is None]
    assert only_meaning
    close(box)


def test_more_of_the_words_and_rarer_words_rank_higher_and_the_text_before_the_path(
    tmp_path: Path, postgres_url: str
) -> None:
    box = Box(tmp_path, with_mode("tsvector"), url=postgres_url)
    box.write("/both.md", "alder birch")
    box.write("/one.md", "alder maple")
    for number in range(6):
        box.write(f"/common{number}.md", "maple wood")
    box.write("/oak.md", "nothing here")
    box.write("/text.md", "an oak stands")
    box.index()
    assert box.found("alder birch")[0] == "/both.md"
    assert box.found("alder maple")[0] == "/one.md"
    assert box.found("birch maple")[0] == "/both.md"  # the rarer word tells more
    assert box.found("oak") == ["/text.md", "/oak.md"]
    scores = [
        chunk["score"]
        for chunk in box.call("file_search", query="alder birch maple", limit=20)["chunks"]
    ]
    assert all(0 < score <= 1 for score in scores)
    box.close()


def test_an_index_scan_reads_no_other_tenants_words(tmp_path: Path, postgres_url: str) -> None:
    """The index has a lexeme per partition: a word common to forty tenants costs one of them."""
    box = Box(tmp_path, with_mode("tsvector"), url=postgres_url)
    for tenant in range(3):
        box.call("file_write", f"t{tenant}", path="/a", content="common words here")
    box.index()
    mine = tenant_hash(Tenant("t1"))
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO mcp_file_chunks (apikey_hash, project, file_path, chunk_index, "
            "start_byte, end_byte, chunk_content, content_hash,"
            " context) SELECT lpad((n % 40)::text, 64, '0'), 'p', '/f' || n, 0, 0, 1, 'x', "
            "repeat('a', 64), ''"
            " FROM generate_series(1, 8000) n"
        )
        connection.execute(
            "INSERT INTO mcp_file_chunk_words SELECT id, ('''#' || 100000 + id % 40 || ''' "
            "common:1A')::tsvector FROM mcp_file_chunks"
            " WHERE file_path LIKE '/f%'"
        )
        connection.execute("VACUUM ANALYZE")
        (number,) = connection.execute(
            "SELECT id FROM search_partition WHERE tenant = %s", (mine,)
        ).fetchone()  # type: ignore[misc]
        from commonplace.files.store.postgres_words import _QUERIES

        terms = json.dumps([[f"'#{number}' & 'common'", "'common'", 1.0]])
        place = {"tenant": mine, "project": "p", "prefix": "", "upper": ""}
        values = {
            **place,
            "terms": terms,
            "weights": [0.0, 0.0, 0.4, 1.0],
            "ids": None,
            "limit": 30,
        }
        (plan,) = connection.execute(
            f"EXPLAIN (ANALYZE, FORMAT JSON) {_QUERIES['words_rank']}", values
        ).fetchone()  # type: ignore[misc]
    scans = [
        node
        for node in nodes(plan[0]["Plan"])
        if node.get("Relation Name") == "mcp_file_chunk_words"
    ]
    assert [node["Node Type"] for node in scans] == ["Bitmap Heap Scan"]
    assert scans[0]["Actual Rows"] * scans[0]["Actual Loops"] == 1
    assert scans[0].get("Rows Removed by Index Recheck", 0) == 0
    assert box.found("common", tenant="t1") == ["/a"]
    box.close()


def nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from nodes(child)


@settings(max_examples=200)
@given(
    held=st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20),
        st.integers(1, 300),
        max_size=8,
    )
)
def test_any_term_is_a_lexeme(held: dict[str, int]) -> None:
    from servers import migrated_database

    with psycopg.connect(migrated_database()) as connection:
        row = connection.execute(
            "SELECT tsvector_to_array(%s::text::tsvector)", (words_of(7, {"text": held}),)
        ).fetchone()
    assert row is not None
    assert set(row[0]) == {*held, "#7"}


def test_a_database_changes_its_mode_and_back_without_embedding_anything_again(
    tmp_path: Path, postgres_url: str
) -> None:
    embedder = Words()
    box = hybrid_box(tmp_path, postgres_url, "bm25", embedder)
    for path, text in TEXTS.items():
        box.write(path, text)
    box.write("/other.md", "another project", project="other")
    box.index()
    made = embedder.embedded
    before = [box.found(query) for query in QUERIES]
    close(box)
    with open_database(postgres_url, pool_size=1) as database:
        assert fit_mode(database, "tsvector") == ("bm25", made)
        assert fit_mode(database, "tsvector") == ("tsvector", 0)
    box = hybrid_box(tmp_path, postgres_url, "tsvector", embedder)
    assert [box.found(query)[0] for query in QUERIES] == [paths[0] for paths in before]
    box.write("/new.md", "a brontosaurus appears")
    box.call("file_delete", path="/wing.md")
    box.call("file_edit", path="/aile.md", old_text="vitesse", new_text="allure")
    box.index()
    assert box.found("brontosaurus")[0] == "/new.md"
    close(box)
    embedded = embedder.embedded
    with open_database(postgres_url, pool_size=1) as database:
        assert fit_mode(database, "bm25")[0] == "tsvector"
        assert database.read_now(lexical_mode) == "bm25"
    box = hybrid_box(tmp_path, postgres_url, "bm25", embedder)
    assert box.found("brontosaurus")[0] == "/new.md"
    assert box.call("file_search", query="allure", explain=True)["chunks"][0]["explain"]["bm25"] > 0
    assert "/wing.md" not in box.found("swept wing drag", limit=20)
    assert embedder.embedded == embedded
    # The statistics are those of a database that was never in the other mode.
    statistics = (
        "SELECT field, documents, length FROM search_field f JOIN search_partition p ON "
        "p.id = f.partition_id ORDER BY p.scope, field"
    )
    kept = box.rows(statistics)
    asyncio.run(
        box.files.service._chunks.enqueue_all(tenant_hash(Tenant("t1")), None, rebuild=True)
    )
    box.index()
    assert box.rows(statistics) == kept
    close(box)


def test_a_server_refuses_the_other_mode_until_migrated(tmp_path: Path, postgres_url: str) -> None:
    search = FilesSearch(lexical="tsvector", embedding=Embedding(provider="off"))
    chosen = Settings(
        data=tmp_path,
        storage=StorageSettings(url=postgres_url),
        mcp=McpSettings(files=FilesSettings(search=search)),
    )
    with build(chosen) as app, pytest.raises(CommonplaceError) as refused:
        app.start(http=False)
    assert refused.value.code.name == "SCHEMA_MISMATCH"
    assert "commonplace migrate" in str(refused.value.hint)
    assert [step for step in _on_postgres(chosen, check=True) if step.found != step.needed] == [
        SchemaStep("lexical mode", "bm25", "tsvector")
    ]
    list(_on_postgres(chosen, check=False))
    assert all(step.found == step.needed for step in _on_postgres(chosen, check=True))
    with build(chosen) as app:
        app.start(http=False)
