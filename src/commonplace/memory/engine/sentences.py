"""Read the sentences of entries: their terms, numbers, settings and negations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from commonplace.memory.engine.lexicon import (
    FILLERS,
    NEGATIONS,
    OPPOSITES_OF,
    PHASES,
    UNITS,
    names_a_thing,
)
from commonplace.memory.engine.terms import terms_of_word

SENTENCES = 40
SENTENCE_CHARACTERS = 400
_SPLIT = re.compile(r"(?<=[.!;])\s+|(?<=\?)\s+(?!(?i:yes|no|oui|non)\b)|\n+")
_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+(?:['\u2019][^\W\d_]+)?|[=<>]+")
_SETTING = re.compile(r"(?<![\w.-])([A-Za-z][\w.-]{2,60})[\"']?\s?([=:])\s?[\"']?([\w./+-]{1,60})")
_NAME = re.compile(r"[A-Za-z]+[_.-]|[a-z][A-Z]|[A-Z]{3}")  # the name of a setting, not a word
_SCALAR = re.compile(r"(?i)\d|true$|false$|on$|off$|yes$|no$|none$")
# Lines of a program: what they assign and pass says nothing about the world.
_CODE = re.compile(
    r"^\s*(?:def|class|return|import|elif|raise|print|assert|lambda|@\w|#|:param|>>>)"
    r"|[\w\])]\s*\(.*\)\s*[:;]?$|==|\w\(\w*=|:$"
)
_NUMBER = re.compile(r"\d")
_NEGATED = re.compile(r"(?i)n['\u2019]t$|^n['\u2019]")
_NO_LONGER = re.compile(r"(?i)\b(?:no longer|not any ?more|ne \w+ plus|n['\u2019]\w+ plus)\b")
_REMOVED = re.compile(
    r"(?i)\b(?:was|were|has been|have been) (?:removed|dropped|retired|decommissioned|abolished)\b"
    r"|\b(?:a|ont) été (?:supprimée?s?|retirée?s?|abandonnée?s?)\b(?! (?:par|au profit))"
)
_NEGATING_OPPOSITES = {"cannot", "never", "jamais"}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with the terms beside it, and its amount in a base unit if it has a unit."""

    value: str
    before: str
    after: str
    measure: str = ""
    amount: float = 0.0

    def differs(self, other: Quantity) -> bool:
        """Say whether two numbers differ, whatever their units."""
        if self.measure and self.measure == other.measure:
            return abs(self.amount - other.amount) > 1e-9 * max(self.amount, other.amount)
        return _strip_zeros(self.value) != _strip_zeros(other.value)


def _strip_zeros(value: str) -> str:
    """Return "02:00" as "2", since it is also written "2 am"."""
    return value.lstrip("0").removesuffix(":00") if ":" in value else value


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as the detector of contradictions reads it."""

    text: str
    terms: frozenset[str]  # content words without numbers, negations and opposites
    numbers: tuple[Quantity, ...]
    settings: dict[str, str]
    negations: int
    opposites: frozenset[str]
    phases: frozenset[str]


def split_sentences(title: str, content: str) -> tuple[Sentence, ...]:
    """Read the title and the first sentences of a content, without lines of code."""
    pieces = [title, *_SPLIT.split(content)]
    return tuple(
        read_sentence(piece)
        for piece in pieces[:SENTENCES]
        if piece.strip() and not _is_code(piece)
    )


def _is_code(line: str) -> bool:
    """Tell whether a line is of a program, by the two ends of a long one."""
    if len(line) > SENTENCE_CHARACTERS:
        half = SENTENCE_CHARACTERS // 2
        line = line[:half] + line[-half:]
    return _CODE.search(line) is not None


@lru_cache(maxsize=256)  # about 3 kB each; an add compares its entry with a few dozen others
def read_sentence(text: str) -> Sentence:
    """Read one sentence."""
    text = " ".join(text[:SENTENCE_CHARACTERS].split())
    tokens = [token.casefold() for token in _TOKEN.findall(text)]
    terms: list[str] = []
    numbers: list[tuple[int, str]] = []
    negations, opposites = len(_NO_LONGER.findall(text)), set()
    if _REMOVED.search(text):  # denies that the thing is there
        text_read = _REMOVED.sub(" ", text)
        tokens, negations = [t.casefold() for t in _TOKEN.findall(text_read)], negations + 1
    for previous, token, following in zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False):
        if _NUMBER.match(token):
            if not names_a_thing(previous, following):
                numbers.append((len(terms), token))
        elif token in NEGATIONS or _NEGATED.search(token):
            negations += 1
        elif token in OPPOSITES_OF:
            opposites.add(token)
        elif token not in FILLERS:
            terms += terms_of_word(token)
    if negations:
        opposites -= _NEGATING_OPPOSITES
    return Sentence(
        text,
        frozenset(terms),
        tuple(_quantities(terms, numbers)),
        _settings(text),
        negations,
        frozenset(opposites),
        PHASES & frozenset(tokens),
    )


def _quantities(terms: list[str], numbers: list[tuple[int, str]]) -> Iterator[Quantity]:
    for at, value in numbers:
        before = terms[at - 1] if at else ""
        after = terms[at] if at < len(terms) else ""
        measure, factor = UNITS.get(after, ("", 1.0))
        yield Quantity(value, before, after, measure, _amount(value) * factor)


def _amount(value: str) -> float:
    try:
        return float(value.replace(",", "."))
    except ValueError:
        return 0.0


def _settings(text: str) -> dict[str, str]:
    """Return names with their values.

    Before a colon the name must look like one, or the value like a switch or a number.
    """
    return {
        name.casefold(): value.casefold().rstrip(".")
        for name, sign, value in _SETTING.findall(text)
        if sign == "=" or _NAME.search(name) or _SCALAR.match(value)
    }
