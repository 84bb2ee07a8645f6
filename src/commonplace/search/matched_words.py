"""How much of a query's subject a text has by its words, whatever the size of the collection.

The score of a hit ranks: it is a share of what the query could reach, so a long task scores low on
the very text that it is about. What says that a text is about a task at all is the information in
the words that they share: rare words, more than one of them, often in a short text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from commonplace.search.model import (
    MAX_TERMS_OF_PASSAGE,
    NO_WORDS,
    LexicalMatch,
    LexicalResult,
    MatchedWords,
)
from commonplace.search.rarity import idf

# Texts about other subjects that are counted beside a collection: a word that all texts of a small
# collection have is still rare elsewhere.
BACKGROUND = 1_000


@dataclass(frozen=True, slots=True)
class _Term:
    worth: float  # information, in units of the rarest word
    emphasis: float  # how much the query stresses the term
    is_real: bool  # not a guess at a word that no text has, and not a number


@dataclass(frozen=True, slots=True)
class _Weighed:
    """What a set of matched terms says, whatever the text."""

    matched: float  # sum of their idf
    information: float
    share: float  # of what the query asks for
    without_best: float  # information of all but the best term


class WordMeasure:
    """Measures the matches of one query."""

    def __init__(self, result: LexicalResult) -> None:
        self._result = result
        documents = result.documents + BACKGROUND
        rarest = math.log1p(documents)
        self._terms: Mapping[str, _Term] = {
            term.term: _Term(
                idf(documents, term.documents) / rarest,
                term.idf / plain if (plain := idf(result.documents, term.documents)) else 1.0,
                term.documents > 0 and not term.term.isdigit(),
            )
            for term in result.terms
        }
        self._idf = {term.term: term.idf for term in result.terms}
        self._information = sum(self._idf.values())
        asked = sorted((term.worth * term.emphasis for term in self._terms.values()), reverse=True)
        self._asked = sum(asked[:MAX_TERMS_OF_PASSAGE])
        self._weighed: dict[tuple[str, ...], _Weighed] = {}  # many texts match the same terms

    def measure(self, match: LexicalMatch) -> MatchedWords:
        """Return what the words of a match say."""
        weighed = self._weighed.get(match.terms)
        if weighed is None:
            weighed = self._weighed[match.terms] = self._weigh(match.terms)
        if weighed.matched <= 0 or self._result.ceiling <= 0:
            return NO_WORDS
        # how often the words occur in the text, and how long it is
        density = match.score / self._result.ceiling * self._information / weighed.matched
        return MatchedWords(
            min(1.0, density) * weighed.information, weighed.share, weighed.without_best
        )

    def _weigh(self, names: tuple[str, ...]) -> _Weighed:
        real = [
            term for name in names if (term := self._terms.get(name)) is not None and term.is_real
        ]
        worths = sorted((term.worth * min(1.0, term.emphasis) for term in real), reverse=True)
        asked = sum(term.worth * term.emphasis for term in real)
        return _Weighed(
            sum(self._idf.get(name, 0.0) for name in names),
            sum(worths),
            min(1.0, asked / self._asked) if self._asked > 0 else 0.0,
            sum(worths[1:]),
        )
