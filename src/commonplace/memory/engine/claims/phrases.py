"""Find which side of a matter a sentence takes: "soft delete" or "removed for good"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from commonplace.memory.engine.claims.tables.sides import GROUPS, SIDES

_NEGATED: Final = re.compile(
    r"(?:\b(?:not|never|no longer|isn't|aren't|don't|doesn't|pas|jamais|plus|aucune?|no)"
    r"|n't)(?: \w+){0,1} $"
)
_LITERAL: Final = re.compile(r"[a-zà-ÿ]{3,}")
_NEEDED_GROUP: Final = re.compile(r"\(\?:([^()]*)\)(?![?*{])")
_GROUP: Final = re.compile(r"\([^()]*\)[?*]?|\{[^}]*\}|\\.|\w\?")
LETTERS: Final = 5
MOST_FLIPPED: Final = 2  # sides: not the one means the other


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of a kind: how it is said, and letters of which each way of saying has some."""

    number: str
    pattern: re.Pattern[str]
    letters: frozenset[str]  # up to LETTERS in a row; empty if not known


def _read_side(number: int, side: str) -> _Side:
    for name, group in GROUPS.items():
        side = side.replace(name, group)
    parts = [part.strip() for part in side.split(";")]
    literals = [_find_literals(part) for part in parts]
    known = frozenset(text[:LETTERS] for found in literals for text in found)
    known = known if all(literals) else frozenset()
    return _Side(str(number), re.compile(rf"\b(?:{'|'.join(parts)})(?!\w)"), known)


def _find_literals(part: str) -> list[str]:
    """Return texts of which a pattern always has one; none if they are not known."""
    if literal := _find_literal(part):
        return [literal]
    for group in _NEEDED_GROUP.findall(part):
        found = [_find_literal(choice) for choice in group.split("|")]
        if all(found):
            return found
    return []


def _find_literal(part: str) -> str:
    """Return the longest text that a pattern always has; empty if there is none."""
    flat = part
    while (simpler := _GROUP.sub("\n", flat)) != flat:
        flat = simpler
    return max(_LITERAL.findall(flat), key=len, default="")


def _read_kinds(text: str) -> tuple[tuple[str, tuple[_Side, ...]], ...]:
    kinds: list[tuple[str, list[str]]] = []
    is_open = False
    for line in text.strip().splitlines():
        if not line.startswith(" "):
            kinds.append((line, []))
        elif is_open:
            kinds[-1][1][-1] += line
        else:
            kinds[-1][1].append(line)
        is_open = line.endswith(";")
    return tuple(
        (kind, tuple(_read_side(number, side) for number, side in enumerate(sides)))
        for kind, sides in kinds
    )


_KINDS: Final = _read_kinds(SIDES)


def find_statements(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the sides that a sentence in small letters takes: kind, side, and how it is said."""
    letters = {text[at : at + size] for size in (3, 4, LETTERS) for at in range(len(text))}
    for kind, sides in _KINDS:
        found = []
        for side in sides:
            if side.letters.isdisjoint(letters) and side.letters:
                continue
            if match := side.pattern.search(text):
                found.append((side.number, match))
        if len(found) > 1:  # "not unique" holds "unique": what stands within another is not meant
            found = [one for one in found if not any(_is_within(one[1], o[1]) for o in found)]
        if len(found) == 1:
            number, match = found[0]
            if _NEGATED.search(text[: match.start()]):
                if len(sides) > MOST_FLIPPED:
                    continue
                number = str(1 - int(number))
            yield kind, number, match[0]


def _is_within(one: re.Match[str], other: re.Match[str]) -> bool:
    shorter = one.end() - one.start() < other.end() - other.start()
    return shorter and other.start() <= one.start() and one.end() <= other.end()
