"""Buffered documents are found, scored and removed like indexed ones, by every process."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.search.lexical.sqlite import SqlitePostings
from commonplace.search.lexical.write_buffer import CAPACITY
from commonplace.search.model import IndexDocument, LexicalResult, Partition
from commonplace.storage.sqlite.database import Database

HERE = Partition("a", "things", "p")
THERE = Partition("b", "things", "p")
WEIGHTS = {"body": 1.0, "title": 0.3}
WORDS = [f"w{n}" for n in range(14)]
QUESTIONS = (
    ("w0 w1", ""),
    ("w2 w3 w4", "/d0"),
    ("w5 nowhere", ""),
    ("w1 w7", "/d"),
    ("rare", ""),
    ("nowhere", ""),
)


class Box:
    """A database with postings; `late` writes documents one by one, else all at once."""

    def __init__(self, path: Path) -> None:
        self.database = Database(path, durable=False)
        self.postings = SqlitePostings(self.database)

    def late(self, *documents: IndexDocument, partition: Partition = HERE) -> None:
        for document in documents:
            self.database.write_now(
                lambda c, document=document: self.postings.put_soon(c, partition, document)
            )  # type: ignore[misc]

    def put(self, *documents: IndexDocument) -> None:
        self.database.write_now(lambda connection: self.postings.put(connection, HERE, documents))

    def remove(self, *keys: str) -> None:
        self.database.write_now(lambda connection: self.postings.remove(connection, HERE, keys))

    def search(self, terms: str, prefix: str = "", partition: Partition = HERE) -> LexicalResult:
        return asyncio.run(
            self.postings.search(partition, terms.split(), limit=10, weights=WEIGHTS, prefix=prefix)
        )

    def score(self, terms: str, *keys: str) -> LexicalResult:
        return asyncio.run(self.postings.score_keys(HERE, terms.split(), keys, weights=WEIGHTS))

    def rows(self, table: str) -> int:
        return int(self.database.reader().execute(f"SELECT count(*) FROM {table}").fetchone()[0])


@pytest.fixture
def late(tmp_path: Path) -> Iterator[Box]:
    box = Box(tmp_path / "late.db")
    yield box
    box.database.close()


@pytest.fixture
def oracle(tmp_path: Path) -> Iterator[Box]:
    box = Box(tmp_path / "oracle.db")
    yield box
    box.database.close()


def made(rng: random.Random, key: str) -> IndexDocument:
    body = rng.choices(WORDS, k=rng.randint(1, 12)) + (["rare"] if rng.random() < 0.05 else [])
    return IndexDocument(
        key,
        {"body": body, "title": rng.choices(WORDS, k=2)} if rng.random() < 0.7 else {"body": body},
    )


def agree(late: Box, oracle: Box) -> None:
    for terms, prefix in QUESTIONS:
        assert late.search(terms, prefix) == oracle.search(terms, prefix), (terms, prefix)
    keys = [match.key for match in oracle.search("w0 w1 w2").matches] + ["/absent"]
    assert late.score("w0 rare", *keys) == oracle.score("w0 rare", *keys)


@pytest.mark.parametrize("seed", range(3))
def test_buffered_documents_do_not_change_results(late: Box, oracle: Box, seed: int) -> None:
    rng = random.Random(seed)
    keys: list[str] = []
    for step in range(12):
        change = rng.random()
        if change < 0.5 or not keys:
            documents = [made(rng, f"/d{step:02}-{n}") for n in range(rng.randint(1, 60))]
            late.late(*documents)
        elif change < 0.7:
            documents = [made(rng, f"/e{step:02}-{n}") for n in range(30)]
            late.put(*documents)
        elif change < 0.85:
            documents = [made(rng, key) for key in rng.sample(keys, min(5, len(keys)))]
            late.late(*documents)
        else:
            documents, gone = [], rng.sample(keys, min(7, len(keys)))
            late.remove(*gone)
            oracle.remove(*gone)
            keys = [key for key in keys if key not in gone]
        oracle.put(*documents)
        keys += [document.key for document in documents if document.key not in keys]
        agree(late, oracle)


def test_a_full_buffer_moves_into_the_lists_and_stays_searchable(late: Box, oracle: Box) -> None:
    rng = random.Random(5)
    documents = [made(rng, f"/d{n:04}") for n in range(CAPACITY + 20)]
    late.late(*documents[:CAPACITY])
    assert late.rows("search_waiting") == CAPACITY
    assert late.rows("search_posting") == 0
    oracle.put(*documents[:CAPACITY])
    agree(late, oracle)
    late.late(*documents[CAPACITY:])
    assert 0 < late.rows("search_waiting") < 20
    oracle.put(*documents[CAPACITY:])
    agree(late, oracle)


def test_cached_lists_and_buffered_documents_are_ranked_together(late: Box, oracle: Box) -> None:
    """With enough postings for cached lists, which only grow at their end."""
    rng = random.Random(8)
    documents = [made(rng, f"/d{n:05}") for n in range(1_500)]
    late.put(*documents[:1_400])
    oracle.put(*documents[:1_400])
    agree(late, oracle)
    for at in range(1_400, 1_500, 25):
        late.late(*documents[at : at + 20])
        late.put(*documents[at + 20 : at + 25])
        oracle.put(*documents[at : at + 25])
        agree(late, oracle)


@pytest.mark.parametrize("waits", [True, False])
def test_sharing_finds_exactly_the_documents_with_enough_of_the_terms(
    late: Box, waits: bool
) -> None:
    rng = random.Random(9)
    words = [f"w{n}" for n in range(40)]
    documents = [
        IndexDocument(
            f"/d{n:03}", {"body": rng.sample(words[: rng.choice((8, 40))], k=rng.randint(1, 8))}
        )
        for n in range(200)
    ]
    if waits:
        late.late(*documents)
    else:
        late.put(*documents)
    for share in (0.2, 0.35, 0.7, 1.0):
        terms = rng.sample(words, k=7)
        everything = asyncio.run(late.postings.search(HERE, terms, limit=300, weights=WEIGHTS))
        weight = {term.term: 1 + term.idf for term in everything.terms}
        least = share * sum(weight.values())
        expected = {
            match.key: match.terms
            for match in everything.matches
            if sum(weight[term] for term in match.terms) >= least
        }
        found = asyncio.run(
            late.postings.find_sharing(HERE, terms, share=share, limit=300, weights=WEIGHTS)
        )
        assert {match.key: match.terms for match in found.matches} == expected
        assert found.terms == everything.terms


def test_another_process_finds_a_buffered_document_until_it_is_removed(
    tmp_path: Path,
) -> None:
    one, two = Box(tmp_path / "s.db"), Box(tmp_path / "s.db")
    one.late(IndexDocument("/a", {"body": ["alpha"]}))
    assert [match.key for match in two.search("alpha").matches] == ["/a"]
    two.late(IndexDocument("/b", {"body": ["alpha", "beta"]}))
    assert [match.key for match in one.search("alpha beta").matches] == ["/b", "/a"]
    one.remove("/b")
    assert [match.key for match in two.search("alpha beta").matches] == ["/a"]
    one.database.close()
    two.database.close()


def test_buffered_documents_belong_to_their_partition(late: Box) -> None:
    late.late(IndexDocument("/a", {"body": ["alpha"]}))
    late.late(IndexDocument("/a", {"body": ["alpha", "gamma"]}), partition=THERE)
    assert late.search("gamma").matches == ()
    late.database.write_now(lambda connection: late.postings.clear(connection, HERE))
    assert late.search("alpha").matches == ()
    assert [match.key for match in late.search("alpha", partition=THERE).matches] == ["/a"]
    assert late.rows("search_waiting") == 1
