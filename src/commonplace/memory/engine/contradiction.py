"""Finds, without a language model, where two entries about the same thing disagree: a number, a
version, a setting or a negation.

Sentences are paired by their shared words. A pair counts when what is left differs only in values,
and not in its subject.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from commonplace.memory.engine.lexicon import (
    FILLERS,
    NEGATIONS,
    OPPOSITE_OF,
    PHASES,
    UNITS,
    names_a_thing,
)
from commonplace.memory.engine.subject import different_subjects, names_of, stated_in
from commonplace.memory.engine.terms import terms_of_word

_SENTENCES = 40
_SENTENCE_CHARACTERS = 400
MINIMUM_SHARED = 2  # content words that two sentences must have in common
MINIMUM_OVERLAP = 0.45
NEGATION_OVERLAP = 0.5  # a "not" alone says little between sentences that share less
VALUE_OVERLAP = 0.6


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SPLIT = re.compile(r"(?<=[.!?;])\s+|\n+")
_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+(?:['\u2019][^\W\d_]+)?|[=<>]+")
_SETTING = re.compile(r"(?<![\w.-])([A-Za-z][\w.-]{2,60})[\"']?\s?([=:])\s?[\"']?([\w./+-]{1,60})")
_NAME = re.compile(
    r"[A-Za-z]+[_.-]|[a-z][A-Z]|[A-Z]{3}"
)  # reads as the name of a setting, not as a word
_SCALAR = re.compile(r"(?i)\d|true$|false$|on$|off$|yes$|no$|none$")
# Lines of a program: what they assign and pass says nothing about the world.
_CODE = re.compile(
    r"^\s*(?:def|class|return|import|elif|raise|print|assert|lambda|@\w|#|:param|>>>)|[\w\])]\s*\(.*\)\s*[:;]?$|==|\w\(\w*=|:$"
)
# What comes before a value: "is master", "use utf8", "with 4".
_VALUE_SIGNS = _words(
    "is are use uses using with to from on by via through in = : set runs at est sont utilise "
    "avec sur"
)
_NUMBER = re.compile(r"\d")

_NEGATED = re.compile(r"(?i)n['\u2019]t$|^n['\u2019]")
_NO_LONGER = re.compile(r"(?i)\b(?:no longer|not any ?more|ne \w+ plus|n['\u2019]\w+ plus)\b")
# Words that deny without a "not"; where one stands, a "not" on the other side may say the same.
_SOFT = re.compile(
    r"(?i)\b(?:unless|instead|except|only|refus|avoid|fail|block|prevent|ignor|drop|lack|missing|sauf|bloqu)"
)


@dataclass(frozen=True, slots=True)
class Statement:
    """An entry as the detector reads it."""

    title: str
    content: str
    decides: bool = False  # says what was chosen: two choices for one thing cannot both hold


@dataclass(frozen=True, slots=True)
class Conflict:
    """Where two entries disagree, both sides quoted."""

    kind: str  # number | setting | negation | opposite | value
    quote_a: str
    quote_b: str
    detail: str
    strength: float

    @property
    def reason(self) -> str:
        return f"They disagree ({self.detail}): “{self.quote_a}” / “{self.quote_b}”"


@dataclass(frozen=True, slots=True)
class _Number:
    value: str
    before: str
    after: str
    kind: str = ""
    amount: float = 0.0

    def differs(self, other: _Number) -> bool:
        if self.kind and self.kind == other.kind:
            return abs(self.amount - other.amount) > 1e-9 * max(self.amount, other.amount)
        return self.value != other.value


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    terms: frozenset[str]  # content words without numbers, negations and opposites
    values: frozenset[str]  # those of the terms that stand where a value stands
    numbers: tuple[_Number, ...]
    settings: dict[str, str]
    negations: int
    opposites: frozenset[str]
    phases: frozenset[str]


def find_conflict(a: Statement, b: Statement) -> Conflict | None:
    """The strongest disagreement of two entries, or None.

    Symmetric up to the order of the quotes.
    """
    title_a, title_b = _read(a.title), _read(b.title)
    if _names_differ(a, b) or different_subjects(a.title, a.content, b.title, b.content):
        return None
    only_a = title_a.terms - _read_all(b) - stated_in(a.title) - UNITS.keys()
    only_b = title_b.terms - _read_all(a) - stated_in(b.title) - UNITS.keys()
    if a.decides and b.decides and (choice := _two_choices(a.title, b.title)):
        return _conflict("value", title_a, title_b, choice, VALUE_OVERLAP)
    best: Conflict | None = None
    for sentence_a in _sentences(a):
        for sentence_b in _sentences(b):
            conflict = _compare(sentence_a, sentence_b, only_a, only_b)
            if conflict is not None and (best is None or conflict.strength > best.strength):
                best = conflict
    return best


def _compare(
    a: _Sentence, b: _Sentence, only_a: frozenset[str], only_b: frozenset[str]
) -> Conflict | None:
    if a.text == b.text:
        return None
    shared = a.terms & b.terms
    setting = _setting_conflict(a, b)
    if len(shared) < MINIMUM_SHARED and setting is None:
        return None
    drift_a, drift_b = a.terms - shared, b.terms - shared
    # Two parallel sentences about two named things: each names its own subject, in its title too.
    if drift_a & only_a and drift_b & only_b:
        return None
    overlap = len(shared) / max(1, min(len(a.terms), len(b.terms)))
    jaccard = len(shared) / max(1, len(a.terms | b.terms))
    if a.phases != b.phases and a.phases and b.phases:
        return None  # one before, the other after
    if setting is not None and (shared or overlap > 0):
        return _conflict("setting", a, b, setting, jaccard + 0.3)
    if overlap < MINIMUM_OVERLAP or jaccard < MINIMUM_OVERLAP / 1.5:
        return None
    opposite = _opposite_conflict(a, b)
    if opposite is not None and jaccard >= MINIMUM_OVERLAP:
        return _conflict("opposite", a, b, opposite, jaccard + 0.1)
    if (
        (a.negations > 0) != (b.negations > 0)
        and jaccard >= NEGATION_OVERLAP
        and not _SOFT.search((b if a.negations else a).text)
    ):
        return _conflict("negation", a, b, "one denies what the other states", jaccard + 0.1)
    number = _number_conflict(a, b)
    if number is not None:
        return _conflict("number", a, b, number, jaccard + 0.2)
    replaced = len(drift_a) == len(drift_b) == 1 and drift_a <= a.values and drift_b <= b.values
    if replaced and jaccard >= VALUE_OVERLAP and len(shared) > MINIMUM_SHARED:
        return _conflict("value", a, b, f"{min(drift_a)} against {min(drift_b)}", jaccard)
    return None


def _conflict(kind: str, a: _Sentence, b: _Sentence, detail: str, strength: float) -> Conflict:
    return Conflict(kind, _quote(a.text), _quote(b.text), detail, round(min(1.0, strength), 3))


def _quote(text: str) -> str:
    return text if len(text) <= 160 else text[:159] + "…"


def _setting_conflict(a: _Sentence, b: _Sentence) -> str | None:
    for name in a.settings.keys() & b.settings.keys():
        if a.settings[name] != b.settings[name]:
            return f"{name}: {a.settings[name]} against {b.settings[name]}"
    return None


def _opposite_conflict(a: _Sentence, b: _Sentence) -> str | None:
    for word in sorted(a.opposites):
        other = OPPOSITE_OF[word]
        if other in b.opposites and word not in b.opposites and other not in a.opposites:
            return f"{word} against {other}"
    return None


def _number_conflict(a: _Sentence, b: _Sentence) -> str | None:
    values_b = {number.value for number in b.numbers}
    values_a = {number.value for number in a.numbers}
    for one in a.numbers:
        for other in b.numbers:
            same_slot = (one.before and one.before == other.before) or (
                one.after and one.after == other.after
            )
            if (
                same_slot
                and one.differs(other)
                and (one.value not in values_b or other.value not in values_a)
            ):
                return f"{one.value} against {other.value}"
    return None


def _names_differ(a: Statement, b: Statement) -> bool:
    """Titles with the same words and other numbers name two things: Python 3.8 and Python 3.9."""
    names_a, names_b = names_of(a.title), names_of(b.title)
    return bool(
        names_a and names_b and names_a != names_b and _read(a.title).terms & _read(b.title).terms
    )


def _two_choices(title_a: str, title_b: str) -> str | None:
    """Two titles that state another thing of the same: "Use PostgreSQL for storage", "Use
    MongoDB for storage".
    """
    (terms_a, stated_a), (terms_b, stated_b) = (
        (_read(title).terms, stated_in(title)) for title in (title_a, title_b)
    )
    only_a, only_b = terms_a - terms_b, terms_b - terms_a
    alone = len(only_a) == len(only_b) == 1 and only_a <= stated_a and only_b <= stated_b
    return (
        f"{min(only_a)} against {min(only_b)}"
        if alone and len(terms_a & terms_b) >= MINIMUM_SHARED
        else None
    )


def _sentences(statement: Statement) -> tuple[_Sentence, ...]:
    pieces = [statement.title, *_SPLIT.split(statement.content)]
    return tuple(
        _read(piece) for piece in pieces[:_SENTENCES] if piece.strip() and not _CODE.search(piece)
    )


def _read_all(statement: Statement) -> frozenset[str]:
    return frozenset(term for sentence in _sentences(statement) for term in sentence.terms)


@lru_cache(
    maxsize=256
)  # a sentence takes some 3 kB; an addition compares its entry with a few dozen others
def _read(text: str) -> _Sentence:
    text = " ".join(text[:_SENTENCE_CHARACTERS].split())
    tokens = [token.casefold() for token in _TOKEN.findall(text)]
    terms: list[str] = []
    values: set[str] = set()
    numbers: list[tuple[int, str]] = []
    negations, opposites = len(_NO_LONGER.findall(text)), set()
    for previous, token, following in zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False):
        if _NUMBER.match(token):
            if not names_a_thing(previous, following):
                numbers.append((len(terms), token))
        elif token in NEGATIONS or _NEGATED.search(token):
            negations += 1
        elif token in OPPOSITE_OF:
            opposites.add(token)
        elif token not in FILLERS:
            found = terms_of_word(token)
            terms += found
            if previous in _VALUE_SIGNS:
                values.update(found)
    if negations and opposites & {"cannot", "never", "jamais"}:
        opposites -= {"cannot", "never", "jamais"}
    slots, phases = tuple(_slots(terms, numbers)), PHASES & frozenset(tokens)
    return _Sentence(
        text,
        frozenset(terms),
        frozenset(values),
        slots,
        _settings(text),
        negations,
        frozenset(opposites),
        phases,
    )


def _slots(terms: list[str], numbers: list[tuple[int, str]]) -> Iterable[_Number]:
    for at, value in numbers:
        before = terms[at - 1] if at else ""
        after = terms[at] if at < len(terms) else ""
        kind, factor = UNITS.get(after, ("", 1.0))
        yield _Number(value, before, after, kind, _amount(value) * factor)


def _amount(value: str) -> float:
    try:
        return float(value.replace(",", "."))
    except ValueError:
        return 0.0


def _settings(text: str) -> dict[str, str]:
    """Names with their values.

    After a colon the name must look like one, or the value like a switch or a number.
    """
    return {
        name.casefold(): value.casefold().rstrip(".")
        for name, sign, value in _SETTING.findall(text)
        if sign == "=" or _NAME.search(name) or _SCALAR.match(value)
    }
