"""Recognise entries that fill one template for two things, such as Python 3.8 and 3.9."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from commonplace.memory.engine.lexicon import OPPOSITES_OF, is_amount, states_a_value
from commonplace.memory.engine.terms import significant_terms, terms_of_word

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_VERSION = re.compile(r"(?<![\d.])\d+(?:\.\d+)+")
_WORD = re.compile(_NUMBER.pattern + r"|[^\W\d_]+")


def different_subjects(title_a: str, content_a: str, title_b: str, content_b: str) -> bool:
    """Say whether titles differ in one word or number that only their own content mentions.

    Titles that differ in what they state about their subject have the same one: "Use tabs" and
    "Use spaces".
    """
    words_a, words_b = _words(title_a), _words(title_b)
    terms_a, terms_b = [word.term for word in words_a], [word.term for word in words_b]
    if terms_a == terms_b:
        return False
    changes = [
        change
        for change in SequenceMatcher(None, terms_a, terms_b, autojunk=False).get_opcodes()
        if change[0] != "equal"
    ]
    if not set(terms_a) & set(terms_b) or len(changes) != 1 or changes[0][0] != "replace":
        return False
    _, a, a_end, b, b_end = changes[0]
    if a_end - a != 1 or b_end - b != 1:
        return False
    word_a, word_b = words_a[a], words_b[b]
    opposites = word_b.written in OPPOSITES_OF.get(word_a.written, ())
    if opposites or (word_a.stated and word_b.stated):
        return False
    terms_in_a, terms_in_b = _terms(content_a), _terms(content_b)
    return word_a.term in terms_in_a - terms_in_b and word_b.term in terms_in_b - terms_in_a


def names_of(title: str) -> frozenset[str]:
    """Return the numbers that name the subject of a title: a version, a ticket, a day."""
    return frozenset(
        word.term for word in _words(title) if word.term[0].isdigit() and not word.stated
    )


def find_stated_terms(title: str) -> frozenset[str]:
    """Return the terms of a title that it states about its subject."""
    return frozenset(word.term for word in _words(title) if word.stated)


def different_versions(title_a: str, title_b: str) -> bool:
    """Say whether both titles name a version, and not the same one."""
    versions_a, versions_b = set(_VERSION.findall(title_a)), set(_VERSION.findall(title_b))
    return bool(versions_a and versions_b and not versions_a & versions_b)


def _terms(text: str) -> frozenset[str]:
    text = text[:5000]
    return frozenset(significant_terms(text)) | frozenset(_NUMBER.findall(text))


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a title: its stem or number, its lower-case form, and whether it is a value."""

    term: str
    written: str
    stated: bool


@lru_cache(maxsize=256)
def _words(text: str) -> tuple[_Word, ...]:
    written = [word.casefold() for word in _WORD.findall(text)]
    found: list[_Word] = []
    for before, word, after in zip(["", *written], written, [*written[1:], ""], strict=False):
        if word[0].isdigit():
            found.append(_Word(word, word, is_amount(before, after, word)))
        else:
            found += [_Word(term, word, states_a_value(before)) for term in terms_of_word(word)[:1]]
    return tuple(found)
