"""Statements of a text, and the clauses of a statement: what it tells, and what it sets aside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from commonplace.instructions.engine.statements.vocabulary import NUMERALS, WORD

MOST_CHARS = 300  # of one statement
READ_CHARS = 60_000  # of one text
WRAPPED_CHARS = 60  # of a line that goes on in the next one

_FENCE = re.compile(r"^ {0,3}(```|~~~).*?(?:^ {0,3}\1[^\n]*$|\Z)", re.S | re.M)
_WRAPPED = re.compile(r"\n(?=[a-z`(])")  # perhaps a paragraph that goes on
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_BULLET = re.compile(r"^\s*(?:[-*+>]|\d{1,3}[.)])?\s*")
_EXCEPTION = re.compile(r",? (?:unless|except|other than|apart from) .*")
_NEGATIVE = re.compile(r", (?:and |but )?(?=(?:never|not|no|don't|do not|avoid)\b)")
_REJECTED = re.compile(
    r",? (?P<sign>instead of|rather than|over)\b"
    r"(?P<what>.*?)(?= (?:for|in|when|on|to|as|at)\b|[.,;]|$)"
)
_PREFERRING = re.compile(r"\b(?:prefer|favou?r|choose)\b")
_DIGIT = re.compile(r"\d")
_TAIL = re.compile(r" (?:for|in|when|on|to|as|at)\b.*")


class Clause(NamedTuple):
    """A part of a statement, in lower case."""

    plain: str
    words: tuple[str, ...]
    is_rejected: bool = False  # set aside: "instead of tabs", "never tabs"
    lead: str = ""  # the first word of the statement

    @property
    def has_digit(self) -> bool:
        """Tell whether it has a number."""
        return not NUMERALS.isdisjoint(self.words) or _DIGIT.search(self.plain) is not None


def statements_of(text: str) -> Iterator[str]:
    """Yield the statements of a text: sentences and list items outside fenced code."""
    plain = text[:READ_CHARS]
    if "```" in plain or "~~~" in plain:
        plain = _FENCE.sub("\n", plain)
    for part in _SENTENCE.split(_WRAPPED.sub(_join_long_line, plain)):
        bullet = _BULLET.match(part)
        statement = part[bullet.end() if bullet else 0 :].strip()
        if statement and not statement.startswith("#") and len(statement) <= MOST_CHARS:
            yield statement


def _join_long_line(match: re.Match[str]) -> str:
    """Join a line with the next one if it is so long that it was wrapped."""
    text, end = match.string, match.start()
    length = end - text.rfind("\n", 0, end) - 1
    return " " if length >= WRAPPED_CHARS and text[end - 1] not in ".!?:;|" else "\n"


def count_statements(text: str) -> int:
    """Return how many statements a text has, directives or not."""
    return sum(1 for _ in statements_of(text))


def split_clauses(plain: str, words: tuple[str, ...]) -> Iterator[Clause]:
    """Yield what a statement in lower case with these words tells, then what it sets aside.

    "Use tabs instead of spaces in Makefiles" sets spaces in Makefiles aside.
    """
    lead = words[0] if words else ""
    shown = plain.rstrip(" .;:!")
    if not _may_split(shown):
        yield Clause(shown, words, lead=lead)
        return
    plain = _EXCEPTION.sub("", shown)
    main, *denied = _NEGATIVE.split(plain, maxsplit=1)
    rejected = _REJECTED.search(main)
    if rejected is not None and (rejected["sign"] != "over" or _PREFERRING.search(main)):
        main = main[: rejected.start()] + main[rejected.end() :]
        denied.append(rejected["what"])
    yield Clause(main, tuple(WORD.findall(main)), lead=lead)
    tail = _TAIL.search(main)
    for part in denied:
        if tail is not None and not _TAIL.search(part):
            part += tail[0]
        yield Clause(part.strip(), tuple(WORD.findall(part)), is_rejected=True, lead=lead)


def _may_split(plain: str) -> bool:
    """Tell whether a statement may set something aside; most do not."""
    return (
        "," in plain
        or " over " in plain
        or " instead " in plain
        or " rather " in plain
        or " unless " in plain
        or " except " in plain
        or " other than " in plain
        or " apart from " in plain
    )
