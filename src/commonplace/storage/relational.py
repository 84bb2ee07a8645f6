"""The interface that SQLite's and PostgreSQL's connections share: statements in, rows out.

Domain code written to it runs on both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

Row = tuple[Any, ...]


class SqlRows(Protocol):
    """The result of a statement.

    PostgreSQL may still be sending it: issue several statements before reading the first result.
    """

    def fetchone(self) -> Row | None: ...

    def fetchall(self) -> list[Row]: ...

    def __iter__(self) -> Iterator[Row]: ...


class SqlConnection(Protocol):
    """A connection inside a transaction."""

    def execute(
        self, statement: str, parameters: Mapping[str, Any] | None = None, /
    ) -> SqlRows: ...

    def executemany(self, statement: str, rows: Sequence[Mapping[str, Any]], /) -> object: ...
