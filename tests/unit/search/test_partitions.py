"""The choice of partitions for a query, where there are too many to search them all."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from commonplace.search.lexical.retriever import LexicalRetriever
from commonplace.search.model import EVEN, LexicalMatch, LexicalResult, Partition, QueryTerm
from commonplace.search.partitions import MOST_COMPARED, choose_partitions
from commonplace.search.relevance.query import read_query

MOST = 8


class CountingStore:
    """A lexical store in which one partition has the words of every query."""

    def __init__(self, answering: str) -> None:
        self.answering = answering
        self.asked: list[str] = []

    async def search(
        self,
        partition: Partition,
        terms: Sequence[str],
        *,
        limit: int,
        weights: Mapping[str, float],
        prefix: str = "",
        emphasis: Mapping[str, float] = EVEN,
    ) -> LexicalResult:
        self.asked.append(partition.scope)
        if partition.scope != self.answering:
            return LexicalResult()
        weighed = tuple(QueryTerm(term, 1, 2.0) for term in terms)
        match = LexicalMatch("/a#1", 2.0 * len(terms), tuple(terms))
        return LexicalResult((match,), weighed, 10, 2.0 * len(terms))


def choose(store: CountingStore, count: int) -> list[str]:
    partitions = [Partition("t", "files", f"p{number:04}") for number in range(count)]
    reading = read_query("unload the pallet")
    chosen = choose_partitions(LexicalRetriever(store), partitions, reading, MOST, {"text": 1.0})
    return [partition.scope for partition in asyncio.run(chosen)]


def test_few_partitions_are_all_chosen_without_asking() -> None:
    store = CountingStore("p0003")
    assert choose(store, MOST) == [f"p{number:04}" for number in range(MOST)]
    assert store.asked == []


def test_the_partition_with_the_words_is_chosen() -> None:
    chosen = choose(CountingStore("p0030"), 40)
    assert chosen == [*(f"p{number:04}" for number in range(MOST - 1)), "p0030"]


def test_a_tenant_with_thousands_of_partitions_costs_a_bounded_number_of_queries() -> None:
    store = CountingStore("p0030")
    assert "p0030" in choose(store, 5_000)
    assert len(store.asked) == MOST_COMPARED
