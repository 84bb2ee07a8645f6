"""Documents, postings and BM25 over named SQL, whichever database holds the tables. Knows nothing of what a document is.

Reading is `search`; writing (`put`, `remove`, `remove_prefix`, `clear`) takes the connection of the caller's own transaction, so that a
domain's change and its index change commit together:

    postings = SqlitePostings(database)        # or PostgresPostings(database)
    database.write_now(lambda c: postings.put(c, Partition(tenant, "notes", "main"), [Document("n1", {"title": [...], "body": [...]})]))
    result = await postings.search(Partition(tenant, "notes", "main"), query_terms(text), limit=30, weights={"title": 2.0, "body": 1.0})
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar

import orjson

from commonplace.search.posting_cache import WeightedTerm
from commonplace.search.store import Document, LexicalMatch, LexicalResult, Partition, QueryTerm
from commonplace.storage.relational import Connection, Row

C = TypeVar("C", bound=Connection)
Terms = Mapping[str, Mapping[str, int]]
"""What a document holds: field to term to frequency."""

K1 = 1.5  # a little above the customary 1.2: better on prose, no worse on code (ADR 0043)
B = 0.75
MAX_QUERY_TERMS = 64  # the rarest are kept
MAX_LOOKUPS = 512  # distinct terms of a query whose statistics are looked at
SELECTIVE_PREFIX = 2_000  # documents below a prefix up to which only they are scored
PREFIX_ROOM = 16  # times the limit read at first where a prefix lets most documents pass
SCORE_DIGITS = 9
TIE_ROOM = 16  # rows looked at beyond the limit, so that ties at the edge fall by key
MOST_TIED = 128  # and so many more while they are as good as the last one within the limit
ALL_ROWS = 1 << 31
ASKED_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Plan:
    """A query against one partition: its terms with what they are worth, ready for the ranking statement."""

    partition_id: int
    terms: tuple[QueryTerm, ...]
    ids: Mapping[int, str]  # term id to term
    weighted: tuple[WeightedTerm, ...]
    postings: int
    documents: int
    ceiling: float


def upper_bound(prefix: str) -> str:
    """The least string greater than every string that starts with the prefix (in code point order)."""
    trimmed = prefix.rstrip(chr(0x10FFFF))
    if not trimmed:
        return chr(0x10FFFF) * 8
    following = ord(trimmed[-1]) + 1
    return trimmed[:-1] + chr(0xE000 if 0xD800 <= following <= 0xDFFF else following)


class SqlPostings(Generic[C]):
    """What the lexical stores of both databases share: everything but how a unit of work runs."""

    def __init__(self, queries: Mapping[str, str]) -> None:
        self._queries = queries

    # -- reading

    def search_in(
        self, connection: C, partition: Partition, terms: Sequence[str], limit: int, weights: Mapping[str, float], prefix: str
    ) -> LexicalResult:
        plan = self._plan(connection, partition, terms, weights)
        return LexicalResult() if plan is None else self._run(connection, plan, limit, prefix)

    def score_in(
        self, connection: C, partition: Partition, terms: Sequence[str], keys: Sequence[str], weights: Mapping[str, float]
    ) -> LexicalResult:
        """BM25 of given documents wherever they rank; those without a query term and unknown keys are left out."""
        plan = self._plan(connection, partition, terms, weights)
        if plan is None:
            return LexicalResult()
        named = {"partition": plan.partition_id, "documents": _json(list(dict.fromkeys(keys)))}
        ids = [int(row[0]) for row in connection.execute(self._queries["document_ids"], named)]
        parameters = {"terms": _parameters(plan), "documents": _json(ids), "limit": len(ids)}
        rows: Iterable[tuple[Any, ...]] = connection.execute(self._queries["rank_among"], parameters) if plan.ids else ()
        ranked, _ = self._keyed(connection, plan, rows, "", len(ids))
        return self._matches(connection, plan, ranked)

    def count(self, connection: C, partition: Partition) -> int:
        """How many documents a partition holds."""
        number = self._partition(connection, partition)
        row = connection.execute(self._queries["document_count"], {"partition": number}).fetchone() if number is not None else None
        return int(row[0]) if row else 0

    def keys(self, connection: C, partition: Partition, prefix: str = "") -> list[str]:
        """The keys that start with `prefix`, in order."""
        number = self._partition(connection, partition)
        if number is None:
            return []
        bounds = {"partition": number, "prefix": prefix, "upper": upper_bound(prefix)}
        return [row[0] for row in connection.execute(self._queries["documents_with_prefix"], bounds)]

    # -- writing, inside the caller's transaction

    def put(self, connection: C, partition: Partition, documents: Iterable[Document], *, keep_terms: bool = True) -> None:
        """Index documents; a key that is there already is replaced. Without `keep_terms` the caller keeps what a document holds, uses
        each key once, and tells its terms when it removes it."""
        number = self._lock(connection, partition)
        if number is None:
            number = self._begin(connection, partition)
        documents = list({document.key: document for document in documents}.values())
        if keep_terms:
            self._take_out(connection, number, [document.key for document in documents], {})
        counted = [{field: Counter(terms) for field, terms in document.fields.items()} for document in documents]
        rows = [
            {"partition": number, "document": document.key, "terms": _json(held) if keep_terms else None}
            for document, held in zip(documents, counted, strict=True)
        ]
        change = _Change()
        pending: list[tuple[str, str, int, int, int]] = []  # field, term, document id, frequency, length
        for held, row in zip(counted, self._asked(connection, "document_add", rows), strict=True):
            assert row is not None
            for field, frequencies in held.items():
                length = frequencies.total()
                change.add(field, frequencies, 1)
                pending.extend((field, term, int(row[0]), frequency, length) for term, frequency in frequencies.items())
        ids = self._apply(connection, number, change)
        postings = sorted((ids[field, term], document, frequency, length) for field, term, document, frequency, length in pending)
        connection.execute(self._queries["postings_add"], {"postings": _json(postings)})

    def number(self, connection: C, partition: Partition) -> int:
        """The partition's number for a change that leaves its postings alone; a new partition gets one."""
        number = self._partition(connection, partition)
        return self._begin(connection, partition) if number is None else number

    def remove(self, connection: C, partition: Partition, keys: Iterable[str], terms: Mapping[str, Terms] | None = None) -> None:
        """Take documents out; unknown keys are ignored. `terms`: what each holds, where the caller keeps it."""
        number = self._lock(connection, partition)
        if number is not None:
            self._take_out(connection, number, list(keys), terms or {})

    def remove_prefix(self, connection: C, partition: Partition, prefix: str) -> None:
        """Take out every document whose key starts with `prefix`."""
        self.remove(connection, partition, self.keys(connection, partition, prefix))

    def clear(self, connection: C, partition: Partition) -> None:
        """Forget a partition with everything in it."""
        number = self._lock(connection, partition)
        if number is not None:
            connection.execute(self._queries["partition_postings_remove"], {"partition": number})
            connection.execute(self._queries["partition_remove"], {"partition": number})

    # -- inside

    def _partition(self, connection: C, partition: Partition) -> int | None:
        row = connection.execute(self._queries["partition_id"], _keys(partition)).fetchone()
        return None if row is None else int(row[0])

    def _begin(self, connection: C, partition: Partition) -> int:
        row = connection.execute(self._queries["partition_add"], _keys(partition)).fetchone()
        assert row is not None
        return int(row[0])

    def _lock(self, connection: C, partition: Partition) -> int | None:
        """The partition for a change: until the transaction ends, nobody else changes its statistics."""
        row = connection.execute(self._queries["partition_lock"], _keys(partition)).fetchone()
        return None if row is None else int(row[0])

    def _asked(self, connection: C, name: str, parameters: Sequence[Mapping[str, Any]]) -> Iterator[Row | None]:
        """The one row of each statement. Several are under way at once: one round trip for PostgreSQL; all of them would slow SQLite."""
        for at in range(0, len(parameters), ASKED_AT_ONCE):
            answers = [connection.execute(self._queries[name], values) for values in parameters[at : at + ASKED_AT_ONCE]]
            yield from [answer.fetchone() for answer in answers]

    def _take_out(self, connection: C, number: int, keys: Sequence[str], known: Mapping[str, Terms]) -> None:
        change = _Change()
        removed: list[tuple[str, str, int]] = []
        asked = self._asked(connection, "document_terms", [{"partition": number, "document": key} for key in keys])
        for key, row in zip(keys, asked, strict=True):
            if row is None:
                continue
            held: Terms = orjson.loads(row[1]) if row[1] is not None else known[key]
            for field, frequencies in held.items():
                change.add(field, frequencies, -1)
                removed.extend((field, term, int(row[0])) for term in frequencies)
            connection.execute(self._queries["document_remove"], {"id": row[0]})
        if removed:
            ids = self._apply(connection, number, change)
            rows = sorted((ids[field, term], document) for field, term, document in removed)
            connection.execute(self._queries["postings_remove"], {"postings": _json(rows)})

    def _apply(self, connection: C, number: int, change: _Change) -> dict[tuple[str, str], int]:
        """Bring the statistics up to date; returns the ids of the terms touched."""
        for field, (documents, length) in change.fields.items():
            connection.execute(
                self._queries["field_change"], {"partition": number, "field": field, "documents": documents, "length": length}
            )
        terms = _json([(term, field, documents) for (field, term), documents in change.terms.items()])
        rows = connection.execute(self._queries["terms_change"], {"partition": number, "terms": terms})
        return {(field, term): identity for identity, term, field in rows}

    def _plan(self, connection: C, partition: Partition, terms: Sequence[str], weights: Mapping[str, float]) -> Plan | None:
        number = self._partition(connection, partition)
        if number is None:
            return None
        fields = {
            field: (documents, max(1.0, length / max(1, documents)))
            for field, documents, length in connection.execute(self._queries["fields"], {"partition": number})
            if weights.get(field, 0.0) > 0 and documents > 0
        }
        if not fields:
            return None
        total = max(documents for documents, _ in fields.values())
        found: list[tuple[QueryTerm, list[tuple[int, str, int]]]] = []
        asked = [
            (term, connection.execute(self._queries["term"], {"partition": number, "term": term}))
            for term in list(dict.fromkeys(terms))[:MAX_LOOKUPS]
        ]
        for term, answer in asked:
            rows = [
                (int(identity), field, min(int(documents), fields[field][0])) for identity, field, documents in answer if field in fields
            ]
            holders = max((documents for _, _, documents in rows), default=0)
            found.append((QueryTerm(term, holders, idf(total, holders)), rows))
        found.sort(key=lambda item: (-item[0].idf, item[0].term))
        kept = found[:MAX_QUERY_TERMS]
        ids: dict[int, str] = {}
        weighted: list[WeightedTerm] = []
        ceiling = 0.0
        for term_, rows in kept:
            # A term that no document holds still counts against the others: half a match is half a score.
            ceiling += (K1 + 1) * max([weights[field] * idf(fields[field][0], n) for _, field, n in rows], default=term_.idf)
            for identity, field, documents in rows:
                ids[identity] = term_.term
                gain = weights[field] * idf(fields[field][0], documents) * (K1 + 1)
                weighted.append(WeightedTerm(identity, gain, K1 * (1 - B), K1 * B / fields[field][1]))
        postings = sum(documents for _, rows in kept for _, _, documents in rows)
        return Plan(number, tuple(item[0] for item in kept), ids, tuple(weighted), postings, total, ceiling)

    def _run(self, connection: C, plan: Plan, limit: int, prefix: str) -> LexicalResult:
        ranked = self._ranked(connection, plan, limit, prefix) if plan.ids else []
        ranked = [(identity, round(score, SCORE_DIGITS), key) for identity, score, key in ranked]  # sums differ by their order
        ranked.sort(key=lambda row: (-row[1], row[2]))
        return self._matches(connection, plan, ranked[:limit])

    def _matches(self, connection: C, plan: Plan, ranked: Sequence[tuple[int, float, str]]) -> LexicalResult:
        parameters = {"terms": _json(list(plan.ids)), "documents": _json([identity for identity, _, _ in ranked])}
        held: dict[int, set[str]] = {identity: set() for identity, _, _ in ranked}
        for identity, term_id in connection.execute(self._queries["posting_terms"], parameters):
            held[int(identity)].add(plan.ids[int(term_id)])
        matches = [
            LexicalMatch(key, score, tuple(term.term for term in plan.terms if term.term in held[identity]))
            for identity, score, key in ranked
        ]
        return LexicalResult(tuple(matches), plan.terms, plan.documents, plan.ceiling)

    def _ranked(self, connection: C, plan: Plan, limit: int, prefix: str) -> list[tuple[int, float, str]]:
        """(document id, score, key) of at least the best `limit` documents below the prefix, as far as there are."""
        wanted = limit + TIE_ROOM
        if prefix:
            bounds = {"partition": plan.partition_id, "prefix": prefix, "upper": upper_bound(prefix), "limit": SELECTIVE_PREFIX + 1}
            below = [row[0] for row in connection.execute(self._queries["ids_with_prefix"], bounds)]
            if len(below) <= SELECTIVE_PREFIX:
                parameters = {"terms": _parameters(plan), "documents": _json(below), "limit": wanted}
                return self._keyed(connection, plan, connection.execute(self._queries["rank_among"], parameters), "", wanted)[0]
        first = wanted * (PREFIX_ROOM if prefix else 1)  # most documents are below the prefix, so few of the best are passed over
        return self._best(connection, plan, first, prefix, wanted)

    def _best(self, connection: C, plan: Plan, first: int, prefix: str, wanted: int) -> list[tuple[int, float, str]]:
        for size in (first + MOST_TIED, ALL_ROWS):
            rows = connection.execute(self._queries["rank"], {"terms": _parameters(plan), "limit": size}).fetchall()
            ranked, _ = self._keyed(connection, plan, rows, prefix, wanted)
            if len(ranked) >= wanted or len(rows) < size:
                break
        return ranked

    def _keyed(
        self, connection: C, plan: Plan, rows: Iterable[tuple[Any, ...]], prefix: str, wanted: int
    ) -> tuple[list[tuple[int, float, str]], int]:
        """At least the first `wanted` documents below the prefix with their keys, and how many on the way were there no more."""
        ranked: list[tuple[int, float, str]] = []
        gone = 0
        left = iter(rows)
        while (len(ranked) < wanted or _tied(ranked, wanted)) and (block := list(islice(left, wanted))):
            parameters = {"ids": _json([identity for identity, _ in block]), "partition": plan.partition_id}
            keys = {identity: str(key) for identity, key in connection.execute(self._queries["document_keys"], parameters)}
            gone += len(block) - len(keys)
            ranked += [
                (identity, score, keys[identity]) for identity, score in block if identity in keys and keys[identity].startswith(prefix)
            ]
        return ranked, gone


class _Change:
    """What a batch does to the statistics: documents and length of each field, documents of each term."""

    def __init__(self) -> None:
        self.fields: dict[str, tuple[int, int]] = {}
        self.terms: Counter[tuple[str, str]] = Counter()

    def add(self, field: str, frequencies: Mapping[str, int], sign: int) -> None:
        documents, length = self.fields.get(field, (0, 0))
        self.fields[field] = (documents + sign, length + sign * sum(frequencies.values()))
        for term in frequencies:
            self.terms[field, term] += sign


def _tied(ranked: Sequence[tuple[int, float, str]], wanted: int) -> bool:
    """Whether the last one is as good as the last within the limit, so that the next may be too."""
    edge = wanted - TIE_ROOM - 1
    if edge < 0 or len(ranked) >= wanted + MOST_TIED:
        return False
    return round(ranked[edge][1], SCORE_DIGITS) == round(ranked[-1][1], SCORE_DIGITS)


def idf(documents: int, holders: int) -> float:
    """Inverse document frequency as BM25 has it, never negative."""
    return math.log(1 + (max(documents, holders) - holders + 0.5) / (holders + 0.5))


def _parameters(plan: Plan) -> str:
    return _json([(term.term_id, term.gain, term.base, term.slope) for term in plan.weighted])


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


def _keys(partition: Partition) -> dict[str, str]:
    return {"tenant": partition.tenant, "collection": partition.collection, "scope": partition.scope}
