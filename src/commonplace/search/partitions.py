"""Which partitions of a collection a query is about, where there are too many to search them all.

By words alone: to rank the few best documents of each partition costs a fraction of a search by
words and meaning.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from commonplace.search.matched_words import WordMeasure
from commonplace.search.model import (
    EVEN,
    LexicalStore,
    MatchedWords,
    Partition,
    ReadQuery,
    Retriever,
    SearchUnavailableError,
)

MOST_COMPARED = 64  # partitions; each costs a lexical query
LOOKED_AT = 3  # documents of a partition
MOST_TERMS = 32  # of a query; those that it stresses most
TOLD = 0.8  # worth of the information of shared words, beside their share of the query


@runtime_checkable
class FindsByWords(Protocol):
    """A retriever whose lexical store can be asked directly."""

    @property
    def words(self) -> LexicalStore: ...


async def choose_partitions(
    retriever: Retriever,
    partitions: Sequence[Partition],
    reading: ReadQuery,
    most: int,
    weights: Mapping[str, float],
) -> list[Partition]:
    """Return the partitions that a query is likeliest about, in the given order.

    Only the first MOST_COMPARED are compared. Where words do not decide, or cannot be searched
    now, the first ones are taken.
    """
    if len(partitions) <= most or not isinstance(retriever, FindsByWords):
        return list(partitions[:most])
    partitions = partitions[:MOST_COMPARED]
    terms = sorted(reading.terms, key=lambda term: -reading.terms[term])[:MOST_TERMS]
    emphasis = reading.terms if reading.is_weighed else EVEN
    evidence: list[float] = []
    for partition in partitions:  # not at once: SQLite answers short queries on this thread
        try:
            found = await retriever.words.search(
                partition, terms, limit=LOOKED_AT, weights=weights, emphasis=emphasis
            )
        except SearchUnavailableError:
            return list(partitions[:most])
        measure = WordMeasure(found)
        matched = [_worth(measure.measure(match)) for match in found.matches]
        evidence.append(max(matched, default=0.0))
        await asyncio.sleep(0)  # let other callers in
    best = sorted(range(len(partitions)), key=lambda at: -evidence[at])[:most]
    return [partitions[at] for at in sorted(best)]


def _worth(words: MatchedWords) -> float:
    return words.coverage + TOLD * words.told
