"""The task as all sources read it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from commonplace.context.model import ContextQuestion
from commonplace.search.lexical.retriever import MAX_QUERY_CHARACTERS
from commonplace.search.lexical.text import analyze, is_stop_word, query_terms
from commonplace.search.relevance.query import QueryReading, QueryShape, read_query

MOST_WORDS = 4  # named in a reason


@dataclass(frozen=True)
class TaskReading:
    """A question and what its task says: words, meaning, names and places."""

    question: ContextQuestion

    @cached_property
    def reading(self) -> QueryReading:
        return read_query(self.question.task[:MAX_QUERY_CHARACTERS])

    @property
    def text(self) -> str:
        """The task without the logs, code and boilerplate of a report; empty without a subject."""
        if not self.has_subject:
            return ""
        if self.reading.shape is QueryShape.REPORT:
            return self.reading.meaning
        return self.question.task.strip()

    @cached_property
    def has_subject(self) -> bool:
        """Say whether the task has a word besides stop words, which any text shares."""
        return not all(map(is_stop_word, self.reading.terms))

    @cached_property
    def terms(self) -> frozenset[str]:
        """The terms of the task."""
        return frozenset(query_terms(self.text))

    @property
    def mentioned_paths(self) -> tuple[str, ...]:
        """Paths that the task names."""
        return tuple(dict.fromkeys(place.path for place in self.reading.places))

    @cached_property
    def _words(self) -> dict[str, str]:
        words: dict[str, str] = {}
        for word in self.text.split():
            plain = word.strip(".,;:!?()[]{}\"'`")
            for term in analyze(plain):
                words.setdefault(term, plain)
        return words

    def spell(self, terms: tuple[str, ...]) -> str:
        """Return matched terms as the task spells them, the first few."""
        spelled = dict.fromkeys(self._words.get(term, term) for term in terms)
        return ", ".join(list(spelled)[:MOST_WORDS])
