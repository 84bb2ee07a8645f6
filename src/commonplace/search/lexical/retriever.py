"""The retriever that needs no model: words alone, scores between 0 and 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from commonplace.search.lexical.text import query_terms
from commonplace.search.matched_words import WordMeasure
from commonplace.search.model import (
    LexicalResult,
    LexicalStore,
    Partition,
    ReadQuery,
    Retrieval,
    SearchHit,
)

MAX_QUERY_CHARACTERS = 16_384  # of a query; the rest is ignored


def cut_query(query: str) -> tuple[str, tuple[str, ...]]:
    """Return the part of a query that is read, and a note if it was cut."""
    if len(query) <= MAX_QUERY_CHARACTERS:
        return query, ()
    note = f"only the first {MAX_QUERY_CHARACTERS} characters of the query were used"
    return query[:MAX_QUERY_CHARACTERS], (note,)


class LexicalRetriever:
    """Implements `Retriever` with words alone."""

    def __init__(self, store: LexicalStore) -> None:
        self._store = store

    @property
    def words(self) -> LexicalStore:
        return self._store

    async def retrieve(
        self,
        partition: Partition,
        query: str,
        *,
        limit: int,
        weights: Mapping[str, float],
        prefix: str = "",
        model_key: str | None = None,
        widen: int = 1,
        reading: ReadQuery | None = None,
        named: Sequence[str] = (),
    ) -> Retrieval:
        query, notes = cut_query(query)
        result = await self._store.search(
            partition, query_terms(query), limit=limit, weights=weights, prefix=prefix
        )
        return Retrieval(lexical_hits(result), "lexical", notes)


def lexical_hits(result: LexicalResult) -> tuple[SearchHit, ...]:
    """Return matches as hits; a score is a share of the ceiling, so it compares across queries."""
    hits = []
    measure = WordMeasure(result)
    for match in result.matches:
        share = min(1.0, match.score / result.ceiling) if result.ceiling > 0 else 0.0
        explain = {
            result.measure: round(match.score, 6),
            "ceiling": round(result.ceiling, 6),
            "matched": list(match.terms),
        }
        explain["missing"] = [term.term for term in result.terms if term.term not in match.terms]
        hits.append(
            SearchHit(
                match.key,
                share,
                lexical=share,
                terms=match.terms,
                explain=explain,
                words=measure.measure(match),
            )
        )
    return tuple(hits)
