"""Line ends of a file that was edited in a browser, whose text areas know only `\\n`."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

MAX_MATCHED_LINES = 5000
_LINE = re.compile(r"[^\r\n]*(\r\n|\r|\n|$)")


def split_lines(text: str) -> list[tuple[str, str]]:
    """Split a text into lines and their ends; the last line may have none."""
    lines = [
        (found[0][: len(found[0]) - len(found[1])], found[1]) for found in _LINE.finditer(text)
    ]
    while lines and lines[-1] == ("", ""):
        lines.pop()
    return lines


def describe_line_ends(text: str) -> str:
    """Name the line ends of a text: LF, CRLF, CR, mixed; empty for a single line."""
    windows = text.count("\r\n")
    found = {
        "CRLF": windows,
        "LF": text.count("\n") - windows,
        "CR": text.count("\r") - windows,
    }
    names = [name for name, count in found.items() if count]
    return "mixed" if len(names) > 1 else "".join(names)


def restore_line_ends(stored: str, edited: str) -> str:
    """Return the edited text with the line ends of the stored one.

    Lines that did not change keep their own end; new lines get the most frequent one.
    """
    kind = describe_line_ends(stored)
    if kind in ("", "LF"):
        return edited
    if kind != "mixed":
        return edited.replace("\n", "\r\n" if kind == "CRLF" else "\r")
    before, after = split_lines(stored), split_lines(edited)
    ends = [end for _, end in before if end]
    usual = max(sorted(set(ends)), key=ends.count)
    kept = _match_ends([text for text, _ in before], [text for text, _ in after])
    return "".join(
        text + ((before[kept[number]][1] if number in kept else "") or usual if end else "")
        for number, (text, end) in enumerate(after)
    )


def _match_ends(before: list[str], after: list[str]) -> dict[int, int]:
    """Map the number of each unchanged line to its number in the stored text."""
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    most = min(len(before), len(after)) - head
    while tail < most and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    kept = {number: number for number in range(head)}
    kept |= {len(after) - 1 - step: len(before) - 1 - step for step in range(tail)}
    middle_before = before[head : len(before) - tail]
    middle_after = after[head : len(after) - tail]
    if max(len(middle_before), len(middle_after)) <= MAX_MATCHED_LINES:
        matcher = SequenceMatcher(None, middle_before, middle_after)
        for block in matcher.get_matching_blocks():
            for step in range(block.size):
                kept[head + block.b + step] = head + block.a + step
    return kept
