"""Code in Markdown: fenced blocks and code spans."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_TICKS = re.compile(r"`+")


def blank_code(text: str) -> str:
    """Replace fenced blocks and code spans by spaces, so that offsets stay the same."""
    lines, fence = [], ""
    for line in text.splitlines(keepends=True):
        found = _FENCE.match(line)
        if fence:
            closing = found is not None and found[1].startswith(fence)
            lines.append(_blank(line))
            fence = "" if closing else fence
        elif found:
            fence = found[1]
            lines.append(_blank(line))
        else:
            lines.append(line)
    return _blank_spans("".join(lines))


def _blank_spans(text: str) -> str:
    """Blank the text between two runs of backticks of the same length."""
    runs = list(_TICKS.finditer(text))
    closing: dict[int, list[int]] = {}
    for index in range(len(runs) - 1, -1, -1):
        closing.setdefault(len(runs[index][0]), []).append(index)
    pieces, at, index = [], 0, 0
    while index < len(runs):
        same = closing[len(runs[index][0])]
        while same and same[-1] <= index:
            same.pop()
        if same:
            end = same.pop()
            pieces += [
                text[at : runs[index].start()],
                _blank(text[runs[index].start() : runs[end].end()]),
            ]
            at, index = runs[end].end(), end
        index += 1
    return "".join(pieces) + text[at:]


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
