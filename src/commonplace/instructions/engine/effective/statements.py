"""Directives of a rule, and when two of them oppose each other.

Opposition is literal (ADR 0302): two directives about the same words that differ in a negation, in
their only number, or in one of a few known alternatives. Anything else is left to the reader.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MOST_STATEMENTS = 200  # of one rule
MOST_CHARS = 300  # of one statement
READ_CHARS = 60_000  # of one text

_FENCE = re.compile(r"^ {0,3}(```|~~~).*?(?:^ {0,3}\1[^\n]*$|\Z)", re.S | re.M)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_BULLET = re.compile(r"^\s*(?:[-*+>]|\d{1,3}[.)])?\s*")
_WORD = re.compile(r"[a-z0-9+#]+(?:[./_'-][a-z0-9+#]+)*")
_NUMBER = re.compile(r"\d+(?:\.\d+)?%?\Z")
_REST = re.compile(r"\b(?:instead of|rather than|over|,? not)\b")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_NEGATIONS = _set(
    "not never no don't dont doesn't mustn't shouldn't cannot can't avoid forbid forbidden"
)
_FILLERS = _set(
    "a an the to of is are be been do does we you your our please must should shall always "
    "will can may it its this that all any every in on at by for with as prefer use using used "
    "favor favour only and"
)
_DIRECTIVE = _set(
    "add align always apply avoid break build call capitalize catch check commit configure "
    "create declare define delete deploy disable do document don't enable end ensure export "
    "extend favor favour follow forbid format group handle implement import include indent "
    "install keep limit lint log make merge mock move must name never no only order pin place "
    "prefer put raise read rebase return review run separate set shall should sort split start "
    "store strip test throw treat update use validate wrap write"
)
_LABELS = _set("step section chapter phase part rule item option example figure table level day")
_CHOICES = {
    word: group
    for group, words in {
        "indentation": "tabs spaces",
        "packages": "npm pnpm yarn bun",
        "quotes": "single-quotes double-quotes",
        "python-packages": "pip poetry uv pipenv",
        "assertions": "jest vitest mocha",
        "merging": "rebase merge squash",
        "line-ends": "crlf lf",
    }.items()
    for word in words.split()
}
_SIGNS = str.maketrans({"\u2019": "'", "`": None, "*": None})
_JOINED = (
    ("quote", re.compile(r"\b(single|double)[ -]quotes?\b"), r"\1-quotes"),
    ("tab", re.compile(r"\btab(?: characters?)?\b"), "tabs"),
    ("space", re.compile(r"\bspace(?: characters?)?\b"), "spaces"),
    (" not", re.compile(r"\bdo not\b|\bmust not\b|\bshould not\b"), "never"),
)


@dataclass(frozen=True, slots=True)
class Directive:
    """A statement that tells to do something, or not to.

    Two directives with the same `subject` oppose each other if their `value` differs.
    """

    text: str
    subject: tuple[str, ...]
    value: str


def find_directives(text: str) -> tuple[Directive, ...]:
    """Return the directives of a text outside fenced code, in order."""
    found: list[Directive] = []
    for statement in _statements(text):
        found += _read(statement)
        if len(found) >= MOST_STATEMENTS:
            break
    return tuple(found)


def count_statements(text: str) -> int:
    """Return how many statements a text has, directives or not."""
    return sum(1 for _ in _statements(text))


def _statements(text: str) -> Iterator[str]:
    for part in _SENTENCE.split(_FENCE.sub("\n", text[:READ_CHARS])):
        statement = _BULLET.sub("", part).strip()
        if statement and not statement.startswith("#") and len(statement) <= MOST_CHARS:
            yield statement


def _read(statement: str) -> Iterator[Directive]:
    plain = statement.lower().translate(_SIGNS)
    for hint, pattern, joined in _JOINED:
        if hint in plain:
            plain = pattern.sub(joined, plain)
    if not plain.startswith(("not ", "no ")) and (rest := _REST.search(plain)):
        plain = plain[: rest.start()]
    words = _WORD.findall(plain)
    if _DIRECTIVE.isdisjoint(words[:6]):
        return
    is_negative = not _NEGATIONS.isdisjoint(words)
    numbers = [word for word in words if _NUMBER.match(word)]
    choices = [word for word in words if word in _CHOICES]
    content = sorted({word for word in words if word not in _FILLERS and word not in _NEGATIONS})
    topic = tuple(word for word in content if word not in numbers and word not in choices)
    if len(choices) == 1 and not is_negative:
        subject = ("#choice", _CHOICES[choices[0]], *_without_verbs(topic))
        yield Directive(statement, subject, choices[0])
    if len(numbers) == 1 and not choices and len(topic) >= 2 and _LABELS.isdisjoint(topic):
        subject = ("#number", "not" if is_negative else "", *topic)
        yield Directive(statement, subject, numbers[0])
    if content:
        yield Directive(statement, tuple(content), "no" if is_negative else "yes")


def _without_verbs(topic: tuple[str, ...]) -> tuple[str, ...]:
    """Leave out what says no more than the choice itself: indent with tabs, indentation."""
    return tuple(
        word
        for word in topic
        if word not in _DIRECTIVE and not word.startswith("indent") and word != "string"
    )
