"""Two regular expressions compared by strings that one of them accepts and the other does not.

Inclusion of regular languages is too costly to decide here, and a difference that matters has short
witnesses: the ends of ranges, one repetition more or less, a branch more or less. Matching is
RE2's, so no pattern takes more than linear time.
"""

from __future__ import annotations

import importlib
import random
import string
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

SAMPLES = 100
MOST_PATTERN = 500
MOST_TEXT = 700
_ACCEPT_ALL = frozenset(
    ("", ".*", "^.*$", "^.*", ".*$", "^", "$", "(.*)", "^(.*)$", r"[\s\S]*", r"^[\s\S]*$")
)
_POOL = string.ascii_letters + string.digits + string.punctuation + " é\t"
_CATEGORIES = {
    "CATEGORY_DIGIT": string.digits,
    "CATEGORY_WORD": string.ascii_letters + string.digits + "_",
    "CATEGORY_SPACE": " \t",
}


@dataclass(frozen=True, slots=True)
class Witnesses:
    """A string that only the old pattern accepts and one that only the new one does; None where
    none was found.
    """

    refused: str | None = None
    accepted: str | None = None


class _UnsupportedError(Exception):
    """The pattern has something that strings cannot be made of, such as a look-ahead."""


def constrains(pattern: str) -> bool:
    """Whether a pattern refuses any string at all."""
    return pattern not in _ACCEPT_ALL


@lru_cache(maxsize=1024)
def compare_patterns(old: str, new: str) -> Witnesses:
    """Find strings that tell two patterns apart; none are found for patterns that cannot be run
    or made strings of.
    """
    before, after = _compiled(old), _compiled(new)
    if before is None or after is None:
        return Witnesses()
    return Witnesses(_only(old, before, after), _only(new, after, before))


def _only(pattern: str, accepting: Any, refusing: Any) -> str | None:
    """A string that the first accepts and the second does not, the shortest of the first few."""
    try:
        telling = (
            text
            for text in _strings(pattern)
            if accepting.search(text) and not refusing.search(text)
        )
        found = list(islice(telling, 5))
    except (_UnsupportedError, RecursionError):
        return None
    return min(found, key=lambda text: (len(text), text), default=None)


def _compiled(pattern: str) -> Any:
    import re2

    if len(pattern) > MOST_PATTERN:
        return None
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 1 << 20
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeError):
        return None


def _strings(pattern: str) -> Iterator[str]:
    """Make strings that a pattern accepts, the same ones each time."""
    import re

    try:
        # The parser of the standard library is not public; without it patterns are merely not
        # decided.
        parsed = importlib.import_module("re._parser").parse(pattern)
    except (ImportError, AttributeError, re.error, OverflowError, RecursionError):
        raise _UnsupportedError from None
    maker = _Maker(random.Random(pattern))  # noqa: S311 - the same strings each time, no secrets
    for number in range(SAMPLES):
        text = maker.text(parsed)
        yield text
        if number % 5 == 0:  # a pattern without anchors accepts more than what it spells
            yield f"{maker.random.choice(_POOL)}{text}"
            yield f"{text}{maker.random.choice(_POOL)}"


class _Maker:
    """Makes strings out of a parsed pattern."""

    def __init__(self, chooser: random.Random) -> None:
        self.random = chooser
        self.left = MOST_TEXT

    def text(self, parsed: Any) -> str:
        self.left = MOST_TEXT
        return self.sequence(parsed)

    def sequence(self, parts: Any) -> str:
        return "".join(self.part(str(kind), value) for kind, value in parts)

    def part(self, kind: str, value: Any) -> str:
        if kind == "LITERAL":
            return chr(value)
        if kind == "NOT_LITERAL":
            return self.other_than(chr(value))
        if kind == "ANY":
            return self.random.choice(_POOL)
        if kind == "IN":
            return self.one_of(value)
        if kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            return self.repeated(*value)
        if kind == "SUBPATTERN":
            return self.sequence(value[3])
        if kind == "BRANCH":
            return self.sequence(self.random.choice(value[1]))
        if kind == "AT":
            return ""
        raise _UnsupportedError

    def repeated(self, least: int, most: Any, part: Any) -> str:
        highest = min(int(most), least + 300)
        times = self.random.choice(
            (least, *(min(least + more, highest) for more in (1, 2, 20)), highest)
        )
        made: list[str] = []
        for _ in range(times):
            if self.left <= 0:
                break  # too long already: what comes out is only used if the pattern accepts it
            made.append(self.sequence(part))
            self.left -= len(made[-1]) + 1
        return "".join(made)

    def one_of(self, members: Any) -> str:
        kinds = [(str(kind), value) for kind, value in members]
        negated = kinds[0][0] == "NEGATE"
        choices: list[str] = []
        for kind, value in kinds:
            if kind == "LITERAL":
                choices.append(chr(value))
            elif kind == "RANGE":
                low, high = value
                within = (
                    range(low, min(high, low + 500) + 1)
                    if negated
                    else (low, high, self.random.randint(low, high))
                )
                choices += map(chr, within)
            elif kind == "CATEGORY":
                choices += self.category(str(value))
            elif kind != "NEGATE":
                raise _UnsupportedError
        return self.other_than("".join(choices)) if negated else self.random.choice(choices)

    def category(self, name: str) -> str:
        if name in _CATEGORIES:
            return _CATEGORIES[name]
        plain = name.replace("_NOT_", "_")
        if plain not in _CATEGORIES:
            raise _UnsupportedError
        return "".join(character for character in _POOL if character not in _CATEGORIES[plain])

    def other_than(self, characters: str) -> str:
        left = [character for character in _POOL if character not in characters]
        if not left:
            raise _UnsupportedError
        return self.random.choice(left)
