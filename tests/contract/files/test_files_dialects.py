"""SQLite and PostgreSQL define the same statements, and their plans stay in one tenant."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from commonplace.storage.queries import load_postgres_queries, load_queries

SOURCE = Path(__file__).parents[3] / "src" / "commonplace"
STATEMENTS = sorted(
    path
    for path in SOURCE.rglob("*.sql")
    if not {"migrations", "schema"} & set(path.relative_to(SOURCE).parts)
)
TENANTS, FILES, CHUNKS = 40, 50, 4
LONGEST = 200  # files and chunks of a tenant
QUEUES = ("outbox_", "vector_", "job_", "enqueue_")
CLOCK = {
    "now"
}  # of this process; queues that several machines share use the clock of PostgreSQL instead


def package_of(path: Path) -> str:
    return ".".join(("commonplace", *path.relative_to(SOURCE).parent.parts))


TWINS = [
    (package_of(path), path.name.removeprefix("sqlite"))
    for path in STATEMENTS
    if path.name.startswith("sqlite")
]
STORES = {"files": "commonplace.files.store", "search": "commonplace.search.lexical"}


def parameters(sql: str) -> set[str]:
    return set(re.findall(r"(?<![:\w]):([a-z_]+)", re.sub(r"--.*", "", sql)))


@pytest.mark.parametrize(("package", "rest"), TWINS, ids=lambda value: str(value))
def test_both_dialects_define_the_same_statements_with_the_same_parameters(
    package: str, rest: str
) -> None:
    sqlite = load_queries(package, f"sqlite{rest}")
    postgres = load_queries(package, f"postgres{rest}")
    expected = {
        name: parameters(sql) - (CLOCK if name.startswith(QUEUES) else set())
        for name, sql in sqlite.items()
    }
    assert expected == {name: parameters(sql) for name, sql in postgres.items()} | {
        name: parameters(postgres[name]) - CLOCK for name in postgres if name.startswith(QUEUES)
    }


@pytest.fixture(scope="module")
def crowded(migrated_postgres: str) -> Iterator[psycopg.Connection[Any]]:
    """Forty tenants, each with files, chunks, postings and vectors; statistics are up to date."""
    from servers import empty_tables

    empty_tables(migrated_postgres)
    with psycopg.connect(migrated_postgres, autocommit=True) as connection:
        fill(connection)
        yield connection
    empty_tables(migrated_postgres)


def fill(connection: psycopg.Connection[Any]) -> None:
    tenants = "lpad(t::text, 64, '0')"
    for statement in (
        f"""INSERT INTO mcp_files (apikey_hash, project, path, content, size, content_hash)
            SELECT {tenants}, 'p', '/d' || f % 5 || '/f' || f, 'x', 1, repeat('a', 64)
            FROM generate_series(1, {TENANTS}) t, generate_series(1, {FILES}) f""",
        """INSERT INTO mcp_file_ancestors SELECT apikey_hash, project, d, updated_at, id FROM
        mcp_files,
           unnest(ARRAY['', substring(path FROM '^/d[0-9]')]) AS d""",
        "INSERT INTO mcp_file_sources SELECT id, path || ' ', 'folder' FROM mcp_files",
        """INSERT INTO mcp_file_sync_entries SELECT apikey_hash, project, 'folder', path,
           content_hash FROM mcp_files""",
        (
            f"INSERT INTO mcp_file_projects SELECT {tenants}, 'p', {FILES}, {FILES} FROM "
            f"generate_series(1, {TENANTS}) t"
        ),
        f"""INSERT INTO mcp_file_chunks
                (apikey_hash, project, file_path, chunk_index, start_byte, end_byte, chunk_content,
                content_hash, context)
            SELECT apikey_hash, project, path, c, 0, 1, 'x', repeat('a', 64), '' FROM mcp_files,
            generate_series(0, {CHUNKS - 1}) c""",
        (
            f"INSERT INTO search_partition (tenant, collection, scope) SELECT {tenants}, 'files', "
            f"'p' FROM generate_series(1, {TENANTS}) t"
        ),
        (
            f"INSERT INTO search_field SELECT id, 'text', {FILES * CHUNKS}, {FILES * CHUNKS * 5} "
            f"FROM search_partition"
        ),
        """INSERT INTO search_document (partition_id, document)
           SELECT p.id, c.file_path || '#' || c.id FROM mcp_file_chunks c JOIN search_partition p
           ON p.tenant = c.apikey_hash""",
        f"""INSERT INTO search_term (partition_id, term, field, documents)
            SELECT id, 'w' || w, 'text', {FILES * CHUNKS} FROM search_partition, generate_series(1,
            400) w""",
        """INSERT INTO search_posting SELECT t.id, d.id, 1, 5 FROM search_term t JOIN
        search_document d USING (partition_id)
           WHERE t.term IN ('w1', 'w2', 'w3')""",
        f"""INSERT INTO mcp_file_extracts (apikey_hash, project, file_path, position, extract_key,
                content_hash, title, summary, content, facts, start_line, end_line)
            SELECT apikey_hash, project, path, c, '/k' || c, repeat('a', 64), '', '', 'x', '{{}}',
            1, 2 FROM mcp_files, generate_series(0, {CHUNKS - 1}) c""",
        f"""INSERT INTO mcp_file_index_projects (apikey_hash, project) SELECT {tenants}, 'p'
            FROM generate_series(1, {TENANTS}) t""",
        """INSERT INTO mcp_file_index_records (project_id, file_path, chunker, analysis)
           SELECT p.id, f.path, 1, 1 FROM mcp_files f JOIN mcp_file_index_projects p
           ON p.apikey_hash = f.apikey_hash""",
        """INSERT INTO mcp_file_chunk_bm25 (chunk_id, tokens, token_count, tokenizer) SELECT id,
        '{}', 5, 't' FROM mcp_file_chunks""",
        """INSERT INTO mcp_file_index_jobs (apikey_hash, project, file_path, operation)
           SELECT apikey_hash, project, path, 'UPSERT' FROM mcp_files""",
        "VACUUM ANALYZE",
    ):
        connection.execute(statement)


OPERATOR = {
    "contents",
    "purge",
    "outbox_claim",
    "outbox_counts",
    "outbox_places",
    "outbox_reclaim",
    "outbox_renew",
    "job_due",
}


def values(
    names: set[str], tenant: str, partition: int, term: int, document: int
) -> dict[str, Any]:
    texts: dict[str, Any] = {
        "tenant": tenant, "old": tenant, "new": "f" * 64, "project": "p", "scope": "p",
        "path": "/d1/f1", "directory": "/d1",
        "start": "/d1/", "upper": "/d10", "prefix": "/d1/", "owner": "me", "operation": "UPSERT",
        "hash": "a" * 64, "context": "", "origin": "folder",
        "collection": "files", "term": "w1", "field": "text", "document": "/d1/f1#1", "error": "",
        "content": "x", "tokens": "{}",
        "tokenizer": "t", "terms": f"[[{term}, 1.0, 0.3, 0.01]]", "documents": f"[{document}]",
        "ids": f"[{document}]",
        "postings": f"[[{term}, {document}]]", "partition": partition, "levels": 2,
        "after": "/d1/f1", "ref": "r", "key": "/k1",
    }  # fmt: skip
    return {name: texts.get(name, 1) for name in names}


@pytest.mark.parametrize("component", ["files", "search"])
def test_no_statement_of_a_call_reads_other_tenants_rows(
    crowded: psycopg.Connection[Any], component: str
) -> None:
    """EXPLAIN ANALYZE of every reading statement: an index finds the rows, few are discarded."""
    row = crowded.execute(
        "SELECT p.tenant, p.id FROM search_partition p ORDER BY id LIMIT 1 OFFSET 20"
    ).fetchone()
    assert row is not None
    tenant, partition = row
    term = crowded.execute(
        "SELECT id FROM search_term WHERE term = 'w1' AND partition_id = %s", (partition,)
    ).fetchone()[0]  # type: ignore[index]
    document = crowded.execute(
        "SELECT id FROM search_document WHERE partition_id = %s", (partition,)
    ).fetchone()[0]  # type: ignore[index]
    read = 0
    files = ["common.sql", "postgres.sql"]
    files += ["common_extracts.sql"] if component == "files" else []
    sources = load_queries(STORES[component], *files)
    for name, sql in load_postgres_queries(STORES[component], *files).items():
        if (
            name in OPERATOR
            or name.startswith("tenant_")
            or not re.match(r"\s*(SELECT|WITH RECURSIVE|WITH query)", sql)
        ):
            continue
        given = values(parameters(sources[name]), tenant, partition, term, document)
        if name == "file_slice":
            given["start"] = 1
        if name == "posting_terms":
            given["terms"] = f"[{term}]"
        if "moment_of(%(after)s)" in sql:
            given["after"] = 1
        with crowded.transaction(force_rollback=True):
            (plan,) = crowded.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", given).fetchone()  # type: ignore[misc]
        for node in nodes(plan[0]["Plan"]):
            relation = node.get("Relation Name", "")
            scanned = (
                node["Actual Rows"] * node["Actual Loops"]
                + node.get("Rows Removed by Filter", 0) * node["Actual Loops"]
            )
            if relation.startswith(("mcp_", "search_")) and relation not in (
                "search_partition",
                "mcp_file_projects",
                "mcp_file_index_projects",
                "search_field",
            ):
                assert node["Node Type"] != "Seq Scan", (name, json.dumps(plan)[:3000])
                assert node.get("Rows Removed by Filter", 0) <= LONGEST, (name, node)
                assert scanned <= 5 * LONGEST, (name, node)
        read += 1
    assert read > 10


def nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from nodes(child)


def test_every_statement_of_postgres_is_used() -> None:
    code = "".join(path.read_text() for path in SOURCE.rglob("*.py"))
    for file in STATEMENTS:
        if not file.name.startswith(("common", "postgres")):
            continue
        for name, sql in load_postgres_queries(package_of(file), file.name).items():
            family = re.sub(r"(move_|tenant_delete_|delete_all_).*", r"\1", name)
            assert f'"{family}' in code, f"{file.name}: {name} is not used"
            assert sql.rstrip().endswith(";"), f"{file.name}: {name}"
