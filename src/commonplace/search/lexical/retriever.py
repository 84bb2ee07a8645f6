"""The retriever that needs no model: words alone, scores between 0 and 1."""

from __future__ import annotations

from collections.abc import Mapping

from commonplace.search.lexical.text import query_terms
from commonplace.search.model import Hit, LexicalResult, LexicalStore, Partition, Retrieval

MAX_QUERY_CHARACTERS = 16_384  # of a query that is read; what follows does not change the answer


class LexicalRetriever:
    def __init__(self, store: LexicalStore) -> None:
        self._store = store

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
    ) -> Retrieval:
        notes = (
            ()
            if len(query) <= MAX_QUERY_CHARACTERS
            else (f"only the first {MAX_QUERY_CHARACTERS} characters of the query were used",)
        )
        terms = query_terms(query[:MAX_QUERY_CHARACTERS])
        result = await self._store.search(
            partition, terms, limit=limit, weights=weights, prefix=prefix
        )
        return Retrieval(lexical_hits(result), "lexical", notes)


def lexical_hits(result: LexicalResult) -> tuple[Hit, ...]:
    """Matches as hits: the score is the share of what a perfect match could reach, so it
    compares between queries.
    """
    hits = []
    for match in result.matches:
        share = min(1.0, match.score / result.ceiling) if result.ceiling > 0 else 0.0
        explain = {
            result.measure: round(match.score, 6),
            "ceiling": round(result.ceiling, 6),
            "matched": list(match.terms),
        }
        explain["missing"] = [term.term for term in result.terms if term.term not in match.terms]
        hits.append(Hit(match.key, share, lexical=share, terms=match.terms, explain=explain))
    return tuple(hits)
