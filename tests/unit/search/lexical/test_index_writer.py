"""Changes of any size reach the inverted index in statements of a bounded size."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from commonplace.search.lexical.index_writer import BATCH_POSTINGS
from commonplace.search.lexical.sqlite import SqlitePostings
from commonplace.search.model import IndexDocument, Partition
from commonplace.storage.relational import SqlConnection, SqlRows
from commonplace.storage.sqlite.database import Database

HERE = Partition("a", "things", "p")
TERMS = 1_000  # of each document
DOCUMENTS = 3 * BATCH_POSTINGS // TERMS
LONGEST = 40 * BATCH_POSTINGS  # characters; a posting is four numbers


class MeasuringConnection:
    """Passes statements on and keeps the length of the longest parameter."""

    def __init__(self, connection: SqlConnection) -> None:
        self._connection = connection
        self.longest = 0

    def execute(self, statement: str, parameters: Mapping[str, Any] | None = None, /) -> SqlRows:
        for value in (parameters or {}).values():
            self.longest = max(self.longest, len(str(value)))
        return self._connection.execute(statement, parameters)

    def executemany(self, statement: str, rows: Sequence[Mapping[str, Any]], /) -> object:
        return self._connection.executemany(statement, rows)


def test_a_change_of_many_documents_is_sent_in_statements_of_a_bounded_size(
    tmp_path: Path,
) -> None:
    database = Database(tmp_path / "t.db", durable=False)
    postings = SqlitePostings(database)
    documents = [
        IndexDocument(f"d{number}", {"body": [f"w{term}" for term in range(TERMS)]})
        for number in range(DOCUMENTS)
    ]

    def change(connection: SqlConnection) -> int:
        measuring = MeasuringConnection(connection)
        postings.put(measuring, HERE, documents)
        postings.remove(measuring, HERE, [document.key for document in documents[1:]])
        return measuring.longest

    assert database.write_now(change) < LONGEST
    found = asyncio.run(postings.search(HERE, ["w1"], limit=5, weights={"body": 1.0}))
    assert [match.key for match in found.matches] == ["d0"]
