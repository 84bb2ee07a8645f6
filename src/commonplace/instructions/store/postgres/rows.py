"""Rows of the shared catalogue as values of the catalogue."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.instructions.engine.normalise import ReadingRules
from commonplace.instructions.model import Rejection, StoredEntry
from commonplace.instructions.store.directory import parse_entry, skip_reason
from commonplace.instructions.store.postgres import QUERIES
from commonplace.storage.postgres.connection import PostgresConnection, Row


def newest_change(connection: PostgresConnection) -> tuple[int, int]:
    """Return the number of the newest change, and of the newest change of usage."""
    row = connection.execute(QUERIES["newest"]).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])


def with_removed(rows: list[Row], known: Sequence[str]) -> list[Row]:
    """Return the rows, and an empty one for each known id that has none."""
    present = {row[0] for row in rows}
    return [*rows, *((id_, None, 0, 0) for id_ in known if id_ not in present)]


def parse_row(row: Row, rules: ReadingRules) -> StoredEntry:
    """Parse a row of an entry; whatever is wrong with it becomes a rejection."""
    id_, content, modified_ns, sequence = row
    if content is None:
        return StoredEntry(None)
    stamp = (modified_ns, len(content), sequence)
    name = f"{id_}.json"
    reason = skip_reason(name)
    if reason:
        return StoredEntry(stamp, rejection=Rejection(name, reason))
    return parse_entry(name, bytes(content), stamp, rules)
