"""The words of one document, written the cheapest way each database has, are found as if they
had been written with others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.search.lexical.postgres import PostgresPostings
from commonplace.search.lexical.sqlite import SqlitePostings
from commonplace.search.model import IndexDocument, Partition
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.sqlite.database import Database

HERE = Partition("a", "things", "p")
Opened = tuple[Database, SqlitePostings] | tuple[PostgresDatabase, PostgresPostings]


@pytest.fixture
def opened(tmp_path: Path, url: str) -> Iterator[Opened]:
    if url:
        shared = PostgresDatabase(url, pool_size=2)
        yield shared, PostgresPostings(shared)
        shared.close()
    else:
        alone = Database(tmp_path / "s.db", durable=False)
        yield alone, SqlitePostings(alone)
        alone.close()


def test_a_document_put_soon_twice_is_indexed_once_with_its_last_words(opened: Opened) -> None:
    database, postings = opened
    for words in ("first words here", "second words", "other"):
        for key in ("k", "l") if words == "other" else ("k",):
            document = IndexDocument(key, {"body": words.split()})
            database.write_now(lambda c, document=document: postings.put_soon(c, HERE, document))  # type: ignore[misc]
    found = {
        term: [
            match.key
            for match in asyncio.run(
                postings.search(HERE, [term], limit=5, weights={"body": 1.0})
            ).matches
        ]
        for term in ("first", "words", "other")
    }
    assert found == {"first": [], "words": [], "other": ["k", "l"]}
    assert database.write_now(lambda c: postings.count(c, HERE)) == 2  # type: ignore[arg-type]
    assert (
        asyncio.run(postings.search(HERE, ["other"], limit=5, weights={"body": 1.0})).documents == 2
    )
