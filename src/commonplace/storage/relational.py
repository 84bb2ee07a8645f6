"""What SQLite's and PostgreSQL's connections have in common: named statements in, rows out.

Domain code written to this runs on both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

Row = tuple[Any, ...]


class Rows(Protocol):
    """The answer of a statement.

    In PostgreSQL it may still be on its way: ask several questions before reading the first answer.
    """

    def fetchone(self) -> Row | None: ...

    def fetchall(self) -> list[Row]: ...

    def __iter__(self) -> Iterator[Row]: ...


class Connection(Protocol):
    def execute(self, statement: str, parameters: Mapping[str, Any] | None = None, /) -> Rows: ...

    def executemany(self, statement: str, rows: Sequence[Mapping[str, Any]], /) -> Any: ...
