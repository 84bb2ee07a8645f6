"""Tells apart entries written after one template about two things: "Staging pool" and "Production pool", Python 3.8 and 3.9."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import lru_cache

from commonplace.memory.engine.terms import telling_terms, terms_of_word

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_VERSION = re.compile(r"(?<![\d.])\d+(?:\.\d+)+")
_WORD = re.compile(_NUMBER.pattern + r"|[^\W\d_]+")


def different_subjects(title_a: str, content_a: str, title_b: str, content_b: str) -> bool:
    """The titles are alike but for one word, or one number, which is what each content is about and the other does not mention."""
    words_a, words_b = _words(title_a), _words(title_b)
    if words_a == words_b:
        return False
    changes = [change for change in SequenceMatcher(None, words_a, words_b, autojunk=False).get_opcodes() if change[0] != "equal"]
    shared = set(words_a) & set(words_b)
    if not shared or len(changes) != 1 or changes[0][0] != "replace":
        return False
    _, a, a_end, b, b_end = changes[0]
    if a_end - a != 1 or b_end - b != 1:
        return False
    held_a, held_b = _held(content_a), _held(content_b)
    return words_a[a] in held_a - held_b and words_b[b] in held_b - held_a


def different_versions(title_a: str, title_b: str) -> bool:
    """Both titles name a version, and not the same one."""
    versions_a, versions_b = set(_VERSION.findall(title_a)), set(_VERSION.findall(title_b))
    return bool(versions_a and versions_b and not versions_a & versions_b)


def _held(text: str) -> frozenset[str]:
    text = text[:5000]
    return frozenset(telling_terms(text)) | frozenset(_NUMBER.findall(text))


@lru_cache(maxsize=512)
def _words(text: str) -> tuple[str, ...]:
    """Stems and numbers in order; a number stays whole."""
    found: list[str] = []
    for word in _WORD.findall(text):
        found += (word,) if word[0].isdigit() else terms_of_word(word)[:1]
    return tuple(found)
