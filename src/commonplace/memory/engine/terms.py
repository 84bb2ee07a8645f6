"""The terms of texts and words, cached: one call looks at the same texts several times."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from commonplace.search.lexical.text import analyze, is_stop_word

_WORD = re.compile(r"\w+(?:[.'\u2019-]\w+)*")
_READ_CHARACTERS = 20_000
_WORD_CHARACTERS = 40  # a longer run without a space, as Chinese has, is not a word to quote
_TEXTS = 128
_WORDS = 8_192


@lru_cache(maxsize=_TEXTS)
def terms_of(text: str) -> tuple[str, ...]:
    """Return the terms of a text as the index stores them."""
    return tuple(analyze(text))


@lru_cache(maxsize=_TEXTS)
def significant_terms(text: str) -> tuple[str, ...]:
    """Return the terms of a text without stop words."""
    return tuple(term for term in terms_of(text) if not is_stop_word(term))


def as_written(terms: Iterable[str], text: str) -> list[str]:
    """Return the words of a text that gave the terms, in their order.

    A term that no single word gives is left out.
    """
    words: dict[str, str] = {}
    for word in _WORD.findall(text[:_READ_CHARACTERS]):
        if len(word) > _WORD_CHARACTERS:
            continue
        for term in terms_of_word(word):
            words.setdefault(term, word.lower() if word.istitle() else word)
    return list(dict.fromkeys(words[term] for term in terms if term in words))


@lru_cache(maxsize=_WORDS)
def terms_of_word(word: str) -> tuple[str, ...]:
    """Return the terms of one word without stop words."""
    return tuple(term for term in analyze(word) if not is_stop_word(term))


def terms_of_name(name: str) -> frozenset[str]:
    """Return the terms of a name, read as one word with capitals and without."""
    return frozenset(terms_of_word(name)) | frozenset(terms_of_word(name.casefold()))
