"""Cut a text to a number of tokens: whole paragraphs of a rule, whole lines of a passage."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from commonplace.search.lexical.text import analyze

MOST_BLOCKS = 400  # of one text; what follows is left out
GAP = "\n[...]\n"
END = " [...]"
NEAR = 5  # lines that decide in which direction a passage grows
LEAST_CHARACTERS = 40  # a shorter excerpt tells nothing
_BLOCKS = re.compile(r"\n[ \t]*\n+")
_HEADING = re.compile(r"#{1,6}\s")

Count = Callable[[str], int]


def cut_prose(text: str, terms: frozenset[str], most: int, count: Count) -> str:
    """Return the paragraphs that share most words with a task, in order, within `most` tokens.

    Without shared words these are the first ones. A heading comes with the paragraph below it.
    """
    if count(text) <= most:
        return text
    blocks = _split_blocks(text)
    costs = [count(block) for block in blocks]
    shared = [len(terms.intersection(analyze(block))) if terms else 0 for block in blocks]
    left = most - count(GAP)
    chosen: list[int] = []
    for at in sorted(range(len(blocks)), key=lambda at: (-shared[at], at)):
        if costs[at] <= left:
            chosen.append(at)
            left -= costs[at]
        elif not chosen:
            return cut_end(blocks[at], most, count)
    while chosen and count(cut := _join(blocks, sorted(chosen))) > most:  # gaps count too
        chosen.pop()
    return cut if chosen else ""


def _split_blocks(text: str) -> list[str]:
    blocks: list[str] = []
    for block in _BLOCKS.split(text.strip("\n"))[:MOST_BLOCKS]:
        if blocks and _HEADING.match(blocks[-1]) and "\n" not in blocks[-1].strip():
            blocks[-1] += f"\n{block}"
        else:
            blocks.append(block)
    return blocks


def _join(blocks: Sequence[str], chosen: Sequence[int]) -> str:
    parts: list[str] = []
    after = 0
    for at in chosen:
        parts.append(GAP if at != after else "\n\n" if parts else "")
        parts.append(blocks[at])
        after = at + 1
    if after < len(blocks):
        parts.append(GAP)
    return "".join(parts).strip("\n")


@dataclass(frozen=True, slots=True)
class MeasuredLines:
    """Lines of a text with their tokens, and how many words of a task each has."""

    lines: Sequence[str]
    costs: Sequence[int]
    shared: Sequence[int]

    @classmethod
    def read(cls, text: str, terms: frozenset[str], count: Count) -> MeasuredLines:
        lines = text.split("\n")
        return cls(
            lines,
            [count(f"\n{line}") for line in lines],
            [len(terms.intersection(analyze(line))) if terms else 0 for line in lines],
        )


def cut_lines_around(measured: MeasuredLines, most: int) -> tuple[int, str] | None:
    """Return whole lines around those with most words of a task, within `most` tokens.

    Also how many lines stand before them. None if not even one line fits.
    """
    lines, costs, shared = measured.lines, measured.costs, measured.shared
    first = last = max(range(len(lines)), key=lambda at: (shared[at], -at))
    left = most - costs[first]
    if left < 0:
        return None
    while True:
        above = costs[first - 1] if first else left + 1
        below = costs[last + 1] if last + 1 < len(lines) else left + 1
        if min(above, below) > left:
            return first, "\n".join(lines[first : last + 1])
        told_above = sum(shared[max(0, first - NEAR) : first])
        told_below = sum(shared[last + 1 : last + 1 + NEAR])
        if below <= left and (above > left or told_below >= told_above):
            last += 1
            left -= below
        else:
            first -= 1
            left -= above


def cut_end(text: str, most: int, count: Count) -> str:
    """Return the beginning of a text, cut between words; empty if nothing useful fits."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if count(text[:middle] + END) <= most:
            low = middle
        else:
            high = middle - 1
    space = text.rfind(" ", max(0, low - 40), low)
    end = space if space > 0 else low
    return text[:end].rstrip() + END if end >= LEAST_CHARACTERS else ""
