"""Feedback of callers in one JSON file, which several processes share; the newest 1,000 stay."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson

from commonplace.instructions.engine.times import parse_time
from commonplace.kernel.durability import sync_file
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.storage.disk.private_files import make_private_folder, open_private
from commonplace.storage.errors import document_damaged
from commonplace.storage.locks.file_lock import exclusive_lock

KEEP = 1000
DAY_SECONDS = 86_400
RECENT_DAYS = (1, 7, 30)
TITLE_CHARS, DESCRIPTION_CHARS, TAGS = 200, 2000, 10

log = logging.getLogger("commonplace.feedback")


@dataclass(frozen=True, slots=True)
class FeedbackFilter:
    """Conditions that must all hold; None matches everything."""

    type: str | None = None
    severity: str | None = None
    status: str | None = None
    since: str | None = None
    tags: Sequence[str] | None = None

    def matches(self, entry: Mapping[str, Json]) -> bool:
        """Tell whether an entry meets the conditions."""
        for wanted, name in (
            (self.type, "type"),
            (self.severity, "severity"),
            (self.status, "status"),
        ):
            if wanted is not None and entry.get(name) != wanted:
                return False
        since = parse_time(self.since) if self.since else None
        if since is not None and (parse_time(entry.get("timestamp")) or 0.0) < since:
            return False
        return not self.tags or bool(set(self.tags) & set(entry.get("tags") or ()))


@dataclass(frozen=True, slots=True)
class FeedbackCounts:
    """Numbers of entries; `recent` counts all entries of the last days."""

    total: int
    by_type: dict[str, int]
    by_severity: dict[str, int]
    by_status: dict[str, int]
    recent: dict[int, int]  # by number of days


@dataclass(frozen=True, slots=True)
class FeedbackStorage:
    """State of the feedback file."""

    accessible: bool
    writable: bool
    entries: int
    max_entries: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class FeedbackPage:
    """Some of the entries that match, and the number of all."""

    entries: list[JsonObject]
    total: int


class FeedbackStore:
    """Entries, oldest first in the file and newest first in answers."""

    def __init__(self, path: Path, *, clock: Callable[[], str]) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.RLock()
        self._known: tuple[tuple[int, int, int], list[JsonObject]] | None = None

    def submit(self, entry: Mapping[str, Json], by: str) -> JsonObject:
        """Store an entry and return it with its id."""
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
        with self._edit_entries() as entries:
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

    def select(self, condition: FeedbackFilter, limit: int, offset: int) -> FeedbackPage:
        """Return a page of the matching entries, newest first."""
        matching = [entry for entry in reversed(self._entries()) if condition.matches(entry)]
        return FeedbackPage(matching[offset : offset + limit], len(matching))

    def get(self, id_: str) -> JsonObject | None:
        """Return an entry by id."""
        return next((entry for entry in self._entries() if entry.get("id") == id_), None)

    def update(
        self, id_: str, status: str | None, metadata: Mapping[str, Json] | None, by: str
    ) -> JsonObject | None:
        """Change status and metadata of an entry; return None if there is no such entry."""
        with self._edit_entries() as entries:
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

    def counts(self, since: str | None) -> FeedbackCounts:
        """Count entries by kind, and all entries by age."""
        now = parse_time(self._clock()) or 0.0
        start = (parse_time(since) if since else None) or float("-inf")
        dated = [(parse_time(entry.get("timestamp")) or 0.0, entry) for entry in self._entries()]
        counted = [entry for at, entry in dated if at >= start]
        return FeedbackCounts(
            len(counted),
            dict(Counter(str(entry.get("type")) for entry in counted)),
            dict(Counter(str(entry.get("severity")) for entry in counted)),
            dict(Counter(str(entry.get("status")) for entry in counted)),
            {days: sum(at >= now - days * DAY_SECONDS for at, _ in dated) for days in RECENT_DAYS},
        )

    def storage(self) -> FeedbackStorage:
        """Return the state of the file."""
        folder = self._path.parent
        return FeedbackStorage(
            accessible=folder.is_dir() or not folder.exists(),
            writable=os.access(folder if folder.exists() else folder.parent, os.W_OK),
            entries=len(self._entries()),
            max_entries=KEEP,
            size_bytes=self._path.stat().st_size if self._path.exists() else 0,
        )

    def _entries(self) -> list[JsonObject]:
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
                if not isinstance(listed, list):  # the next write would replace all entries
                    raise document_damaged(self._path.name)
                self._known = (stamp, [entry for entry in listed if isinstance(entry, dict)])
            return self._known[1]

    @contextlib.contextmanager
    def _edit_entries(self) -> Iterator[list[JsonObject]]:
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
