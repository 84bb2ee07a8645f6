"""Search of the catalogue: by words at once, by words and meaning where a model is installed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from commonplace.instructions.engine.catalogue import Catalogue
from commonplace.instructions.engine.query import CatalogueFilters, candidates
from commonplace.instructions.engine.summary import summarise_matches
from commonplace.instructions.results.reading import CatalogueMatches
from commonplace.instructions.store.protocol import CatalogueStore
from commonplace.instructions.use_cases.search.index import CatalogueSearch
from commonplace.kernel.json.document import Document

if TYPE_CHECKING:
    from commonplace.instructions.engine.highlight import Highlight
    from commonplace.search.hybrid import HybridResult
    from commonplace.search.model import LexicalResult, SearchHit
    from commonplace.search.whole_texts.meaning import TextMeaning
    from commonplace.search.whole_texts.texts import TextMatches, TextQuery

CANDIDATES = 30  # of each side
ShowIds = Callable[[Catalogue, Sequence[str]], list[Document]]


@dataclass(frozen=True, slots=True)
class CatalogueQuestion:
    """What to look for, among which instructions, and how to show it. `limit` is checked."""

    query: str
    limit: int
    highlight: bool = False
    compact: bool = False
    filters: CatalogueFilters = field(default_factory=CatalogueFilters)


class CatalogueFinder:
    """Searches one view of the catalogue. `CatalogueSearch.prepare` must have been called."""

    def __init__(self, store: CatalogueStore, search: CatalogueSearch, show: ShowIds) -> None:
        self._store = store
        self._search = search
        self._show = show

    def find(self, question: CatalogueQuestion) -> CatalogueMatches:
        """Find instructions by words."""
        with self._store.lock:
            catalogue = self._store.current()
            asked = self._ask(catalogue, question)[0]
            return self._present(catalogue, question, asked.rank_by_words(question.limit))

    async def find_by_meaning(
        self, question: CatalogueQuestion, meaning: TextMeaning, *, whole: bool
    ) -> CatalogueMatches:
        """Find instructions by words and meaning; by words alone if the model cannot answer.

        `whole`: this view sees every instruction that has vectors.
        """
        from commonplace.search import hybrid
        from commonplace.search.whole_texts.meaning import TextMeaningQuery

        with self._store.lock:
            catalogue = self._store.current()
            asked, allowed = self._ask(catalogue, question)
            if asked.has_many:
                found = asked.rank_by_words(question.limit)
                return self._present(catalogue, question, found)
            seen = allowed if allowed is not None or whole else frozenset(catalogue.entries)
            words = _Words(self._store, asked, asked.find_candidates(CANDIDATES))
        result = await hybrid.search(
            words,
            [TextMeaningQuery(meaning, question.query, CANDIDATES, seen)],
            hybrid.Judgement(explained=False),
        )
        with self._store.lock:
            catalogue = self._store.current()
            found = _rank(asked, result, question.limit)
            return self._present(catalogue, question, found, _meaning_note(result))

    async def weigh(
        self, text: str, meaning: TextMeaning | None, *, whole: bool
    ) -> tuple[SearchHit, ...]:
        """Return instructions that may concern a text, each with its chance, best first."""
        from commonplace.search import hybrid
        from commonplace.search.whole_texts.meaning import TextMeaningQuery

        with self._store.lock:
            entries = self._store.current().entries
            asked = self._search.ask(text)
            seen = None if whole else frozenset(entries)
            words = _Words(self._store, asked, asked.find_candidates(CANDIDATES))
        meanings = [TextMeaningQuery(meaning, text, CANDIDATES, seen)] if meaning else []
        result = await hybrid.search(words, meanings, hybrid.Judgement(explained=False))
        return result.hits

    def _ask(
        self, catalogue: Catalogue, question: CatalogueQuestion
    ) -> tuple[TextQuery, Collection[str] | None]:
        allowed = candidates(catalogue, question.filters, self._search.find_matching)
        return self._search.ask(question.query, allowed), allowed

    def _present(
        self,
        catalogue: Catalogue,
        question: CatalogueQuestion,
        found: TextMatches,
        note: str | None = None,
    ) -> CatalogueMatches:
        names = [name for name in found.names if name in catalogue.entries]
        items = (
            summarise_matches(catalogue, names, question.query)
            if question.compact
            else self._show(catalogue, names)
        )
        highlights: list[Highlight] | None = None
        if question.highlight:
            from commonplace.instructions.engine.highlight import highlight as mark

            highlights = [mark(catalogue.entries[id_], question.query) for id_ in names]
        return CatalogueMatches(
            catalogue.hash,
            found.count,
            items,
            found.relaxed,
            highlights,
            corrected=found.corrected,
            note=note,
        )


class _Words:
    """`LexicalQuery` over the index of the catalogue."""

    def __init__(self, store: CatalogueStore, asked: TextQuery, found: LexicalResult) -> None:
        self._store = store
        self._asked = asked
        self._found = found

    async def find(self) -> LexicalResult:
        return self._found

    async def score(self, keys: Sequence[str]) -> LexicalResult:
        with self._store.lock:
            return self._asked.describe_names(keys)


def _rank(asked: TextQuery, result: HybridResult, limit: int) -> TextMatches:
    """Rank by the fused scores; what probably answers nothing is left out unless words match."""
    if result.neighbours is None:
        return asked.rank_by_words(limit)
    least = result.parameters.abstain_below
    scores = [(hit.key, hit.score) for hit in result.hits if hit.score >= least or hit.terms]
    return asked.rank_by(scores, limit)


def _meaning_note(result: HybridResult) -> str | None:
    """Say why meaning did not take part."""
    if result.neighbours is not None:
        return None
    return f"Ranked by words alone: {'; '.join(dict.fromkeys(result.skipped))}."
