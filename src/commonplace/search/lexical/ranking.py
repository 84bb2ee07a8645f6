"""Rankers: from a query plan to the best documents with their scores and keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, Protocol

import orjson

from commonplace.search.lexical.plan import QueryPlan
from commonplace.search.model import upper_bound
from commonplace.storage.relational import SqlConnection

SELECTIVE_PREFIX = 2_000  # documents below a prefix up to which only they are scored
PREFIX_ROOM = 16  # times the limit read at first where a prefix lets most documents pass
SCORE_DIGITS = 9
TIE_ROOM = 16  # rows read beyond the limit, so that ties at the edge are ordered by key
MOST_TIED = 128  # and so many more while they are as good as the last one within the limit
ALL_ROWS = 1 << 31


class RankedDocument(NamedTuple):
    """A document id with its score and its key."""

    id: int
    score: float
    key: str


class Ranker(Protocol):
    """Rank the documents of a plan by its posting lists."""

    def best(
        self, connection: SqlConnection, plan: QueryPlan, first: int, prefix: str, wanted: int
    ) -> list[RankedDocument]:
        """Return at least the best `wanted` documents below a prefix, as far as there are.

        `first` is how many rows to rank before the prefix is looked at.
        """
        ...

    def matching(
        self, connection: SqlConnection, plan: QueryPlan, document_ids: Sequence[int]
    ) -> Iterable[tuple[int, int]]:
        """Return which (document id, term id) of a plan belong together."""
        ...


class SqlRanker:
    """`Ranker` by the ranking statement of the database."""

    def __init__(self, queries: Mapping[str, str]) -> None:
        self._queries = queries

    def best(
        self, connection: SqlConnection, plan: QueryPlan, first: int, prefix: str, wanted: int
    ) -> list[RankedDocument]:
        ranked: list[RankedDocument] = []
        for size in (first + MOST_TIED, ALL_ROWS):
            rows = connection.execute(
                self._queries["rank"], {"terms": plan.parameters(), "limit": size}
            ).fetchall()
            ranked, _ = self.add_keys(connection, plan, rows, prefix, wanted)
            if len(ranked) >= wanted or len(rows) < size:
                break
        return ranked

    def matching(
        self, connection: SqlConnection, plan: QueryPlan, document_ids: Sequence[int]
    ) -> Iterable[tuple[int, int]]:
        parameters = {
            "terms": orjson.dumps(list(plan.ids)).decode(),
            "documents": orjson.dumps(list(document_ids)).decode(),
        }
        rows = connection.execute(self._queries["posting_terms"], parameters)
        return [(int(document_id), int(term_id)) for document_id, term_id in rows]

    def rank_given(
        self,
        connection: SqlConnection,
        plan: QueryPlan,
        ids: Sequence[int],
        limit: int,
        wanted: int,
    ) -> list[RankedDocument]:
        """Rank given documents; those without a query term are left out."""
        parameters = {
            "terms": plan.parameters(),
            "documents": orjson.dumps(ids).decode(),
            "limit": limit,
        }
        rows = connection.execute(self._queries["rank_among"], parameters)
        return self.add_keys(connection, plan, rows, "", wanted)[0]

    def below(self, connection: SqlConnection, plan: QueryPlan, prefix: str) -> list[int] | None:
        """Return the ids of the documents below a prefix; None where they are many."""
        bounds = {
            "partition": plan.partition_id,
            "prefix": prefix,
            "upper": upper_bound(prefix),
            "limit": SELECTIVE_PREFIX + 1,
        }
        ids = [row[0] for row in connection.execute(self._queries["ids_with_prefix"], bounds)]
        return ids if len(ids) <= SELECTIVE_PREFIX else None

    def add_keys(
        self,
        connection: SqlConnection,
        plan: QueryPlan,
        rows: Iterable[tuple[int, float]],
        prefix: str,
        wanted: int,
    ) -> tuple[list[RankedDocument], int]:
        """Add keys to at least the first `wanted` rows below a prefix; count the deleted ones."""
        ranked: list[RankedDocument] = []
        deleted = 0
        remaining = iter(rows)
        while (len(ranked) < wanted or _is_tied(ranked, wanted)) and (
            block := list(islice(remaining, wanted))
        ):
            parameters = {
                "ids": orjson.dumps([document_id for document_id, _ in block]).decode(),
                "partition": plan.partition_id,
            }
            keys = {
                document_id: str(key)
                for document_id, key in connection.execute(
                    self._queries["document_keys"], parameters
                )
            }
            deleted += len(block) - len(keys)
            ranked += [
                RankedDocument(document_id, score, keys[document_id])
                for document_id, score in block
                if document_id in keys and keys[document_id].startswith(prefix)
            ]
        return ranked, deleted


def rank_buffered(plan: QueryPlan, prefix: str) -> list[RankedDocument]:
    """Score the documents of the write buffer as the ranking statement would."""
    scores: dict[int, float] = {}
    for place, weight in plan.buffered_weights.items():
        for document_id, frequency, length in plan.buffered.postings[place]:
            gained = weight.score(frequency, length)
            scores[document_id] = scores.get(document_id, 0.0) + gained
    keys = plan.buffered.keys
    return [
        RankedDocument(document_id, score, keys[document_id])
        for document_id, score in scores.items()
        if keys[document_id].startswith(prefix)
    ]


def in_order(ranked: Iterable[RankedDocument]) -> list[RankedDocument]:
    """Sort by score, then by key. Scores are rounded: sums differ by the order of their terms."""
    rounded = [RankedDocument(row.id, round(row.score, SCORE_DIGITS), row.key) for row in ranked]
    return sorted(rounded, key=lambda row: (-row.score, row.key))


def _is_tied(ranked: Sequence[RankedDocument], wanted: int) -> bool:
    """Return whether the last row scores as the last within the limit: the next may, too."""
    edge = wanted - TIE_ROOM - 1
    if edge < 0 or len(ranked) >= wanted + MOST_TIED:
        return False
    return round(ranked[edge].score, SCORE_DIGITS) == round(ranked[-1].score, SCORE_DIGITS)
