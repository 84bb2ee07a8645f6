"""Documents, postings and BM25 over named SQL, whichever database holds the tables.

Knows nothing of what a document is.

Reading is `search`; writing (`put`, `remove`, `remove_prefix`, `clear`) takes the connection of the
caller's own transaction, so that a domain's change and its index change commit together:

    postings = SqlitePostings(database)        # or PostgresPostings(database)
    database.write_now(lambda c: postings.put(c, Partition(tenant, "notes", "main"), [IndexDocument("n1",
    {"title": [...], "body": [...]})])) result = await postings.search(Partition(tenant, "notes",
    "main"), query_terms(text), limit=30, weights={"title": 2.0, "body": 1.0})
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Generic, TypeVar

import orjson

from commonplace.search.lexical.posting_cache import WeightedTerm
from commonplace.search.lexical.write_buffer import WaitingWords
from commonplace.search.model import (
    IndexDocument,
    LexicalMatch,
    LexicalResult,
    Partition,
    QueryTerm,
    Sharing,
)
from commonplace.search.model import Terms as Terms
from commonplace.storage.relational import Connection, Row

C = TypeVar("C", bound=Connection)
Ranked = tuple[int, float, str]
"""Document id, score, key."""

K1 = 1.5  # a little above the customary 1.2: better on prose, no worse on code (ADR 0043)
B = 0.75
MAX_QUERY_TERMS = 64  # the rarest that somebody holds are kept
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
    """A query against one partition: its terms with what they are worth, ready for the ranking
    statement.
    """

    partition_id: int
    terms: tuple[QueryTerm, ...]
    ids: Mapping[int, str]  # term id to term
    weighted: tuple[WeightedTerm, ...]
    waiting: WaitingWords
    waiting_weights: Mapping[tuple[str, str], WeightedTerm]  # by term and field
    postings: int
    documents: int
    ceiling: float


def told_most(term: QueryTerm) -> tuple[bool, float, str]:
    """The order in which a long query's terms are kept: what nobody holds finds nothing, however
    rare it is.
    """
    return not term.documents, -term.idf, term.term


def upper_bound(prefix: str) -> str:
    """The least string greater than every string that starts with the prefix (in code point
    order).
    """
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
        self,
        connection: C,
        partition: Partition,
        terms: Sequence[str],
        limit: int,
        weights: Mapping[str, float],
        prefix: str,
    ) -> LexicalResult:
        plan = self._plan(connection, partition, terms, weights)
        return LexicalResult() if plan is None else self._run(connection, plan, limit, prefix)

    def score_in(
        self,
        connection: C,
        partition: Partition,
        terms: Sequence[str],
        keys: Sequence[str],
        weights: Mapping[str, float],
    ) -> LexicalResult:
        """BM25 of given documents wherever they rank; those without a query term and unknown
        keys are left out.
        """
        plan = self._plan(connection, partition, terms, weights)
        if plan is None:
            return LexicalResult()
        ids = self._ids(connection, plan.partition_id, list(dict.fromkeys(keys)))
        parameters = {"terms": _parameters(plan), "documents": _json(ids), "limit": len(ids)}
        rows: Iterable[tuple[Any, ...]] = (
            connection.execute(self._queries["rank_among"], parameters) if plan.ids else ()
        )
        ranked, _ = self._keyed(connection, plan, rows, "", len(ids))
        asked = set(ids)
        ranked += [row for row in _waiting_ranked(plan, "") if row[0] in asked]
        return self._matches(connection, plan, _in_order(ranked))

    def sharing_in(
        self,
        connection: C,
        partition: Partition,
        terms: Sequence[str],
        share: float,
        limit: int,
        weights: Mapping[str, float],
    ) -> Sharing:
        plan = self._plan(connection, partition, terms, weights)
        return Sharing() if plan is None else self._share(connection, plan, share, limit, weights)

    def held_in(self, connection: C, partition: Partition, keys: Sequence[str]) -> dict[str, Terms]:
        """What given documents hold, where that is kept with them (`put` with `keep_terms`)."""
        number = self._partition(connection, partition)
        return self._held(connection, number, keys) if number is not None else {}

    def count(self, connection: C, partition: Partition) -> int:
        """How many documents a partition holds."""
        number = self._partition(connection, partition)
        row = (
            connection.execute(self._queries["document_count"], {"partition": number}).fetchone()
            if number is not None
            else None
        )
        return int(row[0]) if row else 0

    def keys(self, connection: C, partition: Partition, prefix: str = "") -> list[str]:
        """The keys that start with `prefix`, in order."""
        number = self._partition(connection, partition)
        if number is None:
            return []
        bounds = {"partition": number, "prefix": prefix, "upper": upper_bound(prefix)}
        return [
            row[0] for row in connection.execute(self._queries["documents_with_prefix"], bounds)
        ]

    # -- writing, inside the caller's transaction

    def put(
        self,
        connection: C,
        partition: Partition,
        documents: Iterable[IndexDocument],
        *,
        keep_terms: bool = True,
    ) -> None:
        """Index documents; a key that is there already is replaced.

        Without `keep_terms` the caller keeps what a document holds, uses each key once, and tells
        its terms when it removes it.
        """
        documents = list({document.key: document for document in documents}.values())
        number = self._opened(connection, partition)
        if keep_terms:
            self._take_out(connection, number, [document.key for document in documents], {})
        added = self._add_documents(connection, number, documents, keep_terms=keep_terms)
        self._count_fields(connection, number, [held for _, held in added], 1)
        self._add_postings(connection, number, added)

    def put_soon(self, connection: C, partition: Partition, document: IndexDocument) -> None:
        """Index one document the cheapest way there is; every search that begins after the
        commit finds it, as after `put`.
        """
        self.put(connection, partition, [document])

    def number(self, connection: C, partition: Partition) -> int:
        """The partition's number for a change that leaves its postings alone; a new partition
        gets one.
        """
        number = self._partition(connection, partition)
        return self._begin(connection, partition) if number is None else number

    def remove(
        self,
        connection: C,
        partition: Partition,
        keys: Iterable[str],
        terms: Mapping[str, Terms] | None = None,
    ) -> None:
        """Take documents out; unknown keys are ignored.

        `terms`: what each holds, where the caller keeps it.
        """
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

    def _ids(self, connection: C, number: int, keys: Sequence[str]) -> list[int]:
        rows = connection.execute(
            self._queries["document_ids"], {"partition": number, "documents": _json(keys)}
        )
        return [int(row[0]) for row in rows]

    def _begin(self, connection: C, partition: Partition) -> int:
        row = connection.execute(self._queries["partition_add"], _keys(partition)).fetchone()
        assert row is not None
        return int(row[0])

    def _lock(self, connection: C, partition: Partition) -> int | None:
        """The partition for a change: until the transaction ends, nobody else changes its
        statistics.
        """
        row = connection.execute(self._queries["partition_lock"], _keys(partition)).fetchone()
        return None if row is None else int(row[0])

    def _opened(self, connection: C, partition: Partition) -> int:
        """The same, made where it is not there."""
        number = self._lock(connection, partition)
        return self._begin(connection, partition) if number is None else number

    def _asked(
        self, connection: C, name: str, parameters: Sequence[Mapping[str, Any]]
    ) -> Iterator[Row | None]:
        """The one row of each statement.

        Several are under way at once: one round trip for PostgreSQL; all of them would slow SQLite.
        """
        for at in range(0, len(parameters), ASKED_AT_ONCE):
            answers = [
                connection.execute(self._queries[name], values)
                for values in parameters[at : at + ASKED_AT_ONCE]
            ]
            yield from [answer.fetchone() for answer in answers]

    def _add_documents(
        self, connection: C, number: int, documents: Sequence[IndexDocument], *, keep_terms: bool
    ) -> list[tuple[int, Terms]]:
        """Their ids, with how often each holds its terms."""
        counted = [
            {field: Counter(terms) for field, terms in document.fields.items()}
            for document in documents
        ]
        rows = [
            {
                "partition": number,
                "document": document.key,
                "terms": _json(held) if keep_terms else None,
            }
            for document, held in zip(documents, counted, strict=True)
        ]
        added = zip(self._asked(connection, "document_add", rows), counted, strict=True)
        return [(int(row[0]), held) for row, held in added if row is not None]

    def _add_postings(
        self, connection: C, number: int, documents: Sequence[tuple[int, Terms]]
    ) -> None:
        if not documents:
            return
        pending: list[
            tuple[str, str, int, int, int]
        ] = []  # field, term, document id, frequency, length
        for identity, held in documents:
            for field, frequencies in held.items():
                length = sum(frequencies.values())
                pending.extend(
                    (field, term, identity, frequency, length)
                    for term, frequency in frequencies.items()
                )
        ids = self._count_terms(connection, number, [held for _, held in documents], 1)
        rows = sorted(
            (ids[field, term], document, frequency, length)
            for field, term, document, frequency, length in pending
        )
        connection.execute(self._queries["postings_add"], {"postings": _json(rows)})

    def _take_out(
        self, connection: C, number: int, keys: Sequence[str], known: Mapping[str, Terms]
    ) -> None:
        removed: list[tuple[int, Terms]] = []
        asked = self._asked(
            connection, "document_terms", [{"partition": number, "document": key} for key in keys]
        )
        for key, row in zip(keys, asked, strict=True):
            if row is not None:
                removed.append(
                    (int(row[0]), orjson.loads(row[1]) if row[1] is not None else known[key])
                )
                connection.execute(self._queries["document_remove"], {"id": row[0]})
        if not removed:
            return
        self._count_fields(connection, number, [held for _, held in removed], -1)
        listed = self._listed(connection, number, removed)
        ids = self._count_terms(connection, number, [held for _, held in listed], -1)
        rows = sorted(
            (ids[field, term], document)
            for document, held in listed
            for field, terms in held.items()
            for term in terms
        )
        connection.execute(self._queries["postings_remove"], {"postings": _json(rows)})

    def _listed(
        self, connection: C, number: int, removed: Sequence[tuple[int, Terms]]
    ) -> Sequence[tuple[int, Terms]]:
        """Those of the removed documents whose words are in the posting lists."""
        return removed

    def _count_fields(
        self, connection: C, number: int, documents: Iterable[Terms], sign: int
    ) -> None:
        """Documents and length of each field."""
        changes: dict[str, tuple[int, int]] = {}
        for held in documents:
            for field, frequencies in held.items():
                count, length = changes.get(field, (0, 0))
                changes[field] = (count + sign, length + sign * sum(frequencies.values()))
        for field, (count, length) in changes.items():
            parameters = {"partition": number, "field": field, "documents": count, "length": length}
            connection.execute(self._queries["field_change"], parameters)

    def _count_terms(
        self, connection: C, number: int, documents: Iterable[Terms], sign: int
    ) -> dict[tuple[str, str], int]:
        """Documents of each term in each field; returns the ids of those terms."""
        changes: Counter[tuple[str, str]] = Counter()
        for held in documents:
            for field, frequencies in held.items():
                for term in frequencies:
                    changes[field, term] += sign
        if not changes:
            return {}
        terms = _json([(term, field, count) for (field, term), count in changes.items()])
        rows = connection.execute(
            self._queries["terms_change"], {"partition": number, "terms": terms}
        )
        return {(field, term): identity for identity, term, field in rows}

    def _waiting(self, connection: C, number: int, terms: Sequence[str]) -> WaitingWords:
        """What documents that are in no posting list yet hold of the terms."""
        return WaitingWords()

    def _plan(
        self,
        connection: C,
        partition: Partition,
        terms: Sequence[str],
        weights: Mapping[str, float],
    ) -> Plan | None:
        number = self._partition(connection, partition)
        if number is None:
            return None
        terms = list(dict.fromkeys(terms))[:MAX_LOOKUPS]
        lengths = connection.execute(self._queries["fields"], {"partition": number})
        holding = connection.execute(
            self._queries["terms"], {"partition": number, "terms": _json(terms)}
        )  # both in one round trip
        fields = {
            field: (documents, max(1.0, length / max(1, documents)))
            for field, documents, length in lengths
            if weights.get(field, 0.0) > 0 and documents > 0
        }
        if not fields:
            return None
        total = max(documents for documents, _ in fields.values())
        waiting = self._waiting(connection, number, terms)
        found: list[
            tuple[QueryTerm, dict[str, tuple[int, int | None]]]
        ] = []  # by field: documents, and the term's id if it has one
        listed: dict[tuple[str, str], tuple[int, int]] = {
            (term, field): (int(documents), int(identity))
            for term, identity, field, documents in holding
        }
        for term in terms:
            held: dict[str, tuple[int, int | None]] = {}
            for field, (documents, _) in fields.items():
                count, identity = listed.get((term, field), (0, None))
                holders = min(count + len(waiting.postings.get((term, field), ())), documents)
                if holders:
                    held[field] = (holders, identity)
            holders = max([documents for documents, _ in held.values()], default=0)
            found.append((QueryTerm(term, holders, idf(total, holders)), held))
        found.sort(key=lambda item: told_most(item[0]))
        return self._weighed(number, found[:MAX_QUERY_TERMS], fields, weights, waiting)

    def _weighed(
        self,
        number: int,
        kept: Sequence[tuple[QueryTerm, Mapping[str, tuple[int, int | None]]]],
        fields: Mapping[str, tuple[int, float]],
        weights: Mapping[str, float],
        waiting: WaitingWords,
    ) -> Plan:
        """What each term is worth in each field that somebody holds it in."""
        ids: dict[int, str] = {}
        weighted: list[WeightedTerm] = []
        waiting_weights: dict[tuple[str, str], WeightedTerm] = {}
        ceiling, postings = 0.0, 0
        for term, held in kept:
            # A term that no document holds still counts against the others: half a match is half a
            # score.
            ceiling += (K1 + 1) * max(
                [weights[field] * idf(fields[field][0], n) for field, (n, _) in held.items()],
                default=term.idf,
            )
            for field, (holders, identity) in held.items():
                gain = weights[field] * idf(fields[field][0], holders) * (K1 + 1)
                weight = WeightedTerm(
                    identity or 0, gain, K1 * (1 - B), K1 * B / fields[field][1], holders
                )
                if identity is not None:
                    ids[identity] = term.term
                    weighted.append(weight)
                    postings += holders
                if (term.term, field) in waiting.postings:
                    waiting_weights[term.term, field] = weight
        total = max(documents for documents, _ in fields.values())
        terms = tuple(term for term, _ in kept)
        return Plan(
            number, terms, ids, tuple(weighted), waiting, waiting_weights, postings, total, ceiling
        )

    def _run(self, connection: C, plan: Plan, limit: int, prefix: str) -> LexicalResult:
        ranked = self._ranked(connection, plan, limit, prefix) if plan.ids else []
        return self._matches(
            connection, plan, _in_order([*ranked, *_waiting_ranked(plan, prefix)])[:limit]
        )

    def _share(
        self, connection: C, plan: Plan, share: float, limit: int, weights: Mapping[str, float]
    ) -> Sharing:
        """Documents that hold at least a share of what the terms weigh together (1 + idf each),
        best first.
        """
        leading = leading_terms(plan, share)
        ranked = self._best(connection, leading, limit, "", limit) if leading.ids else []
        ranked = _in_order([*ranked, *_waiting_ranked(leading, "")])[:limit]
        held = self._held(connection, plan.partition_id, [key for _, _, key in ranked])
        weight = {term.term: 1 + term.idf for term in plan.terms}
        least = share * sum(weight.values())
        matches = []
        for _, score, key in ranked:
            fields = [terms for field, terms in held[key].items() if field in weights]
            words = fields[0] if len(fields) == 1 else set().union(*fields)
            shared = [term for term in weight if term in words]
            if sum([weight[term] for term in shared]) >= least:
                matches.append(LexicalMatch(key, score, tuple(shared)))
        return Sharing(tuple(matches), plan.terms, held)

    def _held(self, connection: C, number: int, keys: Sequence[str]) -> dict[str, Terms]:
        if not keys:
            return {}
        rows = connection.execute(
            self._queries["documents_terms"], {"partition": number, "documents": _json(list(keys))}
        )
        return {str(key): orjson.loads(terms) for key, terms in rows if terms is not None}

    def _matches(self, connection: C, plan: Plan, ranked: Sequence[Ranked]) -> LexicalResult:
        parameters = {
            "terms": _json(list(plan.ids)),
            "documents": _json([identity for identity, _, _ in ranked]),
        }
        held: dict[int, set[str]] = {identity: set() for identity, _, _ in ranked}
        for identity, term_id in connection.execute(self._queries["posting_terms"], parameters):
            held[int(identity)].add(plan.ids[int(term_id)])
        for term, field in plan.waiting_weights:
            for identity, _, _ in plan.waiting.postings[term, field]:
                if identity in held:
                    held[identity].add(term)
        matches = [
            LexicalMatch(
                key, score, tuple(term.term for term in plan.terms if term.term in held[identity])
            )
            for identity, score, key in ranked
        ]
        return LexicalResult(tuple(matches), plan.terms, plan.documents, plan.ceiling)

    def _ranked(self, connection: C, plan: Plan, limit: int, prefix: str) -> list[Ranked]:
        """(document id, score, key) of at least the best `limit` documents below the prefix, as
        far as there are.
        """
        wanted = limit + TIE_ROOM
        if prefix:
            bounds = {
                "partition": plan.partition_id,
                "prefix": prefix,
                "upper": upper_bound(prefix),
                "limit": SELECTIVE_PREFIX + 1,
            }
            below = [row[0] for row in connection.execute(self._queries["ids_with_prefix"], bounds)]
            if len(below) <= SELECTIVE_PREFIX:
                parameters = {
                    "terms": _parameters(plan),
                    "documents": _json(below),
                    "limit": wanted + MOST_TIED,
                }
                return self._keyed(
                    connection,
                    plan,
                    connection.execute(self._queries["rank_among"], parameters),
                    "",
                    wanted,
                )[0]
        first = wanted * (
            PREFIX_ROOM if prefix else 1
        )  # most documents are below the prefix, so few of the best are passed over
        return self._best(connection, plan, first, prefix, wanted)

    def _best(
        self, connection: C, plan: Plan, first: int, prefix: str, wanted: int
    ) -> list[Ranked]:
        for size in (first + MOST_TIED, ALL_ROWS):
            rows = connection.execute(
                self._queries["rank"], {"terms": _parameters(plan), "limit": size}
            ).fetchall()
            ranked, _ = self._keyed(connection, plan, rows, prefix, wanted)
            if len(ranked) >= wanted or len(rows) < size:
                break
        return ranked

    def _keyed(
        self, connection: C, plan: Plan, rows: Iterable[tuple[Any, ...]], prefix: str, wanted: int
    ) -> tuple[list[Ranked], int]:
        """At least the first `wanted` documents below the prefix with their keys, and how many
        on the way were there no more.
        """
        ranked: list[Ranked] = []
        gone = 0
        left = iter(rows)
        while (len(ranked) < wanted or _tied(ranked, wanted)) and (
            block := list(islice(left, wanted))
        ):
            parameters = {
                "ids": _json([identity for identity, _ in block]),
                "partition": plan.partition_id,
            }
            keys = {
                identity: str(key)
                for identity, key in connection.execute(self._queries["document_keys"], parameters)
            }
            gone += len(block) - len(keys)
            ranked += [
                (identity, score, keys[identity])
                for identity, score in block
                if identity in keys and keys[identity].startswith(prefix)
            ]
        return ranked, gone


def leading_terms(plan: Plan, share: float) -> Plan:
    """The plan with its rarest terms only, as many as weigh more than what a document may lack:
    whoever holds none of them cannot hold enough, so the long lists stay unread.
    """
    enough, weighs = (1 - share) * sum(1 + term.idf for term in plan.terms), 0.0
    kept: set[str] = set()
    for term in plan.terms:  # the rarest first
        kept.add(term.term)
        weighs += 1 + term.idf
        if weighs > enough:
            break
    ids = {identity: term for identity, term in plan.ids.items() if term in kept}
    weighted = tuple(weight for weight in plan.weighted if weight.term_id in ids)
    waiting_weights = {
        place: weight for place, weight in plan.waiting_weights.items() if place[0] in kept
    }
    postings = sum(weight.documents for weight in weighted)
    return replace(
        plan, ids=ids, weighted=weighted, waiting_weights=waiting_weights, postings=postings
    )


def _in_order(ranked: Iterable[Ranked]) -> list[Ranked]:
    rounded = [
        (identity, round(score, SCORE_DIGITS), key) for identity, score, key in ranked
    ]  # sums differ by their order
    return sorted(rounded, key=lambda row: (-row[1], row[2]))


def _waiting_ranked(plan: Plan, prefix: str) -> list[Ranked]:
    """The waiting documents below a prefix with the score that the ranking statement would give
    them.
    """
    scores: dict[int, float] = {}
    for place, weight in plan.waiting_weights.items():
        for identity, frequency, length in plan.waiting.postings[place]:
            gained = weight.gain * frequency / (frequency + weight.base + weight.slope * length)
            scores[identity] = scores.get(identity, 0.0) + gained
    keys = plan.waiting.keys
    return [
        (identity, score, keys[identity])
        for identity, score in scores.items()
        if keys[identity].startswith(prefix)
    ]


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
    return {
        "tenant": partition.tenant,
        "collection": partition.collection,
        "scope": partition.scope,
    }
