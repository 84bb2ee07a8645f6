"""Find entries by their words."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from commonplace.kernel.auth import Tenant
from commonplace.memory.engine.documents import (
    ENTRY_WEIGHTS,
    TEXT,
    WEIGHTS,
    admits,
    document_key,
    entry_id,
    key_prefix,
    may_crowd_out,
    partition,
    project_prefix,
)
from commonplace.memory.engine.passages import is_subject, newest_lines
from commonplace.memory.engine.terms import significant_terms
from commonplace.memory.errors import EMBEDDINGS_DISABLED, MODEL_NOT_AVAILABLE, failure
from commonplace.memory.model import Entry, EntryFilter, VectorCoverage
from commonplace.memory.retrieval.protocol import (
    EntryMatch,
    IndexMatches,
    SearchText,
    SimilarMatches,
)
from commonplace.memory.text import QUERY_CHARACTERS
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
from commonplace.search.retriever import ScoresKeys

CONTEXT_TERMS = 16
NEWEST_CHARACTERS = 800  # of the conversation: three quarters of the terms come from there
CONTEXT_SHARE = 0.3  # of the score, when the caller gives the conversation
SUBJECT_SHARE = 0.6  # the same, when it is one line that names the subject
# Fewest candidates read, and so the most that `total` counts: independent of the caller's limit.
POOL = 50
WIDEN = 8  # times as many are read while a filter leaves too few
SIMILAR_TERMS = 10  # each costs reading a posting list, at every add
SIMILAR_MASS = 0.35  # of the weight of an entry's distinctive words that a candidate must share
KNOWN_TERMS = 50_000


class EntryPostings(LexicalStore, Protocol):
    """A lexical store that also knows which terms documents share and contain."""

    async def find_sharing(
        self,
        partition: Partition,
        terms: Sequence[str],
        *,
        share: float,
        limit: int,
        weights: Mapping[str, float],
        prefix: str = "",
    ) -> Sharing:
        """Return documents below a prefix with at least a share of the terms' weight, best first.

        A term weighs 1 + IDF.
        """
        ...

    async def contents(self, partition: Partition, keys: Sequence[str]) -> Mapping[str, Terms]: ...


class EntryWords:
    """`LexicalQuery` against the words of a tenant's entries."""

    def __init__(
        self,
        postings: EntryPostings,
        tenant: Tenant,
        terms: Sequence[str],
        wanted: EntryFilter,
        limit: int,
        remember: Callable[[Tenant, Iterable[QueryTerm]], None],
    ) -> None:
        self._postings = postings
        self._tenant = tenant
        self._terms = terms
        self._wanted = wanted
        self._limit = limit
        self._remember = remember

    async def find(self) -> LexicalResult:
        """Return the best entries that the filter admits."""
        if not self._terms:
            return LexicalResult()
        size = self._limit
        # A type without a project is filtered after the search: more are read until enough remain
        # or there are no more.
        while True:
            result = await self._postings.search(
                partition(self._tenant),
                self._terms,
                limit=size,
                weights=WEIGHTS,
                prefix=key_prefix(self._wanted),
            )
            matches = [match for match in result.matches if admits(self._wanted, match.key)]
            if len(matches) >= self._limit or len(result.matches) < size:
                break
            size *= WIDEN
        self._remember(self._tenant, result.terms)
        return replace(result, matches=tuple(matches[: self._limit]))

    async def score(self, keys: Sequence[str]) -> LexicalResult | None:
        """Return the scores of given entries."""
        if not self._terms or not isinstance(self._postings, ScoresKeys):
            return None
        return await self._postings.score_keys(
            partition(self._tenant), self._terms, keys, weights=WEIGHTS
        )


class LexicalIndex:
    """Searches words only, while no model is installed."""

    def __init__(
        self,
        postings: EntryPostings,
        model_missing: str | None = None,
        erase_vectors: Callable[[Tenant, Collection[str]], None] | None = None,
    ) -> None:
        """Set the reason why the configured model is missing.

        `erase_vectors` removes what a model that was installed before made of entries.
        """
        self.postings = postings
        self._erase_vectors = erase_vectors
        self._model_missing = model_missing
        # How many documents contain a term, as last seen: chooses the distinctive words of a text.
        self._document_counts: dict[tuple[Tenant, str], int] = {}

    @property
    def loading(self) -> bool:
        return False

    def ready(self) -> bool:
        return False

    def require(self) -> None:
        if self._model_missing is not None:
            raise failure(
                MODEL_NOT_AVAILABLE,
                f"There is no embedding model: {self._model_missing}",
                hint="commonplace models install",
            )
        raise failure(
            EMBEDDINGS_DISABLED,
            "Embeddings are switched off.",
            hint="Set the embedding provider to local, then retry.",
        )

    async def prepare(self, seconds: float) -> str:
        return self._model_missing or "embeddings are switched off"

    async def search(
        self, tenant: Tenant, text: SearchText, wanted: EntryFilter, limit: int
    ) -> IndexMatches:
        words = await self.query(tenant, text, wanted, max(limit, POOL)).find()
        return await self.rank(tenant, text, wanted, limit, words)

    def query(
        self, tenant: Tenant, text: SearchText, wanted: EntryFilter, limit: int
    ) -> EntryWords:
        """Describe a search for the words of a query."""
        return self._words(tenant, query_terms(text.query[:QUERY_CHARACTERS]), wanted, limit)

    async def rank(
        self,
        tenant: Tenant,
        text: SearchText,
        wanted: EntryFilter,
        limit: int,
        words: LexicalResult,
    ) -> IndexMatches:
        """Rank what the words of a query found, favouring what fits the conversation."""
        matches = await self.raise_by_context(tenant, text, wanted, limit, _score_by_share(words))
        total = min(len(matches), POOL)
        return IndexMatches(tuple(matches[:limit]), total, False, documents=words.documents)

    async def raise_by_context(
        self,
        tenant: Tenant,
        text: SearchText,
        wanted: EntryFilter,
        limit: int,
        matches: Sequence[EntryMatch],
    ) -> list[EntryMatch]:
        """Raise matches that the words of the conversation find too, best first."""
        if not text.context.strip():
            return list(matches)
        terms = self._context_terms(tenant, text.context)
        around = await self._words(tenant, terms, wanted, max(limit, POOL)).find()
        share = SUBJECT_SHARE if is_subject(text.context) else CONTEXT_SHARE
        return _raise_by_context(matches, _score_by_share(around), share)

    def _words(
        self, tenant: Tenant, terms: Sequence[str], wanted: EntryFilter, limit: int
    ) -> EntryWords:
        return EntryWords(self.postings, tenant, terms, wanted, limit, self._remember)

    async def similar(
        self, tenant: Tenant, entry: Entry, limit: int, also: Sequence[Entry] = ()
    ) -> SimilarMatches:
        sharing, rarity = await self.find_sharing(tenant, entry, limit)
        matches = [
            EntryMatch(entry_id(m.key), 0.0, terms=m.terms, words=sharing.contents[m.key].get(TEXT))
            for m in sharing.matches
        ]
        known = {match.entry_id for match in matches}
        matches += [EntryMatch(other.id, 0.0) for other in also if other.id not in known]
        return SimilarMatches(tuple(matches), rarity)

    async def embed(self, tenant: Tenant, entries: Sequence[Entry]) -> frozenset[str]:
        return frozenset()

    async def embed_whole(self, tenant: Tenant, entries: Sequence[Entry]) -> frozenset[str]:
        return frozenset()

    async def forget(self, tenant: Tenant, entries: Sequence[Entry]) -> None:
        return None

    async def forget_all(self, tenant: Tenant) -> None:
        return None

    async def erase(self, tenant: Tenant, entry_ids: Collection[str]) -> None:
        if self._erase_vectors is not None:
            await asyncio.to_thread(self._erase_vectors, tenant, entry_ids)

    async def coverage(self, tenant: Tenant, entry: Entry) -> VectorCoverage:
        return VectorCoverage()

    async def count_vectors(self, tenant: Tenant) -> int:
        return 0

    async def find_missing(self, tenant: Tenant, entries: Sequence[Entry]) -> list[Entry]:
        return []

    def close(self) -> None:
        return None

    async def find_sharing(
        self, tenant: Tenant, entry: Entry, limit: int
    ) -> tuple[Sharing, Mapping[str, float]]:
        """Return other entries with enough of its distinctive words, and the IDF of those.

        Up to `limit` of all projects, and as many of its own project if others crowd it out.
        """
        terms = self._distinctive_terms(tenant, entry.text, SIMILAR_TERMS)

        async def find(prefix: str) -> Sharing:
            return await self.postings.find_sharing(
                partition(tenant),
                terms,
                share=SIMILAR_MASS,
                limit=limit + 1,
                weights=ENTRY_WEIGHTS,
                prefix=prefix,
            )

        found = await find("")
        self._remember(tenant, found.terms)
        own = document_key(entry)
        others = [match for match in found.matches if match.key != own][:limit]
        contents = found.contents
        if may_crowd_out(entry, contents, limit):
            inside = await find(project_prefix(entry))
            known = {match.key for match in others}
            others += [m for m in inside.matches if m.key != own and m.key not in known][:limit]
            contents = {**contents, **inside.contents}
        rarity = {term.term: term.idf for term in found.terms}
        return replace(found, matches=tuple(others), contents=contents), rarity

    def _context_terms(self, tenant: Tenant, context: str) -> list[str]:
        """Return the distinctive terms of a conversation, mostly of its newest lines."""
        newest = self._distinctive_terms(
            tenant, newest_lines(context, NEWEST_CHARACTERS), CONTEXT_TERMS
        )
        older = self._distinctive_terms(tenant, context, CONTEXT_TERMS)
        return list(dict.fromkeys([*newest[: CONTEXT_TERMS * 3 // 4], *older]))[:CONTEXT_TERMS]

    def _distinctive_terms(self, tenant: Tenant, text: str, limit: int) -> list[str]:
        """Return the terms that are frequent in a text and rare elsewhere, as far as known."""
        counts = Counter(significant_terms(text))
        worth = {
            term: count**0.5 / (1 + self._document_counts.get((tenant, term), 0)) ** 0.5
            for term, count in counts.items()
        }
        return sorted(worth, key=lambda term: (-worth[term], term))[:limit]

    def _remember(self, tenant: Tenant, terms: Iterable[QueryTerm]) -> None:
        if len(self._document_counts) > KNOWN_TERMS:
            self._document_counts.clear()
        for term in terms:
            self._document_counts[tenant, term.term] = term.documents


def as_match(hit: SearchHit) -> EntryMatch:
    """Name the entry of a hit by its id."""
    return EntryMatch(
        entry_id(hit.key), hit.score, hit.lexical, hit.semantic, hit.terms, told=hit.words
    )


def _score_by_share(result: LexicalResult) -> list[EntryMatch]:
    """Score by the share of BM25 that a perfect match would reach, comparable between queries."""
    return [as_match(hit) for hit in lexical_hits(result)]


def _raise_by_context(
    matches: Sequence[EntryMatch], context: Sequence[EntryMatch], share: float
) -> list[EntryMatch]:
    """Raise matches that the conversation also finds, and add a little of what it alone finds."""
    near = {match.entry_id: match.score for match in context}
    found = {match.entry_id for match in matches}
    raised = []
    for match in matches:
        around = near.get(match.entry_id, 0.0)
        score = match.score + share * (1 - match.score) * around
        raised.append(replace(match, score=score, around=around))
    raised += [
        EntryMatch(match.entry_id, share * match.score, around=match.score)
        for match in context
        if match.entry_id not in found
    ]
    return sorted(raised, key=lambda match: (-match.score, match.entry_id))
