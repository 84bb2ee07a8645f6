"""Comparison of two regular expressions by strings that only one of them accepts.

Deciding inclusion of regular languages is too costly, and differences that matter have short
witnesses: the ends of ranges, one repetition or branch more or less. RE2 does the matching, so no
pattern takes more than linear time.
"""

from __future__ import annotations

import importlib
import random
import string
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Protocol

SAMPLE_COUNT = 100
MAX_PATTERN_LENGTH = 500
MAX_TEXT_LENGTH = 700
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
    """A string that only the old pattern accepts, and one that only the new one accepts.

    None means that no such string was found.
    """

    refused: str | None = None
    accepted: str | None = None


PatternValue = Any  # of the private parser: a number, a name or a tuple, depending on the kind
ParsedPattern = Iterable[tuple[object, PatternValue]]


class Matcher(Protocol):
    """A compiled pattern of RE2."""

    def search(self, text: str) -> object: ...


class _UnsupportedError(Exception):
    """The pattern contains something that strings cannot be generated for, such as a look-ahead."""


def constrains(pattern: str) -> bool:
    """Tell whether a pattern refuses any string at all."""
    return pattern not in _ACCEPT_ALL


@lru_cache(maxsize=1024)
def compare_patterns(old: str, new: str) -> Witnesses:
    """Find strings that distinguish two patterns.

    None are found for patterns that RE2 cannot run or that no strings can be generated for.
    """
    before, after = _compile(old), _compile(new)
    if before is None or after is None:
        return Witnesses()
    return Witnesses(_find_witness(old, before, after), _find_witness(new, after, before))


def _find_witness(pattern: str, accepting: Matcher, refusing: Matcher) -> str | None:
    """Return a string that the first accepts and the second does not, the shortest of a few."""
    try:
        telling = (
            text
            for text in _generate_strings(pattern)
            if accepting.search(text) and not refusing.search(text)
        )
        found = list(islice(telling, 5))
    except (_UnsupportedError, RecursionError):
        return None
    return min(found, key=lambda text: (len(text), text), default=None)


def _compile(pattern: str) -> Matcher | None:
    import re2

    if len(pattern) > MAX_PATTERN_LENGTH:
        return None
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 1 << 20
    try:
        compiled: Matcher = re2.compile(pattern, options)
        return compiled
    except (re2.error, UnicodeError):
        return None


def _generate_strings(pattern: str) -> Iterator[str]:
    """Generate strings that a pattern accepts, the same ones each time."""
    import re

    try:
        # The parser of the standard library is private; without it patterns stay undecided.
        parsed = importlib.import_module("re._parser").parse(pattern)
    except (ImportError, AttributeError, re.error, OverflowError, RecursionError):
        raise _UnsupportedError from None
    generator = _StringGenerator(random.Random(pattern))  # noqa: S311 - not for secrets
    for number in range(SAMPLE_COUNT):
        text = generator.generate(parsed)
        yield text
        if number % 5 == 0:  # a pattern without anchors accepts more than it spells
            yield f"{generator.random.choice(_POOL)}{text}"
            yield f"{text}{generator.random.choice(_POOL)}"


class _StringGenerator:
    """Generates strings from a parsed pattern."""

    def __init__(self, chooser: random.Random) -> None:
        self.random = chooser
        self.left = MAX_TEXT_LENGTH

    def generate(self, parsed: ParsedPattern) -> str:
        self.left = MAX_TEXT_LENGTH
        return self.generate_sequence(parsed)

    def generate_sequence(self, parts: ParsedPattern) -> str:
        return "".join(self.generate_part(str(kind), value) for kind, value in parts)

    def generate_part(self, kind: str, value: PatternValue) -> str:
        if kind == "LITERAL":
            return chr(value)
        if kind == "NOT_LITERAL":
            return self.choose_other(chr(value))
        if kind == "ANY":
            return self.random.choice(_POOL)
        if kind == "IN":
            return self.choose_member(value)
        if kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            return self.repeat(*value)
        if kind == "SUBPATTERN":
            return self.generate_sequence(value[3])
        if kind == "BRANCH":
            return self.generate_sequence(self.random.choice(value[1]))
        if kind == "AT":
            return ""
        raise _UnsupportedError

    def repeat(self, minimum: int, maximum: int, part: ParsedPattern) -> str:
        highest = min(int(maximum), minimum + 300)
        times = self.random.choice(
            (minimum, *(min(minimum + more, highest) for more in (1, 2, 20)), highest)
        )
        made: list[str] = []
        for _ in range(times):
            if self.left <= 0:
                break  # too long; the result is only used if the pattern accepts it
            made.append(self.generate_sequence(part))
            self.left -= len(made[-1]) + 1
        return "".join(made)

    def choose_member(self, members: ParsedPattern) -> str:
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
                choices += self.list_category(str(value))
            elif kind != "NEGATE":
                raise _UnsupportedError
        return self.choose_other("".join(choices)) if negated else self.random.choice(choices)

    def list_category(self, name: str) -> str:
        if name in _CATEGORIES:
            return _CATEGORIES[name]
        plain = name.replace("_NOT_", "_")
        if plain not in _CATEGORIES:
            raise _UnsupportedError
        return "".join(character for character in _POOL if character not in _CATEGORIES[plain])

    def choose_other(self, characters: str) -> str:
        left = [character for character in _POOL if character not in characters]
        if not left:
            raise _UnsupportedError
        return self.random.choice(left)
