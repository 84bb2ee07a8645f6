"""Query plans: the terms of a query with their weights in one partition, ready to be ranked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import orjson

from commonplace.search.lexical.bm25 import PASSAGES, TermWeight
from commonplace.search.lexical.write_buffer import BufferedPostings
from commonplace.search.model import EVEN, MAX_TERMS_OF_PASSAGE, QueryTerm
from commonplace.search.rarity import idf
from commonplace.storage.relational import Row

MAX_QUERY_TERMS = 64  # the most informative ones are kept
MAX_LOOKUPS = 512  # distinct terms of a query whose statistics are read


@dataclass(frozen=True, slots=True)
class FieldStatistics:
    """A searched field of a partition."""

    documents: int
    average_length: float
    weight: float  # given by the caller


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """A query against one partition."""

    partition_id: int
    terms: tuple[QueryTerm, ...]  # most informative first
    ids: Mapping[int, str]  # term id to term, of terms that have posting lists
    weighted: tuple[TermWeight, ...]
    buffered: BufferedPostings
    buffered_weights: Mapping[tuple[str, str], TermWeight]  # by term and field
    postings: int
    documents: int
    ceiling: float

    def parameters(self) -> str:
        """Return the weights as the ranking statements take them."""
        rows = [(term.term_id, term.gain, term.base, term.slope) for term in self.weighted]
        return orjson.dumps(rows).decode()


def informative_first(term: QueryTerm) -> tuple[bool, float, str]:
    """Sort key of query terms: those without postings last, then by idf."""
    return not term.documents, -term.idf, term.term


@dataclass(slots=True)
class _Holders:
    """The documents that hold a term, by field: how many, and the id of its list if it has one."""

    term: QueryTerm
    fields: dict[str, tuple[int, int | None]] = field(default_factory=dict)
    emphasis: float = 1.0


def field_statistics(
    rows: Iterable[Row], weights: Mapping[str, float]
) -> dict[str, FieldStatistics]:
    """Read the statistics of the fields that the caller searches and that hold documents."""
    return {
        name: FieldStatistics(documents, max(1.0, length / max(1, documents)), weights[name])
        for name, documents, length in rows
        if weights.get(name, 0.0) > 0 and documents > 0
    }


def plan_query(
    partition_id: int,
    terms: Sequence[str],
    fields: Mapping[str, FieldStatistics],
    holding: Iterable[Row],
    buffered: BufferedPostings,
    emphasis: Mapping[str, float] = EVEN,
) -> QueryPlan:
    """Weigh the terms; `holding` has term, list id, field and document count of each list."""
    total = max(statistics.documents for statistics in fields.values())
    lists: dict[tuple[str, str], tuple[int, int]] = {
        (term, name): (int(documents), int(list_id)) for term, list_id, name, documents in holding
    }
    found = [_find_holders(term, fields, lists, buffered, total) for term in terms]
    if emphasis:
        found = [_emphasize(holders, emphasis.get(holders.term.term, 1.0)) for holders in found]
    found.sort(key=lambda holders: informative_first(holders.term))
    return _weigh(partition_id, found[:MAX_QUERY_TERMS], fields, buffered, total)


def _emphasize(holders: _Holders, factor: float) -> _Holders:
    term = holders.term
    return _Holders(replace(term, idf=term.idf * factor), holders.fields, factor)


def _find_holders(
    term: str,
    fields: Mapping[str, FieldStatistics],
    lists: Mapping[tuple[str, str], tuple[int, int]],
    buffered: BufferedPostings,
    total: int,
) -> _Holders:
    holding: dict[str, tuple[int, int | None]] = {}
    for name, statistics in fields.items():
        count, list_id = lists.get((term, name), (0, None))
        holders = min(count + len(buffered.postings.get((term, name), ())), statistics.documents)
        if holders:
            holding[name] = (holders, list_id)
    most = max([documents for documents, _ in holding.values()], default=0)
    return _Holders(QueryTerm(term, most, idf(total, most)), holding)


def _weigh(
    partition_id: int,
    found: Sequence[_Holders],
    fields: Mapping[str, FieldStatistics],
    buffered: BufferedPostings,
    total: int,
) -> QueryPlan:
    ids: dict[int, str] = {}
    weighted: list[TermWeight] = []
    buffered_weights: dict[tuple[str, str], TermWeight] = {}
    ceilings: list[float] = []
    postings = 0
    for holders in found:
        term = holders.term.term
        worth = {
            name: holders.emphasis * fields[name].weight * idf(fields[name].documents, count)
            for name, (count, _) in holders.fields.items()
        }
        # A term without postings still counts against the others: half a match is half a score.
        ceilings.append(PASSAGES.most * max(worth.values(), default=holders.term.idf))
        for name, (count, list_id) in holders.fields.items():
            weight = PASSAGES.weigh(list_id or 0, worth[name], fields[name].average_length, count)
            if list_id is not None:
                ids[list_id] = term
                weighted.append(weight)
                postings += count
            if (term, name) in buffered.postings:
                buffered_weights[term, name] = weight
    return QueryPlan(
        partition_id,
        tuple(holders.term for holders in found),
        ids,
        tuple(weighted),
        buffered,
        buffered_weights,
        postings,
        total,
        # a passage has room for so many words of a long query
        sum(sorted(ceilings, reverse=True)[:MAX_TERMS_OF_PASSAGE]),
    )


def leading_terms(plan: QueryPlan, share: float) -> QueryPlan:
    """Keep only the rarest terms, enough to find every document that holds a share of the whole.

    A document without any of them cannot reach the share, so the long lists stay unread.
    """
    enough, weight = (1 - share) * sum(1 + term.idf for term in plan.terms), 0.0
    kept: set[str] = set()
    for term in plan.terms:  # the rarest first
        kept.add(term.term)
        weight += 1 + term.idf
        if weight > enough:
            break
    ids = {list_id: term for list_id, term in plan.ids.items() if term in kept}
    weighted = tuple(weight for weight in plan.weighted if weight.term_id in ids)
    buffered_weights = {
        place: weight for place, weight in plan.buffered_weights.items() if place[0] in kept
    }
    postings = sum(weight.documents for weight in weighted)
    return replace(
        plan, ids=ids, weighted=weighted, buffered_weights=buffered_weights, postings=postings
    )
