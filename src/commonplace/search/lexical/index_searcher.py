"""BM25 over posting tables, given a connection: plan a query, rank it, explain its matches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson

from commonplace.search.lexical.plan import (
    MAX_LOOKUPS,
    QueryPlan,
    field_statistics,
    leading_terms,
    plan_query,
)
from commonplace.search.lexical.ranking import (
    MOST_TIED,
    PREFIX_ROOM,
    TIE_ROOM,
    RankedDocument,
    Ranker,
    SqlRanker,
    in_order,
    rank_buffered,
)
from commonplace.search.lexical.write_buffer import BufferedPostings, WriteBuffer
from commonplace.search.model import EVEN, LexicalMatch, LexicalResult, Partition, Sharing, Terms
from commonplace.storage.relational import SqlConnection


def find_partition(
    connection: SqlConnection, queries: Mapping[str, str], partition: Partition
) -> int | None:
    """Return the number of a partition; None where nothing was ever put into it."""
    row = connection.execute(queries["partition_id"], partition_parameters(partition)).fetchone()
    return None if row is None else int(row[0])


def partition_parameters(partition: Partition) -> dict[str, str]:
    return {
        "tenant": partition.tenant,
        "collection": partition.collection,
        "scope": partition.scope,
    }


class IndexSearcher:
    """Searches inside a snapshot of the caller; both databases use it with their statements."""

    def __init__(
        self,
        queries: Mapping[str, str],
        ranker: Ranker | None = None,
        buffer: WriteBuffer | None = None,
    ) -> None:
        self._queries = queries
        self._sql = SqlRanker(queries)
        self._ranker = ranker or self._sql
        self._buffer = buffer

    def plan(
        self,
        connection: SqlConnection,
        partition: Partition,
        terms: Sequence[str],
        weights: Mapping[str, float],
        emphasis: Mapping[str, float] = EVEN,
    ) -> QueryPlan | None:
        """Return None where the partition holds nothing in the searched fields."""
        number = find_partition(connection, self._queries, partition)
        if number is None:
            return None
        terms = list(dict.fromkeys(terms))[:MAX_LOOKUPS]
        # ask both before reading the first answer: PostgreSQL needs one round trip
        lengths = connection.execute(self._queries["fields"], {"partition": number})
        holding = connection.execute(
            self._queries["terms"], {"partition": number, "terms": _json(terms)}
        )
        fields = field_statistics(lengths, weights)
        if not fields:
            return None
        buffered = (
            self._buffer.postings(connection, number, terms)
            if self._buffer is not None
            else BufferedPostings()
        )
        return plan_query(number, terms, fields, holding, buffered, emphasis)

    def search(
        self,
        connection: SqlConnection,
        partition: Partition,
        terms: Sequence[str],
        limit: int,
        weights: Mapping[str, float],
        prefix: str,
        emphasis: Mapping[str, float] = EVEN,
    ) -> LexicalResult:
        plan = self.plan(connection, partition, terms, weights, emphasis)
        return LexicalResult() if plan is None else self.run(connection, plan, limit, prefix)

    def run(
        self, connection: SqlConnection, plan: QueryPlan, limit: int, prefix: str
    ) -> LexicalResult:
        ranked = self._rank(connection, plan, limit, prefix) if plan.ids else []
        best = in_order([*ranked, *rank_buffered(plan, prefix)])[:limit]
        return self._matches(connection, plan, best)

    def score(
        self,
        connection: SqlConnection,
        partition: Partition,
        terms: Sequence[str],
        keys: Sequence[str],
        weights: Mapping[str, float],
        emphasis: Mapping[str, float] = EVEN,
    ) -> LexicalResult:
        """Score given documents wherever they rank; leave out those without a query term."""
        plan = self.plan(connection, partition, terms, weights, emphasis)
        if plan is None:
            return LexicalResult()
        parameters = {
            "partition": plan.partition_id,
            "documents": _json(list(dict.fromkeys(keys))),
        }
        rows = connection.execute(self._queries["document_ids"], parameters)
        ids = [int(row[0]) for row in rows]
        ranked = self._sql.rank_given(connection, plan, ids, len(ids), len(ids)) if plan.ids else []
        asked = set(ids)
        ranked += [row for row in rank_buffered(plan, "") if row.id in asked]
        return self._matches(connection, plan, in_order(ranked))

    def find_sharing(
        self,
        connection: SqlConnection,
        plan: QueryPlan,
        share: float,
        limit: int,
        weights: Mapping[str, float],
        prefix: str = "",
    ) -> Sharing:
        """Find documents below a prefix that hold a share of the terms' weight (1 + idf each)."""
        leading = leading_terms(plan, share)
        ranked: list[RankedDocument] = []
        if leading.ids and prefix:
            ranked = self._rank(connection, leading, limit, prefix)
        elif leading.ids:
            ranked = self._ranker.best(connection, leading, limit, "", limit)
        ranked = in_order([*ranked, *rank_buffered(leading, prefix)])[:limit]
        contents = self._contents(connection, plan.partition_id, [row.key for row in ranked])
        weight = {term.term: 1 + term.idf for term in plan.terms}
        least = share * sum(weight.values())
        matches = []
        for row in ranked:
            fields = [terms for name, terms in contents[row.key].items() if name in weights]
            words = fields[0] if len(fields) == 1 else set().union(*fields)
            shared = [term for term in weight if term in words]
            if sum([weight[term] for term in shared]) >= least:
                matches.append(LexicalMatch(row.key, row.score, tuple(shared)))
        return Sharing(tuple(matches), plan.terms, contents)

    def contents(
        self, connection: SqlConnection, partition: Partition, keys: Sequence[str]
    ) -> dict[str, Terms]:
        """Return the terms of given documents, where they are stored with them."""
        number = find_partition(connection, self._queries, partition)
        return self._contents(connection, number, keys) if number is not None else {}

    def _contents(
        self, connection: SqlConnection, number: int, keys: Sequence[str]
    ) -> dict[str, Terms]:
        if not keys:
            return {}
        rows = connection.execute(
            self._queries["documents_terms"], {"partition": number, "documents": _json(list(keys))}
        )
        return {str(key): orjson.loads(terms) for key, terms in rows if terms is not None}

    def _matches(
        self, connection: SqlConnection, plan: QueryPlan, ranked: Sequence[RankedDocument]
    ) -> LexicalResult:
        """Say which query terms each ranked document holds."""
        matched: dict[int, set[str]] = {row.id: set() for row in ranked}
        for document_id, term_id in self._ranker.matching(connection, plan, list(matched)):
            matched[document_id].add(plan.ids[term_id])
        for term, name in plan.buffered_weights:
            for document_id, _, _ in plan.buffered.postings[term, name]:
                if document_id in matched:
                    matched[document_id].add(term)
        matches = [
            LexicalMatch(
                row.key,
                row.score,
                tuple(term.term for term in plan.terms if term.term in matched[row.id]),
            )
            for row in ranked
        ]
        return LexicalResult(tuple(matches), plan.terms, plan.documents, plan.ceiling)

    def _rank(
        self, connection: SqlConnection, plan: QueryPlan, limit: int, prefix: str
    ) -> list[RankedDocument]:
        """Rank only the documents below a selective prefix, else rank all and filter."""
        wanted = limit + TIE_ROOM
        if prefix:
            below = self._sql.below(connection, plan, prefix)
            if below is not None:
                return self._sql.rank_given(connection, plan, below, wanted + MOST_TIED, wanted)
        # most documents are below the prefix, so few of the best are passed over
        first = wanted * (PREFIX_ROOM if prefix else 1)
        return self._ranker.best(connection, plan, first, prefix, wanted)


def _json(value: object) -> str:
    return orjson.dumps(value).decode()
