"""Words of texts and queries as the inverted index cuts them: runs, stems and trigrams."""

from __future__ import annotations

import re
from collections import Counter

from commonplace.search.lexical.text import analyze, is_stop_word

TITLE_WEIGHT = 4
LABEL_WEIGHT = 2
RUN = re.compile(r"\w+")
# C++, .NET, a path, a version: the characters between the words say more than the words
_LITERAL = re.compile(r"[^\w\s]")
_ENDINGS = ".,;:!? "
_BETWEEN = {code: " " for code in range(128) if not RUN.match(chr(code))}


def is_literal(needle: str) -> bool:
    """Return whether a query has signs beside its words."""
    return _LITERAL.search(needle.rstrip(_ENDINGS)) is not None


def stems_of(query: str) -> list[str]:
    """Return the distinct stems of a query; stop words only if there is nothing else."""
    stems = list(dict.fromkeys(stem for word in RUN.findall(query) for stem in analyze(word)))
    return [stem for stem in stems if not is_stop_word(stem)] or stems


def count_words(title: str, body: str, labels: str = "") -> tuple[set[str], Counter[str]]:
    """Return the words of the title, and how often each word occurs.

    Words of the title count more, and so do those of the labels (names, tags, a description).
    """
    counts = Counter(_runs(body))
    titled = _runs(title)
    for word in titled:
        counts[word] += TITLE_WEIGHT
    for word in _runs(labels):
        counts[word] += LABEL_WEIGHT
    return set(titled), counts


def _runs(text: str) -> list[str]:
    """Return the matches of the pattern; twice as fast for ASCII texts."""
    return text.translate(_BETWEEN).split() if text.isascii() else RUN.findall(text)


def trigrams(word: str) -> set[str]:
    return {word[at : at + 3] for at in range(len(word) - 2)}
