"""Large tenants have an approximate index over their vectors in PostgreSQL."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from commonplace.bootstrap.memory_upkeep import VectorIndexUpkeep
from commonplace.memory.engine.passages import passage_key
from commonplace.memory.retrieval.postgres_indexes import PREFIX, VectorIndexes
from commonplace.memory.retrieval.postgres_vectors import PostgresVectors
from commonplace.search.model import Partition, Passage
from commonplace.storage.postgres.database import PostgresDatabase

DIMENSIONS = 32
ENTRIES = 400  # of two projects
LEAST = 300
TENANT = 'it\'s 100%s \\ "a"; {b} --'  # any text is a name


class PlannedEmbedder:
    """Embeds a text as a direction that depends on the text alone."""

    dimensions = DIMENSIONS

    def __init__(self, identity: str) -> None:
        self.identity = identity

    def embed(self, texts: Sequence[str]) -> Any:
        return np.array([self.embed_query(text) for text in texts], dtype=np.float32)

    def embed_query(self, text: str) -> Any:
        seed = int.from_bytes(text.encode().ljust(8)[-8:], "big")
        vector = np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32)
        return vector / np.linalg.norm(vector)


class Table:
    """The vectors of one model, and the indexes over them."""

    def __init__(self, url: str, identity: str = "planned/1") -> None:
        self.database = PostgresDatabase(url, pool_size=1)
        self.embedder = PlannedEmbedder(identity)
        self.indexes = VectorIndexes(self.database, LEAST)
        self.vectors = PostgresVectors(self.database, self.embedder, self.indexes)

    def fill(self, partition: Partition, entries: int = ENTRIES, passages: int = 1) -> None:
        """Give entries of two projects their vectors."""
        keys = [
            passage_key(f"{'ab'[number % 2]}/{number:04}", passage)
            for number in range(entries)
            for passage in range(passages)
        ]
        wanted = [Passage(key, key, key) for key in keys]
        self.vectors.synchronise_now(partition, "", wanted)

    def rows(self, statement: str) -> list[Any]:
        return self.database.read_now(lambda c: c.execute(statement).fetchall())

    def valid(self) -> list[bool]:
        """Return whether each index can be used."""
        return [
            row[0]
            for row in self.rows(
                "SELECT indisvalid FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid "
                f"WHERE starts_with(relname, '{PREFIX}') ORDER BY relname"
            )
        ]

    def close(self) -> None:
        self.database.write_now(lambda c: c.execute("DELETE FROM memory_vectors") and None)
        self.indexes.maintain()
        assert self.valid() == []
        self.database.close()


@pytest.fixture
def table(postgres_url: str) -> Iterator[Table]:
    made = Table(postgres_url)
    yield made
    made.close()


def place(tenant: str = TENANT, field: str = "summary") -> Partition:
    return Partition(tenant, "memory", field)


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def count_scans(table: Table) -> int:
    """Return how often an index was used, after the sessions have reported it."""
    rows = table.rows(
        "SELECT pg_stat_force_next_flush(), coalesce(sum(idx_scan), 0)::bigint "
        f"FROM pg_stat_user_indexes WHERE starts_with(indexrelname, '{PREFIX}')"
    )
    return int(rows[0][1])


def compare(table: Table, before: Sequence[Any], search: Callable[[int], Any]) -> None:
    """Check that searches by an index find what exact ones found before."""
    found = [search(number) for number in range(len(before))]
    assert not any(near.exact for near in found)
    same = sum(
        len(near.cosines.keys() & exact.cosines.keys())
        for near, exact in zip(found, before, strict=True)
    )
    assert same >= 0.99 * sum(len(exact.cosines) for exact in before)
    for near, exact in zip(found, before, strict=True):
        assert near.rows == exact.rows
        for key in near.cosines.keys() & exact.cosines.keys():
            assert near.cosines[key] == pytest.approx(exact.cosines[key], abs=1e-5)


def test_a_server_may_follow_another_at_once(table: Table) -> None:
    table.fill(place())
    for _ in range(20):
        assert table.indexes.maintain() == 1
        table.vectors.clear(place())
        VectorIndexes(table.database, LEAST).maintain()
        assert table.valid() == []
        table.fill(place())


@pytest.mark.parametrize("beginnings", [False, True])
def test_an_index_finds_what_the_exact_search_finds(table: Table, beginnings: bool) -> None:
    table.fill(place(), passages=2)
    table.fill(place("another"), 20)

    def search(number: int) -> Any:
        query = table.embedder.embed_query(f"question {number}")
        also = [f"a/{number * 2:04}"]
        return table.vectors.search(place(), query, 30, "", also, beginnings=beginnings)

    before = [search(number) for number in range(20)]
    assert all(near.exact and f"a/{n * 2:04}" in near.cosines for n, near in enumerate(before))
    assert table.indexes.maintain() == 1
    assert table.valid() == [True]
    compare(table, before, search)
    wait_until(lambda: count_scans(table) >= len(before))


def test_a_prefix_is_searched_exactly(table: Table) -> None:
    table.fill(place())
    table.indexes.maintain()
    query = table.embedder.embed_query("question")
    near = table.vectors.search(place(), query, 300, "b/")
    assert near.exact
    assert len(near.cosines) == ENTRIES / 2
    assert all(key.startswith("b/") for key in near.cosines)


def test_more_than_an_index_yields_is_searched_exactly(table: Table) -> None:
    table.fill(place(), passages=4)
    table.indexes.maintain()
    query = table.embedder.embed_query("question")
    near = table.vectors.search(place(), query, ENTRIES + 1, beginnings=True)
    assert (len(near.cosines), near.exact) == (ENTRIES, True)


def test_small_tenants_have_no_index(table: Table) -> None:
    table.fill(place(), LEAST)
    assert table.indexes.maintain() == 0
    assert table.valid() == []


def test_each_large_field_has_an_index_that_is_built_once_by_two_servers(table: Table) -> None:
    table.fill(place())
    table.fill(place(field="context"))
    built: list[int] = []
    servers = [VectorIndexes(table.database, LEAST) for _ in range(2)]
    threads = [threading.Thread(target=lambda s=s: built.append(s.maintain())) for s in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(built) == 2
    assert table.valid() == [True, True]


def test_an_index_of_an_interrupted_build_is_not_used_and_is_replaced(table: Table) -> None:
    table.fill(place())
    table.indexes.maintain()
    query = table.embedder.embed_query("question")
    table.database.write_now(
        lambda c: (
            c.execute(
                "UPDATE pg_index SET indisvalid = false FROM pg_class "
                f"WHERE oid = indexrelid AND starts_with(relname, '{PREFIX}')"
            )
            and None
        )
    )
    assert table.valid() == [False]
    assert table.vectors.search(place(), query, 5).exact
    assert table.indexes.maintain() == 1
    assert table.valid() == [True]
    assert not table.vectors.search(place(), query, 5).exact


def test_an_index_goes_with_the_vectors_of_its_tenant(table: Table) -> None:
    table.fill(place())
    table.fill(place("another"))
    assert table.indexes.maintain() == 2
    table.vectors.clear(place())
    assert table.indexes.maintain() == 0
    assert table.valid() == [True]
    assert not table.vectors.search(place("another"), table.embedder.embed_query("q"), 5).exact


def test_a_tenant_around_the_threshold_keeps_its_index(table: Table) -> None:
    table.fill(place())
    table.indexes.maintain()
    table.fill(place(), LEAST - 20)
    assert table.indexes.maintain() == 0
    assert table.valid() == [True]
    table.fill(place(), LEAST // 3)
    table.indexes.maintain()
    assert table.valid() == []


def test_an_index_belongs_to_a_model(table: Table, postgres_url: str) -> None:
    table.fill(place())
    table.indexes.maintain()
    later = Table(postgres_url, "planned/2")
    query = table.embedder.embed_query("question")
    assert not later.vectors.search_replaced(place(), query, 5).exact
    later.fill(place(), entries=ENTRIES + 1)
    assert later.vectors.search(place(), query, 5).exact
    assert later.indexes.maintain() == 1
    assert table.valid() == [True]
    assert not later.vectors.search(place(), query, 5).exact
    later.database.close()


def test_a_server_builds_in_the_background_and_stops_at_once(table: Table) -> None:
    table.fill(place())
    upkeep = VectorIndexUpkeep(table.indexes, first_seconds=0.01)
    upkeep.start()
    wait_until(lambda: table.valid() == [True])
    upkeep.close()
    table.indexes = VectorIndexes(table.database, LEAST)


def test_a_build_is_interrupted_when_the_server_stops(table: Table) -> None:
    """A build waits for older transactions, which one is here until the end of the test."""
    table.fill(place())
    other = table.database.connect()
    other.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    other.execute("SELECT count(*) FROM memory_vectors")
    upkeep = VectorIndexUpkeep(table.indexes, first_seconds=0.01)
    upkeep.start()
    wait_until(lambda: table.valid() == [False])
    upkeep.close()
    assert table.valid() == [False]
    other.close()
    table.indexes = VectorIndexes(table.database, LEAST)
    wait_until(lambda: table.indexes.maintain() == 1)
    assert table.valid() == [True]
