"""Integrity checks of the database of memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from commonplace.memory.model import digest
from commonplace.storage.integrity.checks import DatabaseChecks, InvalidRows, StoredDigest, Value

DERIVED = ("search_",)
_TEXTS = ("type", "title", "content", "project")


def database_checks(path: Path) -> DatabaseChecks:
    """Describe the checks: entries match their digests, JSON columns are valid."""
    entries = StoredDigest(
        "memory_entries", ("digest", *(f"CAST({name} AS BLOB)" for name in _TEXTS)), _matches
    )
    invalid = (
        InvalidRows("memory_entries", "NOT json_valid(tags)", "the tags are not JSON"),
        InvalidRows("memory_entries", "NOT json_valid(anchors)", "the anchors are not JSON"),
        InvalidRows("memory_history", "NOT json_valid(before)", "the earlier state is not JSON"),
        InvalidRows("memory_suggestions", "NOT json_valid(entry_ids)", "the ids are not JSON"),
    )
    return DatabaseChecks(path, DERIVED, (entries,), invalid)


def _matches(values: Sequence[Value]) -> bool:
    stored, *texts = values
    try:
        kind, title, content, project = (
            text.decode() if isinstance(text, bytes) else text for text in texts
        )
    except UnicodeDecodeError:
        return False
    if not isinstance(kind, str) or not isinstance(title, str) or not isinstance(content, str):
        return False
    return digest(kind, title, content, str(project) if project is not None else None) == stored
