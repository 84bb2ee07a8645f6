"""What callers report back: one JSON file, newest 1,000 kept, safe for several processes."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from commonplace.instructions.engine.normalise import parse_time
from commonplace.kernel.durability import sync_file
from commonplace.storage.disk.private_files import make_private_folder, open_private
from commonplace.storage.errors import document_damaged
from commonplace.storage.locks.file_lock import exclusive_lock

TYPES = (
    "issue",
    "status",
    "security",
    "feature-request",
    "bug-report",
    "performance",
    "usability",
    "other",
)
SEVERITIES = ("low", "medium", "high", "critical")
STATUSES = ("new", "acknowledged", "in-progress", "resolved", "closed")
KEEP = 1000
TITLE_CHARS, DESCRIPTION_CHARS, TAGS = 200, 2000, 10

log = logging.getLogger("commonplace.feedback")


class Feedback:
    """Entries newest last in the file, newest first in answers."""

    def __init__(self, path: Path, *, clock: Callable[[], str]) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.RLock()
        self._known: tuple[tuple[int, int, int], list[dict[str, Any]]] | None = None

    def submit(self, entry: Mapping[str, Any], by: str) -> dict[str, Any]:
        now = self._clock()
        record = {
            "id": secrets.token_hex(8),
            "timestamp": now,
            "type": entry["type"],
            "severity": entry["severity"],
            "title": entry["title"].strip()[:TITLE_CHARS],
            "description": entry["description"].strip()[:DESCRIPTION_CHARS],
            "status": "new",
            "submittedBy": by,
        }
        for name in ("context", "metadata"):
            if entry.get(name):
                record[name] = entry[name]
        if entry.get("tags"):
            record["tags"] = list(entry["tags"])[:TAGS]
        with self._changing() as entries:
            entries.append(record)
            del entries[:-KEEP]
        if record["type"] == "security" or record["severity"] == "critical":
            log.warning(
                "feedback %s: %s (%s, %s)",
                record["id"],
                record["title"],
                record["type"],
                record["severity"],
            )
        return record

    def select(
        self, filters: Mapping[str, Any], limit: int, offset: int
    ) -> tuple[list[dict[str, Any]], int]:
        since = parse_time(filters["since"]) if filters.get("since") else None
        tags = set(filters.get("tags") or ())
        found = [
            entry
            for entry in reversed(self._entries())
            if all(
                filters.get(name) in (None, entry.get(name))
                for name in ("type", "severity", "status")
            )
            and (since is None or (parse_time(entry.get("timestamp")) or 0.0) >= since)
            and (not tags or tags & set(entry.get("tags") or ()))
        ]
        return found[offset : offset + limit], len(found)

    def get(self, id_: str) -> dict[str, Any] | None:
        return next((entry for entry in self._entries() if entry.get("id") == id_), None)

    def update(
        self, id_: str, status: str | None, metadata: Mapping[str, Any] | None, by: str
    ) -> dict[str, Any] | None:
        with self._changing() as entries:
            for number, entry in enumerate(entries):
                if entry.get("id") == id_:
                    changed = {**entry, "lastUpdated": self._clock(), "updatedBy": by}
                    if status:
                        changed["status"] = status
                    if metadata:
                        changed["metadata"] = {**(entry.get("metadata") or {}), **metadata}
                    entries[number] = changed
                    return changed
        return None

    def stats(self, since: str | None) -> dict[str, Any]:
        entries = self._entries()
        now = parse_time(self._clock()) or 0.0
        start = (parse_time(since) if since else None) or float("-inf")
        ages = [(parse_time(entry.get("timestamp")) or 0.0, entry) for entry in entries]
        counted = [entry for at, entry in ages if at >= start]
        return {
            "total": len(counted),
            "byType": dict(Counter(str(entry.get("type")) for entry in counted)),
            "bySeverity": dict(Counter(str(entry.get("severity")) for entry in counted)),
            "byStatus": dict(Counter(str(entry.get("status")) for entry in counted)),
            "recentActivity": {
                name: sum(at >= now - window.total_seconds() for at, _ in ages)
                for name, window in (
                    ("last24h", timedelta(days=1)),
                    ("last7d", timedelta(days=7)),
                    ("last30d", timedelta(days=30)),
                )
            },
        }

    def storage(self) -> dict[str, Any]:
        folder = self._path.parent
        return {
            "accessible": folder.is_dir() or not folder.exists(),
            "writable": os.access(folder if folder.exists() else folder.parent, os.W_OK),
            "entries": len(self._entries()),
            "maxEntries": KEEP,
            "sizeBytes": self._path.stat().st_size if self._path.exists() else 0,
        }

    def _entries(self) -> list[dict[str, Any]]:
        with self._lock:
            try:
                status = self._path.stat()
            except OSError:
                return []
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if self._known is None or self._known[0] != stamp:
                try:
                    raw = orjson.loads(self._path.read_bytes())
                except FileNotFoundError:
                    return []
                except orjson.JSONDecodeError:
                    raw = None
                listed = raw.get("entries") if isinstance(raw, dict) else None
                if not isinstance(
                    listed, list
                ):  # writing on would replace everything that was reported
                    raise document_damaged(self._path.name)
                self._known = (stamp, [entry for entry in listed if isinstance(entry, dict)])
            return self._known[1]

    @contextlib.contextmanager
    def _changing(self) -> Iterator[list[dict[str, Any]]]:
        with self._lock:
            make_private_folder(self._path.parent)
            with exclusive_lock(self._path.with_suffix(".lock")):
                entries = list(self._entries())
                yield entries
                temporary = self._path.with_name(f".{self._path.name}.{os.getpid()}.tmp")
                with open_private(temporary) as file:
                    content = {
                        "version": 1,
                        "lastUpdated": datetime.now(UTC).isoformat(),
                        "entries": entries,
                    }
                    file.write(
                        orjson.dumps(
                            content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
                        )
                    )
                    file.flush()
                    sync_file(file.fileno())
                temporary.replace(self._path)
