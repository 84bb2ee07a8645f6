"""Finds entries by their words: the shared engine's postings, asked the way entries need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from commonplace.kernel.auth import Tenant
from commonplace.memory.engine.documents import (
    ENTRY_WEIGHTS,
    TEXT,
    WEIGHTS,
    document_key,
    entry_id,
    key_prefix,
    key_type,
    partition,
)
from commonplace.memory.engine.terms import telling_terms
from commonplace.memory.errors import EMBEDDINGS_DISABLED, MODEL_NOT_AVAILABLE, failure
from commonplace.memory.model import Entry, EntryFilter
from commonplace.memory.retrieval.protocol import (
    EntryMatch,
    IndexMatches,
    SearchText,
    SimilarMatches,
)
from commonplace.search.lexical.retriever import lexical_hits
from commonplace.search.lexical.text import query_terms
from commonplace.search.model import (
    LexicalResult,
    LexicalStore,
    Partition,
    QueryTerm,
    SearchHit,
    Sharing,
    Terms,
)

QUERY_CHARACTERS = 4_000
CONTEXT_TERMS = 16
CONTEXT_SHARE = 0.3  # of the score, when the caller tells what the conversation is about
# candidates read at least, and so the most that `total` counts: it must not depend on the caller's
# limit
POOL = 50
WIDER = 8  # times as many, as often as a filter leaves too few of them
SIMILAR_TERMS = 10  # the most telling ones: each costs a list to read, at every add
SIMILAR_MASS = 0.35  # of an entry's telling words that a candidate must share
KNOWN_TERMS = 50_000


class EntryPostings(LexicalStore, Protocol):
    """A lexical store that also tells what documents share and hold."""

    async def sharing(
        self,
        partition: Partition,
        terms: Sequence[str],
        *,
        share: float,
        limit: int,
        weights: Mapping[str, float],
    ) -> Sharing:
        """Documents that hold at least a share of what the terms weigh together (1 + idf each),
        best first.
        """
        ...

    async def held(self, partition: Partition, keys: Sequence[str]) -> Mapping[str, Terms]: ...


class LexicalIndex:
    """Words only: what there is while no model is installed.

    `missing` says why there is none although one is configured.
    """

    def __init__(self, postings: EntryPostings, missing: str | None = None) -> None:
        self.postings = postings
        self._missing = missing
        self._holders: dict[
            tuple[Tenant, str], int
        ] = {}  # documents that hold a term, as last seen: chooses telling words

    @property
    def loading(self) -> bool:
        return False

    def ready(self) -> bool:
        return False

    def require(self) -> None:
        if self._missing is not None:
            raise failure(
                MODEL_NOT_AVAILABLE,
                f"There is no embedding model: {self._missing}",
                hint="commonplace models install",
            )
        raise failure(
            EMBEDDINGS_DISABLED,
            "Embeddings are switched off.",
            hint="Set the embedding provider to local, then retry.",
        )

    async def prepare(self, seconds: float) -> str:
        return self._missing or "embeddings are switched off"

    async def search(
        self, tenant: Tenant, sought: SearchText, wanted: EntryFilter, limit: int
    ) -> IndexMatches:
        size = max(limit, POOL)
        words = await self.by_words(
            tenant, query_terms(sought.query[:QUERY_CHARACTERS]), wanted, size
        )
        matches = _by_share(words)
        if sought.context.strip():
            around = await self.by_words(
                tenant, self._telling(tenant, sought.context, CONTEXT_TERMS), wanted, size
            )
            matches = _lean(matches, _by_share(around))
        return IndexMatches(tuple(matches[:limit]), min(len(matches), POOL), False)

    async def by_words(
        self, tenant: Tenant, terms: Sequence[str], wanted: EntryFilter, limit: int
    ) -> LexicalResult:
        """The best entries that a filter admits, with the statistics that judge them."""
        if not terms:
            return LexicalResult()
        size = limit
        # a type without a project is sifted by key, after ranking: until there are enough, or no
        # more
        while True:
            result = await self.postings.search(
                partition(tenant), terms, limit=size, weights=WEIGHTS, prefix=key_prefix(wanted)
            )
            matches = [match for match in result.matches if admits(wanted, match.key)]
            if len(matches) >= limit or len(result.matches) < size:
                break
            size *= WIDER
        self._remember(tenant, result.terms)
        return replace(result, matches=tuple(matches[:limit]))

    async def similar(
        self, tenant: Tenant, entry: Entry, limit: int, also: Sequence[Entry] = ()
    ) -> SimilarMatches:
        sharing, rarity = await self._sharing(tenant, entry, limit)
        found = [
            EntryMatch(entry_id(m.key), 0.0, terms=m.terms, words=sharing.held[m.key].get(TEXT))
            for m in sharing.matches
        ]
        found += [
            EntryMatch(other.id, 0.0)
            for other in also
            if other.id not in {match.entry_id for match in found}
        ]
        return SimilarMatches(tuple(found), rarity)

    async def embed(self, tenant: Tenant, entries: Sequence[Entry]) -> frozenset[str]:
        return frozenset()

    async def forget(self, tenant: Tenant, entries: Sequence[Entry]) -> None:
        return None

    async def forget_all(self, tenant: Tenant) -> None:
        return None

    async def vectors_of(self, tenant: Tenant, entry: Entry) -> tuple[bool, bool]:
        return False, False

    async def missing(self, tenant: Tenant, entries: Sequence[Entry]) -> list[Entry]:
        return []

    def close(self) -> None:
        return None

    async def _sharing(
        self, tenant: Tenant, entry: Entry, limit: int
    ) -> tuple[Sharing, Mapping[str, float]]:
        """Other entries that hold enough of its telling words, and how telling those are."""
        terms = self._telling(tenant, entry.text, SIMILAR_TERMS)
        found = await self.postings.sharing(
            partition(tenant), terms, share=SIMILAR_MASS, limit=limit + 1, weights=ENTRY_WEIGHTS
        )
        self._remember(tenant, found.terms)
        own = document_key(entry)
        others = tuple(match for match in found.matches if match.key != own)
        return replace(found, matches=others[:limit]), {term.term: term.idf for term in found.terms}

    def _telling(self, tenant: Tenant, text: str, limit: int) -> list[str]:
        """The terms of a text that say most about it: often here, rare elsewhere as far as we
        saw.
        """
        counts = Counter(telling_terms(text))
        worth = {
            term: count**0.5 / (1 + self._holders.get((tenant, term), 0)) ** 0.5
            for term, count in counts.items()
        }
        return sorted(worth, key=lambda term: (-worth[term], term))[:limit]

    def _remember(self, tenant: Tenant, terms: Iterable[QueryTerm]) -> None:
        if len(self._holders) > KNOWN_TERMS:
            self._holders.clear()
        for term in terms:
            self._holders[tenant, term.term] = term.documents


def admits(wanted: EntryFilter, key: str) -> bool:
    return wanted.type is None or key_type(key) == wanted.type.value


def _by_share(result: LexicalResult) -> list[EntryMatch]:
    """BM25 as a share of what a perfect match would reach: the order is BM25's, the score
    compares between queries.
    """
    return [as_match(hit) for hit in lexical_hits(result)]


def as_match(hit: SearchHit) -> EntryMatch:
    return EntryMatch(entry_id(hit.key), hit.score, hit.lexical, hit.semantic, hit.terms)


def _lean(matches: Sequence[EntryMatch], context: Sequence[EntryMatch]) -> list[EntryMatch]:
    """The conversation moves what the question found, and adds a little of what it alone finds."""
    near = {match.entry_id: match.score for match in context}
    found = {match.entry_id for match in matches}
    leaning = [
        replace(m, score=m.score + CONTEXT_SHARE * (1 - m.score) * near.get(m.entry_id, 0.0))
        for m in matches
    ]
    leaning += [
        replace(m, score=CONTEXT_SHARE * m.score) for m in context if m.entry_id not in found
    ]
    return sorted(leaning, key=lambda match: (-match.score, match.entry_id))
