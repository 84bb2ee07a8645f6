"""Tells apart entries written after one template about two things: "Staging pool" and
"Production pool", Python 3.8 and 3.9.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from commonplace.memory.engine.lexicon import OPPOSITE_OF, is_amount, states_a_value
from commonplace.memory.engine.terms import telling_terms, terms_of_word

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_VERSION = re.compile(r"(?<![\d.])\d+(?:\.\d+)+")
_WORD = re.compile(_NUMBER.pattern + r"|[^\W\d_]+")


def different_subjects(title_a: str, content_a: str, title_b: str, content_b: str) -> bool:
    """The titles are alike but for one word, or one number, which is what each content is about
    and the other does not mention.

    A title that differs in what it states about its subject speaks of the same one: "Use tabs" and
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
    one, other = words_a[a], words_b[b]
    if (one.stated and other.stated) or OPPOSITE_OF.get(one.written) == other.written:
        return False
    held_a, held_b = _held(content_a), _held(content_b)
    return one.term in held_a - held_b and other.term in held_b - held_a


def names_of(title: str) -> frozenset[str]:
    """The numbers that name what a title is about: a version, a ticket, a day."""
    return frozenset(
        word.term for word in _words(title) if word.term[0].isdigit() and not word.stated
    )


def stated_in(title: str) -> frozenset[str]:
    """The terms of a title that are what it states, not what it is about."""
    return frozenset(word.term for word in _words(title) if word.stated)


def different_versions(title_a: str, title_b: str) -> bool:
    """Both titles name a version, and not the same one."""
    versions_a, versions_b = set(_VERSION.findall(title_a)), set(_VERSION.findall(title_b))
    return bool(versions_a and versions_b and not versions_a & versions_b)


def _held(text: str) -> frozenset[str]:
    text = text[:5000]
    return frozenset(telling_terms(text)) | frozenset(_NUMBER.findall(text))


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a title: its stem, or a number whole; as it was written, in lower case; whether
    it is what the title states.
    """

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
