"""Bring the usage counters and the feedback of a data folder into the database of a team."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import orjson

from commonplace.bootstrap.move_in import MovedPart, require_same
from commonplace.instructions.store.feedback_file import FeedbackFile
from commonplace.instructions.store.postgres import QUERIES
from commonplace.instructions.store.postgres.feedback import FeedbackTable
from commonplace.instructions.store.postgres.usage import lock_lines, put_lines
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.storage.errors import document_damaged
from commonplace.storage.postgres.connection import PostgresConnection
from commonplace.storage.postgres.database import PostgresDatabase

SNAPSHOT = "usage-snapshot.json"
LARGEST = frozenset({"max"})  # fields of which the larger value counts, not the sum


class UsageMover:
    """A `Mover` of usage counters: what was counted since the last time is added."""

    part = "usage counters"
    required = False

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def lacking(self, data: Path) -> Sequence[str]:
        """Name the counters with uses that the database lacks."""
        lines = _read_lines(data / SNAPSHOT)
        moved = self._database.read_now(lambda connection: _moved(connection, lines))
        return [id_ for id_, line in lines.items() if _uses(line) > moved[id_]]

    def move(self, data: Path, progress: Callable[[int, int], None]) -> MovedPart:
        """Add the uses to the counters of the team, in one transaction."""
        lines = _read_lines(data / SNAPSHOT)
        added = self._database.write_now(lambda connection: _add_lines(connection, lines))
        moved = self._database.read_now(lambda connection: _moved(connection, lines))
        progress(len(lines), len(lines))
        return MovedPart(
            self.part,
            found=len(lines),
            added=added,
            present=len(lines) - added,
            digest=require_same(
                self.part,
                {id_: str(uses) for id_, uses in moved.items()},
                {id_: str(_uses(line)) for id_, line in lines.items()},
            ),
        )


def _read_lines(path: Path) -> dict[str, JsonObject]:
    if not path.is_file():
        return {}
    try:
        raw = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError:
        raise document_damaged(path.name) from None
    if not isinstance(raw, dict):
        raise document_damaged(path.name)
    return {id_: line for id_, line in raw.items() if isinstance(line, dict) and _uses(line)}


def _uses(line: Mapping[str, Json]) -> int:
    uses = line.get("usageCount")
    return uses if isinstance(uses, int) and uses > 0 else 0


def _moved(connection: PostgresConnection, lines: Mapping[str, JsonObject]) -> dict[str, int]:
    """Return how many uses of each counter were moved before.

    A counter is recognised by its id and the time of its first use.
    """
    found: dict[str, int] = {}
    for id_, line in lines.items():
        key = {"id": id_, "first_seen": str(line.get("firstSeenTs") or "")}
        row = connection.execute(QUERIES["usage_moved"], key).fetchone()
        found[id_] = 0 if row is None else int(row[0])
    return found


def _add_lines(connection: PostgresConnection, lines: Mapping[str, JsonObject]) -> int:
    stored = lock_lines(connection, list(lines))
    moved = _moved(connection, lines)
    changed: dict[str, JsonObject] = {}
    for id_, line in lines.items():
        more = _uses(line) - moved[id_]
        if more <= 0:
            continue
        counted = line if not moved[id_] else {"lastUsedAt": line.get("lastUsedAt")}
        changed[id_] = _merge(stored.get(id_, {}), {**counted, "usageCount": more})
        key = {"id": id_, "first_seen": str(line.get("firstSeenTs") or "")}
        connection.execute(QUERIES["put_usage_moved"], {**key, "uses": _uses(line)})
    if changed:
        put_lines(connection, changed)
    return len(changed)


def _merge(stored: Mapping[str, Json], more: Mapping[str, Json]) -> JsonObject:
    """Add the sums of two counters; of times, the first use is the earlier, others the later."""
    merged = dict(stored)
    for name, value in more.items():
        present = merged.get(name)
        if isinstance(value, dict):
            merged[name] = _merge(present if isinstance(present, dict) else {}, value)
        elif isinstance(value, int | float) and isinstance(present, int | float):
            merged[name] = max(present, value) if name in LARGEST else present + value
        elif isinstance(value, str) and isinstance(present, str):
            merged[name] = min(present, value) if name == "firstSeenTs" else max(present, value)
        elif value is not None:
            merged[name] = value
    return merged


class FeedbackMover:
    """A `Mover` of feedback entries, which keep their ids."""

    part = "feedback"
    required = False

    def __init__(self, database: PostgresDatabase) -> None:
        self._table = FeedbackTable(database)

    def lacking(self, data: Path) -> Sequence[str]:
        """Name the entries that the database lacks."""
        known = {entry["id"] for entry in self._table.read()}
        return [entry["id"] for entry in _read_feedback(data) if entry["id"] not in known]

    def move(self, data: Path, progress: Callable[[int, int], None]) -> MovedPart:
        """Store the entries that the database lacks; those that it has are left as they are."""
        entries = _read_feedback(data)
        known = {entry["id"] for entry in self._table.read()}
        self._table.restore([entry for entry in entries if entry["id"] not in known])
        progress(len(entries), len(entries))
        stored = {entry["id"]: _digest(entry) for entry in self._table.read()}
        sent = {entry["id"]: _digest(entry) for entry in entries}
        kept = [id_ for id_ in sent if id_ in known and stored[id_] != sent[id_]]
        checked = {id_: digest for id_, digest in sent.items() if id_ not in kept}
        added = sum(id_ not in known for id_ in sent)
        return MovedPart(
            self.part,
            found=len(entries),
            added=added,
            present=len(sent) - added - len(kept),
            kept=tuple(kept),
            digest=require_same(self.part, stored, checked),
        )


def _read_feedback(data: Path) -> list[JsonObject]:
    entries = FeedbackFile(data / "feedback.json").read()
    return [entry for entry in entries if isinstance(entry.get("id"), str)]


def _digest(entry: JsonObject) -> str:
    return hashlib.sha256(orjson.dumps(entry, option=orjson.OPT_SORT_KEYS)).hexdigest()
