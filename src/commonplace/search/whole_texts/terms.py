"""Terms of a query with the words of the vocabulary that may stand for them.

A word of the query stands for its forms, for longer words that begin with it ("docker" for
"dockerfile") and for its neighbour written together ("power shell" for "powershell"). A word that
no text has stands for the two words it is made of, or for its nearest spellings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from commonplace.search.lexical.bm25 import WHOLE_TEXTS
from commonplace.search.lexical.text import analyze, is_stop_word
from commonplace.search.rarity import idf
from commonplace.search.whole_texts.inverted import InvertedIndex
from commonplace.search.whole_texts.spelling import ONE_EDIT
from commonplace.search.whole_texts.words import RUN

MOST_TERMS = 48  # the rarest of a longer query are kept
LEAST_PART = 4  # letters of a word whose extensions count
LEAST_HALF = 4  # letters of each half of an unknown word that is written together
LEAST_NEIGHBOUR = 3  # letters of a word that may be written together with the next
MOST_LONGER = 2.5  # times its length, of an extension
PART_WEIGHT = 0.7
JOINED_WEIGHT = 0.9
MOST_EXTENSIONS = 12


@dataclass(frozen=True, slots=True)
class TermReading:
    """Words of the vocabulary that a term may stand for, and what one full match is worth."""

    impacts: Mapping[int, float]  # by slot
    worth: float  # idf, less for a guess


@dataclass(frozen=True, slots=True)
class ReadTerm:
    """A term of the query and its readings; `worth` is that of the best one."""

    term: str
    readings: tuple[TermReading, ...]
    documents: int
    worth: float

    def gain(self, slot: int) -> float:
        """Return what the term gives a text, before the ceiling is taken off."""
        best = 0.0
        for reading in self.readings:
            gain = reading.impacts.get(slot, 0.0) * reading.worth
            if gain > best:
                best = gain
        return best


@dataclass(slots=True)
class QueryTerms:
    """Terms of a query, the most telling first, and the words that were corrected."""

    terms: list[ReadTerm] = field(default_factory=list)
    corrected: dict[str, str] = field(default_factory=dict)

    @property
    def information(self) -> float:
        """Return what all terms together are worth."""
        return sum(term.worth for term in self.terms)

    @property
    def ceiling(self) -> float:
        """Return the score that no text exceeds."""
        return WHOLE_TEXTS.most * self.information


def read_terms(
    index: InvertedIndex, query: str, known: Mapping[str, Mapping[int, float]]
) -> QueryTerms:
    """Return the terms of a query as this index reads them.

    `known`: the impacts of stems that were looked up before.
    """
    words = [word.lower() for word in RUN.findall(query)]
    told = [word for word in words if not all(map(is_stop_word, analyze(word)))] or words
    found = QueryTerms()
    joined = _join_neighbours(index, words)
    for word in dict.fromkeys(told):
        for stem in dict.fromkeys(analyze(word)):
            if any(term.term == stem for term in found.terms):
                continue
            impacts = known.get(stem) or (index.impacts(stem) if stem in index.stems else None)
            readings = _guess_readings(
                index, word, stem, joined.get(word, ()), impacts, found.corrected
            )
            found.terms.append(_make_term(stem, impacts, readings, len(index)))
    found.terms.sort(key=lambda term: -term.worth)
    del found.terms[MOST_TERMS:]
    return found


def _make_term(
    stem: str,
    impacts: Mapping[int, float] | None,
    guesses: Sequence[TermReading],
    total: int,
) -> ReadTerm:
    readings = list(guesses)
    documents = 0
    if impacts is not None:
        documents = len(impacts)
        own = TermReading(impacts, idf(total, documents))
        # a guess is never worth more than the word itself
        readings = [own, *(replace(guess, worth=min(guess.worth, own.worth)) for guess in guesses)]
    worth = max((reading.worth for reading in readings), default=idf(total, 0))
    return ReadTerm(stem, tuple(readings), documents, worth)


def _guess_readings(
    index: InvertedIndex,
    word: str,
    stem: str,
    joined: Sequence[str],
    impacts: Mapping[int, float] | None,
    corrected: dict[str, str],
) -> list[TermReading]:
    """Return what a word may stand for beside its own forms."""
    guesses = [(index.forms_of(compound), JOINED_WEIGHT) for compound in joined]
    longer = _extensions(index, word, stem)
    if longer:
        letters = sum(map(len, longer)) / len(longer)
        guesses.append((longer, PART_WEIGHT * len(word) / letters))
    if impacts is None and not guesses:
        guesses = [
            (index.forms_of(guess), weight) for guess, weight in _guess(index, word, corrected)
        ]
    total = len(index)
    readings = []
    for forms, weight in guesses:
        if forms:
            found = index.impacts_of(forms)
            readings.append(TermReading(found, weight * idf(total, len(found))))
    return readings


def _extensions(index: InvertedIndex, word: str, stem: str) -> list[str]:
    """Return longer words that begin with the word, the nearest in length first."""
    if len(word) < LEAST_PART:
        return []
    own = index.stems.get(stem, ())
    longest = MOST_LONGER * len(word)
    longer = [
        form
        for form in index.words_with(word)
        if len(word) < len(form) <= longest and form not in own and form.lower().startswith(word)
    ]
    return sorted(longer, key=lambda other: (len(other), other))[:MOST_EXTENSIONS]


def _halves(index: InvertedIndex, word: str) -> list[tuple[str, float]]:
    """Return the two known words that an unknown one is made of, the most even cut first."""
    middle = len(word) / 2
    for cut in sorted(
        range(LEAST_HALF, len(word) - LEAST_HALF + 1), key=lambda cut: abs(cut - middle)
    ):
        if index.forms_of(word[:cut]) and index.forms_of(word[cut:]):
            return [(word[:cut], JOINED_WEIGHT), (word[cut:], JOINED_WEIGHT)]
    return []


def _guess(index: InvertedIndex, word: str, corrected: dict[str, str]) -> list[tuple[str, float]]:
    """Return what an unknown word may stand for: one edit, two words in one, or two edits."""
    found = index.spelling.correct(word, lambda other: index.holders(index.forms_of(other)))
    if not found or found[0].weight < ONE_EDIT:
        halves = _halves(index, word)
        if halves:
            corrected[word] = " ".join(half for half, _ in halves)
            return halves
    if found:
        corrected[word] = found[0].word
    return [(correction.word, correction.weight) for correction in found]


def _join_neighbours(index: InvertedIndex, words: Sequence[str]) -> dict[str, list[str]]:
    """Return, for each word, the known words that it makes with a neighbour."""
    joined: dict[str, list[str]] = {}
    for first, second in pairwise(words):
        if min(len(first), len(second)) < LEAST_NEIGHBOUR:
            continue
        compound = first + second
        if index.forms_of(compound):
            joined.setdefault(first, []).append(compound)
            joined.setdefault(second, []).append(compound)
    return joined
