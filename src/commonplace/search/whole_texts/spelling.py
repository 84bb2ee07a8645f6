"""Corrections of misspelt words from the vocabulary of an index.

An edit touches one end of a word at most, so a word and its misspelling share their first or their
last two letters. Only words that share either are compared; a second edit may escape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

LEAST_LETTERS = 4  # a shorter word has too many neighbours
TWO_EDITS_FROM = 8  # letters from which a second edit is accepted
KEPT = 3  # corrections of one word
ONE_EDIT, TWO_EDITS = 0.85, 0.7
_END = 2


@dataclass(frozen=True, slots=True)
class Correction:
    """A word of the vocabulary that a misspelt one may stand for; `weight` is below 1."""

    word: str
    weight: float


class SpellingIndex:
    """Words by their first and last letters, lower-cased. The owner reports every change."""

    def __init__(self, words: Iterable[str]) -> None:
        self._ends: dict[str, dict[str, int]] = {}  # words with their letters, by each end
        for word in words:
            self.add(word)

    def add(self, word: str) -> None:
        """Add a lower-cased word of the vocabulary."""
        if len(word) >= LEAST_LETTERS - 1 and word.isalnum():
            letters = _letters(word)
            for end in _ends(word):
                self._ends.setdefault(end, {})[word] = letters

    def discard(self, word: str) -> None:
        """Remove a word that no text has any more."""
        for end in _ends(word):
            words = self._ends.get(end)
            if words is not None:
                words.pop(word, None)
                if not words:
                    del self._ends[end]

    def correct(self, word: str, frequency: Callable[[str], int]) -> list[Correction]:
        """Return the nearest words, the most frequent first; none for a short word or a number.

        `frequency`: how many texts have a word. Digits are never corrected.
        """
        if sum(map(str.isalpha, word)) < LEAST_LETTERS or not word.isalnum():
            return []
        digits = _digits(word)
        most = 2 if len(word) >= TWO_EDITS_FROM else 1
        letters = _letters(word)
        nearest: dict[str, int] = {}
        for end in _ends(word):
            for other, others_letters in self._ends.get(end, {}).items():
                if (letters ^ others_letters).bit_count() > 2 * most or other in nearest:
                    continue
                if abs(len(other) - len(word)) > most or digits != _digits(other):
                    continue
                edits = count_edits(word, other, most)
                if 0 < edits <= most:
                    nearest[other] = edits
        if not nearest:
            return []
        least = min(nearest.values())
        chosen = sorted(
            (-frequency(other), other) for other, edits in nearest.items() if edits == least
        )
        weight = ONE_EDIT if least == 1 else TWO_EDITS
        return [Correction(other, weight) for _, other in chosen[:KEPT]]


def count_edits(word: str, other: str, most: int) -> int:
    """Return how many letters were inserted, left out, replaced or swapped; `most` + 1 if more."""
    if word == other:
        return 0
    start, end = 0, 0
    shorter = min(len(word), len(other))
    while start < shorter and word[start] == other[start]:
        start += 1
    while end < shorter - start and word[-1 - end] == other[-1 - end]:
        end += 1
    word, other = word[start : len(word) - end], other[start : len(other) - end]
    if not word or not other:
        return min(len(word) + len(other), most + 1)
    if most == 1:  # one letter replaced, or two neighbours swapped
        return 1 if len(word) == len(other) == 1 or (len(word) == 2 and word == other[::-1]) else 2
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(word, 1):
        two_before, before = before, row
        row = [at]
        for place, opposite in enumerate(other, 1):
            cost = before[place - 1] + (letter != opposite)
            cost = min(cost, before[place] + 1, row[place - 1] + 1)
            if (
                at > 1
                and place > 1
                and letter == other[place - 2]
                and word[at - 2] == opposite
                and letter != opposite
            ):
                cost = min(cost, two_before[place - 2] + 1)
            row.append(cost)
        if min(row) > most and min(before) >= most:  # a swap may still reach back one row
            return most + 1
    return min(row[-1], most + 1)


def _digits(word: str) -> str:
    return "".join(filter(str.isdecimal, word))


def _ends(word: str) -> tuple[str, str]:
    return "^" + word[:_END], "$" + word[-_END:]


def _letters(word: str) -> int:
    """Return the set of letters as bits; letters outside of ASCII share bits."""
    bits = 0
    for letter in word:
        bits |= 1 << (ord(letter) & 31)
    return bits
