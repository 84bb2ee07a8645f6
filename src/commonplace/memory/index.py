"""Finds entries by words and by meaning: the shared engine's postings and vectors, asked the way entries need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from commonplace.kernel.auth import Tenant
from commonplace.memory.documents import ENTRY_WEIGHTS, WEIGHTS, entry_id, key_prefix, key_type, partition
from commonplace.memory.model import Entry
from commonplace.memory.store import Filter, Found, Match, Similar, Sought, Vector
from commonplace.search.store import LexicalResult, LexicalStore
from commonplace.search.text import analyze, is_stop_word, query_terms

QUERY_CHARACTERS = 4_000
CONTEXT_TERMS = 16
CONTEXT_SHARE = 0.3  # of the score, when the caller tells what the conversation is about
POOL = 50  # candidates read at least
WIDER = 40  # times the pool, when a filter leaves too few
SIMILAR_TERMS = 24
SIMILAR_MASS = 0.35  # of an entry's telling words that a candidate must share
KNOWN_TERMS = 50_000


class LexicalIndex:
    """Words only: what there is while no model is installed."""

    def __init__(self, postings: LexicalStore) -> None:
        self._postings = postings
        self._holders: dict[tuple[Tenant, str], int] = {}  # documents that hold a term, as last seen: chooses telling words

    async def search(self, tenant: Tenant, sought: Sought, wanted: Filter, limit: int) -> Found:
        matches = await self.by_words(tenant, sought.query[:QUERY_CHARACTERS], wanted, max(limit, POOL))
        if sought.context.strip():
            matches = _lean(
                matches, await self.by_words(tenant, self._telling(tenant, sought.context, CONTEXT_TERMS), wanted, max(limit, POOL))
            )
        return Found(tuple(matches[:limit]), len(matches), False)

    async def by_words(self, tenant: Tenant, query: str | Sequence[str], wanted: Filter, limit: int) -> list[Match]:
        """BM25 as a share of what a perfect match would reach, best first."""
        terms = query_terms(query) if isinstance(query, str) else query
        if not terms:
            return []
        sifted = wanted.type is not None and wanted.project is None  # by key, after ranking
        for size in (limit, limit * WIDER) if sifted else (limit,):
            result = await self._postings.search(partition(tenant), terms, limit=size, weights=WEIGHTS, prefix=key_prefix(wanted))
            matches = [_match(match.key, match.score, match.terms, result) for match in result.matches if _admits(wanted, match.key)]
            if len(matches) >= limit or len(result.matches) < size:
                break
        self._remember(tenant, result)
        return matches[:limit]

    async def similar(self, tenant: Tenant, entry: Entry, summary: Vector | None, limit: int) -> Similar:
        terms = self._telling(tenant, entry.text, SIMILAR_TERMS)
        result = await self._postings.search(partition(tenant), terms, limit=limit + 1, weights=ENTRY_WEIGHTS)
        self._remember(tenant, result)
        rarity = {term.term: term.idf for term in result.terms}
        mass = sum(1 + idf for idf in rarity.values()) or 1.0
        matches = [
            Match(entry_id(match.key), share, lexical=share, terms=match.terms)
            for match in result.matches
            if (share := sum(1 + rarity.get(term, 0.0) for term in match.terms) / mass) >= SIMILAR_MASS and entry_id(match.key) != entry.id
        ]
        return Similar(tuple(matches[:limit]), rarity)

    async def without_vectors(self, tenant: Tenant, limit: int) -> tuple[str, ...]:
        return ()

    async def put_vectors(self, tenant: Tenant, vectors: Mapping[str, tuple[Vector | None, Vector | None]]) -> None:
        return None

    def _telling(self, tenant: Tenant, text: str, limit: int) -> list[str]:
        """The terms of a text that say most about it: often here, rare elsewhere as far as we saw."""
        counts = Counter(term for term in analyze(text) if not is_stop_word(term))
        worth = {term: count**0.5 / (1 + self._holders.get((tenant, term), 0)) ** 0.5 for term, count in counts.items()}
        return sorted(worth, key=lambda term: (-worth[term], term))[:limit]

    def _remember(self, tenant: Tenant, result: LexicalResult) -> None:
        if len(self._holders) > KNOWN_TERMS:
            self._holders.clear()
        for term in result.terms:
            self._holders[tenant, term.term] = term.documents


def _admits(wanted: Filter, key: str) -> bool:
    return wanted.type is None or key_type(key) == wanted.type.value


def _match(key: str, score: float, terms: tuple[str, ...], result: LexicalResult) -> Match:
    share = min(1.0, score / result.ceiling) if result.ceiling > 0 else 0.0
    return Match(entry_id(key), share, lexical=share, terms=terms)


def _lean(matches: Sequence[Match], context: Sequence[Match]) -> list[Match]:
    """The conversation moves what the question found, and adds a little of what it alone finds."""
    near = {match.entry_id: match for match in context}
    leaning = [
        Match(
            m.entry_id,
            m.score + CONTEXT_SHARE * (1 - m.score) * (near[m.entry_id].score if m.entry_id in near else 0.0),
            m.lexical,
            m.semantic,
            m.terms,
        )
        for m in matches
    ]
    found = {match.entry_id for match in matches}
    leaning += [Match(m.entry_id, CONTEXT_SHARE * m.score, m.lexical, m.semantic, m.terms) for m in context if m.entry_id not in found]
    return sorted(leaning, key=lambda match: (-match.score, match.entry_id))
