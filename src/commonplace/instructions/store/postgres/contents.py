"""The shared catalogue as files: what `commonplace instructions sync` compares and copies."""

from __future__ import annotations

from collections.abc import Iterable

from commonplace.instructions.errors import INVALID_CRITERIA, INVALID_GATES
from commonplace.instructions.store.configuration import (
    CRITERIA,
    GATES,
    OWNERS,
    parse_document,
    parse_gate_list,
    parse_owners,
    parse_prompt_criteria,
)
from commonplace.instructions.store.directory import parse_entry
from commonplace.instructions.store.postgres import QUERIES
from commonplace.instructions.store.postgres.catalogue import PostgresCatalogueStore
from commonplace.kernel.errors import INVALID_CONFIG, CommonplaceError
from commonplace.storage.postgres.connection import PostgresConnection
from commonplace.storage.postgres.database import PostgresDatabase


class SharedContents:
    """Entries and configuration documents under the names of their files."""

    def __init__(self, database: PostgresDatabase, store: PostgresCatalogueStore) -> None:
        self._database = database
        self._store = store

    def identity(self) -> str:
        """Return what distinguishes this catalogue from those of other databases."""

        def work(connection: PostgresConnection) -> str:
            connection.execute(QUERIES["make_identity"])
            row = connection.execute(QUERIES["identity"]).fetchone()
            assert row is not None
            return str(row[0])

        return self._database.write_now(work)

    def hashes(self) -> dict[str, str]:
        """Return the SHA-256 of every content, by file name."""
        rows = self._database.read_now(
            lambda connection: connection.execute(QUERIES["content_hashes"]).fetchall()
        )
        return dict(rows)

    def read(self, names: Iterable[str]) -> dict[str, tuple[bytes, int]]:
        """Return contents with their times in ns, by file name."""
        wanted = list(names)
        parameters = {"names": wanted, "ids": [name.removesuffix(".json") for name in wanted]}
        rows = self._database.read_now(
            lambda connection: connection.execute(QUERIES["contents"], parameters).fetchall()
        )
        return {name: (bytes(content), int(modified_ns)) for name, content, modified_ns in rows}

    def check(self, name: str, content: bytes) -> str | None:
        """Return why a file cannot be stored, or None."""
        if name in (OWNERS, GATES, CRITERIA):
            parsed: object
            if name == OWNERS:
                parsed = parse_document(name, content, parse_owners, INVALID_CONFIG)
            elif name == GATES:
                parsed = parse_document(name, content, parse_gate_list, INVALID_GATES)
            else:
                parsed = parse_document(name, content, parse_prompt_criteria, INVALID_CRITERIA)
            return parsed.message if isinstance(parsed, CommonplaceError) else None
        entry = parse_entry(name, content, (0, len(content), 0), self._store.rules)
        if entry.rejection is None:
            return None
        return f"{entry.rejection.reason}: {entry.rejection.detail}".removesuffix(": ")
