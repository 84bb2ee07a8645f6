"""Feedback of callers: entries, filters and counts; the newest 1,000 stay."""

from __future__ import annotations

import logging
import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from commonplace.instructions.engine.times import parse_time
from commonplace.kernel.json_types import Json, JsonObject

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
    """State of the storage of feedback."""

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


class FeedbackEntries(Protocol):
    """Durable feedback entries that several processes share."""

    def read(self) -> Sequence[JsonObject]:
        """Return all entries, oldest first."""
        ...

    def append(self, entry: JsonObject, keep: int) -> None:
        """Store an entry, and delete the oldest ones beyond `keep`."""
        ...

    def replace(self, id_: str, change: Callable[[JsonObject], JsonObject]) -> JsonObject | None:
        """Replace an entry by its changed copy and return that; None if there is no such entry."""
        ...

    def status(self) -> FeedbackStorage:
        """Return the state of the storage."""
        ...


class FeedbackStore:
    """Entries, oldest first in the storage and newest first in answers."""

    def __init__(self, entries: FeedbackEntries, *, clock: Callable[[], str]) -> None:
        self._entries = entries
        self._clock = clock

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
        self._entries.append(record, KEEP)
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
        matching = [entry for entry in reversed(self._entries.read()) if condition.matches(entry)]
        return FeedbackPage(matching[offset : offset + limit], len(matching))

    def get(self, id_: str) -> JsonObject | None:
        """Return an entry by id."""
        return next((entry for entry in self._entries.read() if entry.get("id") == id_), None)

    def update(
        self, id_: str, status: str | None, metadata: Mapping[str, Json] | None, by: str
    ) -> JsonObject | None:
        """Change status and metadata of an entry; return None if there is no such entry."""

        def changed(entry: JsonObject) -> JsonObject:
            updated = {**entry, "lastUpdated": self._clock(), "updatedBy": by}
            if status:
                updated["status"] = status
            if metadata:
                updated["metadata"] = {**(entry.get("metadata") or {}), **metadata}
            return updated

        return self._entries.replace(id_, changed)

    def counts(self, since: str | None) -> FeedbackCounts:
        """Count entries by kind, and all entries by age."""
        now = parse_time(self._clock()) or 0.0
        start = (parse_time(since) if since else None) or float("-inf")
        dated = [
            (parse_time(entry.get("timestamp")) or 0.0, entry) for entry in self._entries.read()
        ]
        counted = [entry for at, entry in dated if at >= start]
        return FeedbackCounts(
            len(counted),
            dict(Counter(str(entry.get("type")) for entry in counted)),
            dict(Counter(str(entry.get("severity")) for entry in counted)),
            dict(Counter(str(entry.get("status")) for entry in counted)),
            {days: sum(at >= now - days * DAY_SECONDS for at, _ in dated) for days in RECENT_DAYS},
        )

    def storage(self) -> FeedbackStorage:
        """Return the state of the storage."""
        return self._entries.status()
