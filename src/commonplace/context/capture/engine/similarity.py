"""Compare statements: which say the same, and which differ in a value or a negation."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = re.compile(r"[^\W_]+(?:[._/:-][^\W_]+)*")
_NEGATIONS = _words(
    "not no never don't doesn't isn't without avoid stop cannot can't nicht nie "
    "niemals kein keine ne pas jamais nunca jamás sin dont wont won't mustn't "
    "forbidden instead"
)
_EMPTY = _words(
    "a an the to of in on at for and or but with by is are was were be been it its "
    "this that these those we you i they our your my please always should must will "
    "can use using used do does did have has had as so if when then than from into "
    "because since all any every each there here just also ok okay now let's lets "
    "only make sure remember instead rather over decided decision der die das und ist "
    "immer le la les un une et el los las y"
)
SAME = 0.75
SIMILAR = 0.45
LONG = 10  # words
REPLACED = 0.8


@dataclass(frozen=True, slots=True)
class StatementShape:
    """The words of a statement that carry its meaning."""

    words: frozenset[str]
    values: frozenset[str]  # numbers and versions
    negated: bool


def read_shape(text: str) -> StatementShape:
    """Return the words of a text, in a form that ignores endings."""
    found = [
        word.lower().replace("\u2019", "'")
        for word in _WORD.findall(text[:4_000].replace("'", "'"))
    ]
    spoken = set(re.findall(r"[a-zà-ÿ]+'?[a-z]*", text[:4_000].lower().replace("\u2019", "'")))
    values = frozenset(word for word in found if any(map(str.isdigit, word)))
    words = frozenset(
        _stem(word) for word in found if word not in _EMPTY and word not in _NEGATIONS
    )
    return StatementShape(words, values, bool(spoken & _NEGATIONS))


def compare(first: StatementShape, second: StatementShape) -> float:
    """Return how much two statements share, 0 to 1: 0 with other values, half if one denies."""
    if not first.words or not second.words:
        return 0.0
    if first.values != second.values:
        return 0.0
    shared = len(first.words & second.words)
    smaller, larger = sorted((len(first.words), len(second.words)))
    share = shared / larger
    if smaller >= 4:  # a statement inside a longer one
        share = max(share, 0.9 * shared / smaller if smaller * 2 >= larger else 0.0)
    if first.words - second.words and second.words - first.words:
        # a word in the place of another, such as `dark` for `light`
        share *= REPLACED if smaller < LONG else 1 - (1 - REPLACED) / 2
    return share * (0.5 if first.negated != second.negated else 1.0)


def is_same(shape: StatementShape, others: Collection[StatementShape]) -> bool:
    """Tell whether one of the others says the same."""
    return any(compare(shape, other) >= SAME for other in others)


def _stem(word: str) -> str:
    for ending in ("ing", "ies", "ed", "es", "s"):
        if len(word) > len(ending) + 3 and word.endswith(ending):
            return word[: -len(ending)]
    return word
