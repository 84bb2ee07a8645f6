"""Rekall's archive and database."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import apsw
import orjson

from commonplace.memory.use_cases.transfer import (
    ImportFormat,
)
from memory_calls import Calls, import_file


def rekall_database(path: Path) -> None:
    """Create a database as Rekall does at its schema version 7."""
    connection = apsw.Connection(str(path))
    connection.execute(
        """CREATE TABLE entries (id TEXT PRIMARY KEY, title TEXT, type TEXT, content TEXT,
           project TEXT, confidence INTEGER, status TEXT, superseded_by TEXT, created_at TEXT,
           updated_at TEXT, memory_type TEXT, last_accessed TEXT, access_count INTEGER,
           consolidation_score REAL, context_compressed BLOB, context_structured TEXT,
           context_blob BLOB);
           CREATE TABLE tags (entry_id TEXT, tag TEXT);
           CREATE TABLE links (id TEXT, source_id TEXT, target_id TEXT, relation_type TEXT,
           created_at TEXT, reason TEXT);"""
    )
    context = zlib.compress(
        orjson.dumps({"situation": "deploy broke", "trigger_keywords": ["helm", "rollback"]})
    )
    connection.execute(
        "INSERT INTO entries VALUES ('01HXAAAAAAAAAAAAAAAAAAAAAA', 'Helm rollback', 'bug', "
        "'rolled back', 'ops', 4, 'active', NULL, "
        "'2025-01-02T03:04:05', '2025-01-03T03:04:05', 'episodic', '2025-02-01T00:00:00', 7, "
        "0.5, NULL, NULL, ?)",
        (context,),
    )
    connection.execute(
        "INSERT INTO entries VALUES ('01HXBBBBBBBBBBBBBBBBBBBBBB', 'Older', 'pattern', '', NULL, "
        "NULL, 'obsolete', "
        "'01HXAAAAAAAAAAAAAAAAAAAAAA', '2025-01-01T00:00:00', '2025-01-01T00:00:00', 'semantic', "
        "NULL, 0, 0, NULL, NULL, NULL)"
    )
    connection.execute(
        "INSERT INTO tags VALUES ('01HXAAAAAAAAAAAAAAAAAAAAAA', 'helm'), "
        "('01HXAAAAAAAAAAAAAAAAAAAAAA', 'k8s')"
    )
    connection.execute(
        "INSERT INTO links VALUES ('L', '01HXAAAAAAAAAAAAAAAAAAAAAA', "
        "'01HXBBBBBBBBBBBBBBBBBBBBBB', 'supersedes', '2025-01-02', '')"
    )
    connection.close()


def write_zip(
    path: Path, records: list[Any], checksum: str | None = None, version: str = "1.0"
) -> None:
    import hashlib

    content = orjson.dumps(records)
    manifest = {
        "format_version": version,
        "checksum": checksum or f"sha256:{hashlib.sha256(content).hexdigest()}",
        "stats": {},
    }
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", orjson.dumps(manifest))
        archive.writestr("entries.json", content)


def test_a_rekall_database_keeps_ids_context_links_and_accesses(
    memory: Calls, tmp_path: Path
) -> None:
    rekall_database(tmp_path / "knowledge.db")
    before = (tmp_path / "knowledge.db").read_bytes()
    done = import_file(memory, tmp_path / "knowledge.db")
    assert (done.format, done.entries, done.links) == (ImportFormat.REKALL_DATABASE, 2, 1)
    assert (tmp_path / "knowledge.db").read_bytes() == before
    shown = memory("rekall_show", id="01HXAAAAAAAAAAAAAAAAAAAAAA")
    assert (shown["project"], shown["confidence"], shown["tags"], shown["access_count"]) == (
        "ops",
        4,
        ["helm", "k8s"],
        8,
    )
    assert shown["created_at"] == "2025-01-02T03:04:05.000Z"
    assert memory("rekall_search", query="rollback deploy broke")["results"][0]["id"] == shown["id"]
    assert (
        memory("rekall_show", id="01HXBBBBBBBBBBBBBBBBBBBBBB")["superseded_by"]["id"] == shown["id"]
    )


def test_a_database_with_an_unmerged_journal_is_imported_whole(
    memory: Calls, tmp_path: Path
) -> None:
    path = tmp_path / "knowledge.db"
    rekall_database(path)
    running = apsw.Connection(str(path))
    running.execute("PRAGMA journal_mode = WAL").fetchall()
    running.execute(
        "UPDATE entries SET title = 'Newest title' WHERE id = '01HXAAAAAAAAAAAAAAAAAAAAAA'"
    )
    assert path.with_name("knowledge.db-wal").stat().st_size > 0
    import_file(memory, path)
    running.close()
    assert memory("rekall_show", id="01HXAAAAAAAAAAAAAAAAAAAAAA")["title"] == "Newest title"


def test_an_archive_without_links_is_read(memory: Calls, tmp_path: Path) -> None:
    record = {
        "id": "01HXAAAAAAAAAAAAAAAAAAAAAA",
        "title": "T",
        "type": "bug",
        "created_at": "2025-01-01T00:00:00",
        "updated_at": "2025-01-01T00:00:00",
    }
    write_zip(tmp_path / "x.rekall.zip", [record])
    assert import_file(memory, tmp_path / "x.rekall.zip").entries == 1
    assert memory("rekall_show", id="01HXA")["confidence"] == 2
