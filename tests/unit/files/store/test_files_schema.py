"""Schemas: every released version upgrades with its data, and statements match the tables."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.files.assembly import build_files
from commonplace.kernel.auth import local_user
from commonplace.storage.migrations import load_migrations
from commonplace.storage.queries import load_queries
from commonplace.storage.sqlite.database import Database
from commonplace.storage.sqlite.migrations import migrate, schema_version

SOURCE = Path(__file__).parents[4] / "src" / "commonplace"
STORES = {"search": "search/lexical", "files": "files/store"}
COMPONENTS = tuple(STORES)
SAMPLES = {
    1: """
    INSERT INTO mcp_files (id, apikey_hash, project, path, size, content_hash, created_at,
    updated_at, content)
    VALUES (1, :tenant, 'p', '/old.md', 10, :hash, 1, 2, CAST('old walrus' AS BLOB));
    INSERT INTO mcp_file_ancestors VALUES (:tenant, 'p', '', 2, 1);
    INSERT INTO mcp_file_projects VALUES (:tenant, 'p', 1, 10);
    INSERT INTO mcp_file_index_jobs (apikey_hash, project, file_path, operation, available_at,
    created_at, updated_at)
    VALUES (:tenant, 'p', '/old.md', 'UPSERT', 0, 0, 0);
    """,
}
SAMPLES[2] = (
    SAMPLES[1]
    + """
    INSERT INTO mcp_file_vector_jobs (apikey_hash, project, file_path, status, available_at,
    created_at, updated_at)
    VALUES (:tenant, 'p', '/old.md', 'waiting_credential', 0, 0, 0);
    """
)
SAMPLES[3] = SAMPLES[2] + "INSERT INTO mcp_file_sources VALUES (1, NULL, 'folder');"
SAMPLES[4] = (
    SAMPLES[3]
    + """
    INSERT INTO mcp_file_local_vector_jobs (apikey_hash, project, file_path, status, available_at,
    created_at, updated_at)
    VALUES (:tenant, 'p', '/old.md', 'pending', 0, 0, 0);
    """
)
SAMPLES[5] = (
    SAMPLES[4]
    + """
    INSERT INTO mcp_file_sync_entries VALUES (:tenant, 'p', 'folder', '/old.md', :hash);
    """
)
SAMPLES[6] = (
    SAMPLES[5]
    + """
    INSERT INTO mcp_file_index_projects VALUES (1, :tenant, 'p');
    INSERT INTO mcp_file_index_records (id, project_id, file_path, chunker, analysis)
    VALUES (1, 1, '/old.md', 2, 1);
    INSERT INTO mcp_file_path_words VALUES (1, 'old', 1);
    """
)
SAMPLES[7] = SAMPLES[6]
SAMPLES[8] = (
    SAMPLES[7]
    + """
    INSERT INTO mcp_file_extracts (apikey_hash, project, file_path, position, extract_key,
    content_hash, title, summary, content, facts, start_line, end_line)
    VALUES (:tenant, 'p', '/old.md', 0, '/k', :hash, '', '', 'old', '{}', 0, 0);
    """
)
"""What a database of each released version of the files schema could hold."""


@pytest.mark.parametrize(
    "version", range(1, load_migrations("commonplace.files", "migrations/sqlite")[-1].version + 1)
)
def test_a_database_of_every_released_version_upgrades_with_its_data(
    tmp_path: Path, version: int
) -> None:
    database = Database(tmp_path / "old.db", durable=False)
    migrate(database, "search", load_migrations("commonplace.search", "migrations/sqlite")[:1])
    migrate(database, "files", load_migrations("commonplace.files", "migrations/sqlite")[:version])
    values = {"tenant": local_user().apikey_hash, "hash": hashlib.sha256(b"old walrus").hexdigest()}
    database.write_now(lambda connection: connection.execute(SAMPLES[version], values) and None)
    files = build_files(database, tmp_path)
    service, user = files.service, local_user()

    async def use() -> None:
        assert (await service.read(user, "p", "/old.md")).content == "old walrus"
        await service.write(user, "p", "/old.md", " swims")
        assert [entry.path for entry in (await service.list_directory(user, "p")).entries] == [
            "/old.md"
        ]
        assert await files.indexer.drain()
        assert [
            chunk.content for chunk in (await service.search(user, "p", "walrus swimming")).chunks
        ] == ["old walrus swims"]
        assert (await service.usage(user, "p")).size_bytes == 16

    asyncio.run(use())
    for component in COMPONENTS:
        newest = load_migrations(f"commonplace.{component}", "migrations/sqlite")[-1].version
        assert schema_version(database.reader(), component) == newest
    database.close()


def every_query(component: str) -> Iterator[tuple[str, str]]:
    folder = STORES[component]
    for file in sorted((SOURCE / folder).glob("[cs]*.sql")):  # common.sql and SQLite's own
        yield from load_queries(f"commonplace.{folder.replace('/', '.')}", file.name).items()


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_query_is_valid_and_used(tmp_path: Path, component: str) -> None:
    database = Database(tmp_path / "q.db", durable=False)
    build_files(database, tmp_path)
    code = (
        "".join(path.read_text() for path in (SOURCE / component).rglob("*.py"))
        + (SOURCE / "storage" / "outbox.py").read_text()
    )
    for name, sql in every_query(component):
        parameters = dict.fromkeys(re.findall(r":([a-z_]+)", re.sub(r"--.*", "", sql)))
        database.reader().execute(f"EXPLAIN {sql}", parameters).fetchall()
        family = re.sub(r"^tenant_(move|delete)_\w+$", r"tenant_\1_", name)
        assert f'"{family}' in code, f"{name} is not used"
    database.close()


def test_tenant_filters_and_listings_use_an_index(tmp_path: Path) -> None:
    """No statement of a call scans rows of other tenants."""
    database = Database(tmp_path / "q.db", durable=False)
    build_files(database, tmp_path)
    operator = {
        "purge",
        "owners",
        "outbox_claim",
        "outbox_counts",
        "outdated_everywhere",
        "job_due",
        "vector_counts",
        "vector_projects",
    }
    for name, sql in every_query("files"):
        parameters = dict.fromkeys(re.findall(r":([a-z_]+)", re.sub(r"--.*", "", sql)))
        plan = [
            str(row[3])
            for row in database.reader().execute(f"EXPLAIN QUERY PLAN {sql}", parameters)
        ]
        scans = [step for step in plan if re.match(r"SCAN (mcp_|f\b|c\b|a\b|search_)", step)]
        if name not in operator and not name.startswith("tenant_"):
            assert not scans, (name, plan)
    database.close()
