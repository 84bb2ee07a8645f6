"""Compare sentences that make one statement with two values.

"Staff sign in through Okta" and "Staff sign in through Entra ID" have one frame, "staff sign in
through", and two values. The differing words must stand where a value stands, behind a word such
as "is", "with" or "through"; where they are the subject, the sentences speak of two things.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from commonplace.memory.engine.lexicon import FREQUENCIES, UNITS, words
from commonplace.memory.engine.terms import terms_of_word

MOST_VALUE_WORDS = 4
MINIMUM_FRAME = 2  # content words that the sentences share
SIGN_DISTANCE = 2  # words between the sign and the value: "uses the policy allkeys-lru"
_WORD = re.compile(r"[^\s,;:()\"“”«»…]+|[,;:]")
_PUNCTUATION = ".!?'\u2019`"
_ELISION = re.compile(r"^(?:[cdjlmnst]|qu)['\u2019](?=\w)")
_NUMBER = re.compile(r"[#v]?\d[\d.,:/-]*%?")  # an amount, a version, a date, a ticket
# Words before a value. After other prepositions often stands a circumstance, not a value.
_SIGNS = words(
    "is are be as use uses using with in to from on by via through under off into expose exposes "
    "speak speaks prefer prefers called named = : est sont utilise utilisent avec en dans sur par "
    "sous à au aux"
)
_ARTICLES = words("a an the le la les un une des du de of its our")
# What one thing can have several of, or a condition under which both hold.
_NOT_EXCLUSIVE = words(
    "and or also too either both support supports supported accept accepts include includes "
    "including contain contains sometimes often mostly except unless if when while whether for "
    "may can could et ou aussi accepte acceptent inclut contient parfois souvent sauf si quand "
    "lorsque pour peut peuvent , ;"
)
# An event of the past or a guide, of which there may be many: "The outage was caused by …".
_MANY = words(
    "was were caused failed fixed happened because due how guide était étaient venait causé échoué "
    "corrigé comment"
)
# Where or when a statement holds, not what it states.
_CIRCUMSTANCES = words(
    "production prod staging preproduction development dev test tests testing ci local locally "
    "sandbox windows linux macos android ios chrome firefox safari edge docker kubernetes préprod "
    "préproduction développement recette"
)


@dataclass(frozen=True, slots=True)
class _Word:
    """A word as it is compared, and as it was written."""

    key: str
    written: str
    is_content: bool


def find_different_value(
    text_a: str, text_b: str, *, one_subject: bool = False
) -> tuple[str, str] | None:
    """Return the values by which two sentences differ, or None if they do not differ in one.

    If they are known to have one subject, the last word of both is a value without a sign.
    """
    a, b = _read(text_a), _read(text_b)
    start = _common([word.key for word in a], [word.key for word in b])
    end = _common([word.key for word in a[start:]][::-1], [word.key for word in b[start:]][::-1])
    frame, rest = a[:start], a[len(a) - end :]
    value_a, value_b = a[start : len(a) - end], b[start : len(b) - end]
    if sum(word.is_content for word in (*frame, *rest)) < MINIMUM_FRAME:
        return None
    is_last = one_subject and not rest and len(value_a) == len(value_b) == 1
    is_last = is_last and sum(word.is_content for word in frame) > MINIMUM_FRAME
    if not is_last and not _is_value_place(frame, value_a, value_b):
        return None
    if not _are_rivals(value_a, value_b):
        return None
    if any(word.written in _NOT_EXCLUSIVE | _MANY for word in (*frame, *value_a, *value_b)):
        return None
    return " ".join(word.written for word in value_a), " ".join(word.written for word in value_b)


def _is_value_place(
    frame: Sequence[_Word], value_a: Sequence[_Word], value_b: Sequence[_Word]
) -> bool:
    """Say whether the subject stands before the difference, and a sign of a value just before."""
    if not any(word.is_content for word in frame):
        return False
    if {word.written for word in (*value_a, *value_b)} <= FREQUENCIES:
        return True
    signs = [at for at, word in enumerate(frame) if word.written in _SIGNS]
    return bool(signs) and len(frame) - 1 - signs[-1] <= SIGN_DISTANCE


def _are_rivals(value_a: Sequence[_Word], value_b: Sequence[_Word]) -> bool:
    """Say whether both are short values, neither of which is the other with a detail."""
    keys_a = {word.key for word in value_a if word.is_content}
    keys_b = {word.key for word in value_b if word.is_content}
    if not keys_a or not keys_b or keys_a <= keys_b or keys_b <= keys_a:
        return False
    if max(len(keys_a), len(keys_b)) > MOST_VALUE_WORDS:
        return False
    if {word.written for word in (*value_a, *value_b)} <= _CIRCUMSTANCES:
        return False
    if value_a[0].written in _SIGNS or value_b[0].written in _SIGNS:
        return False  # another preposition states something else: "written in C", "written by Ann"
    # Amounts are compared with their units elsewhere: 60 seconds are a minute.
    return not any(
        _NUMBER.fullmatch(word.written) or (word.key in UNITS and word.written not in FREQUENCIES)
        for word in (*value_a, *value_b)
    )


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    """Return how many words at the start are the same."""
    count = 0
    for first, second in zip(a, b, strict=False):
        if first != second:
            break
        count += 1
    return count


@lru_cache(maxsize=256)
def _read(text: str) -> tuple[_Word, ...]:
    """Return the words of a sentence without articles; names such as `eu-west-1` are one word."""
    found = []
    for piece in _WORD.findall(text):
        written = _ELISION.sub("", piece.strip(_PUNCTUATION).casefold())
        if written and written not in _ARTICLES:
            terms = terms_of_word(written) if written.isalpha() else (written,)
            found.append(_Word(terms[0] if terms else written, written, bool(terms)))
    return tuple(found)
