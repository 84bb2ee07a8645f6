"""Integrity checks of the files database: content against its hashes."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from pathlib import Path

import apsw

from commonplace.storage.integrity.checks import DatabaseChecks, StoredDigest, Value

DERIVED = ("search_", "mcp_file_chunks", "mcp_file_index_jobs")


def database_checks(path: Path) -> DatabaseChecks:
    """Return the checks; derived tables can be rebuilt."""
    digests = tuple(
        StoredDigest(table, ("content_hash", f"CAST({column} AS BLOB)"), _matches)
        for table, column in (("mcp_files", "content"), ("mcp_file_chunks", "chunk_content"))
    )
    return DatabaseChecks(path, DERIVED, digests)


def _matches(values: Sequence[Value]) -> bool:
    digest, content = values
    return isinstance(content, bytes) and hashlib.sha256(content).hexdigest() == digest


def queue_everything(connection: apsw.Connection) -> None:
    """Queue every live file of every tenant, for an empty index."""
    now = time.time_ns() // 1000
    connection.execute(
        "INSERT INTO mcp_file_index_jobs"
        " (apikey_hash, project, file_path, operation, file_updated_at, available_at, "
        "created_at, updated_at)"
        " SELECT apikey_hash, project, path, 'UPSERT', updated_at, :now, :now, :now FROM "
        "mcp_files WHERE deleted = 0",
        {"now": now},
    )
