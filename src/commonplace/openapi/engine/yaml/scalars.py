"""Plain scalars whose spelling must survive parsing."""

from __future__ import annotations

import re

# Plain scalars that YAML 1.2 reads as strings and yaml-rs as numbers: digits with `_`, and `0b`.
# Searching for the rare character is ten times faster than looking at every scalar.
_FALSE_NUMBER = re.compile(
    r"[-+]?(?:[0-9_.][0-9A-Fa-f_.xo]*_|_[0-9]|0b[01])[-+0-9_.A-Fa-fxob]*(?=[ "
    r"\t]*(?:[\r\n,\]}#]|:(?:\s|$)|$))"
)
_FALSE_NUMBER_PARTS = (
    re.compile(r"_[-+0-9_.A-Fa-fxob]*[ \t]*(?:[\r\n,\]}#:]|$)"),
    re.compile(r"0b[01][-+0-9_.A-Fa-fxob]*[ \t]*(?:[\r\n,\]}#:]|$)"),
)
_TOKEN_CHARACTERS = frozenset("-+0123456789_.ABCDEFabcdefxo")
# Numbers that may differ from the text of their float: 19 digits or more, a final zero, many
# decimals, an exponent. The search finds the rare part, then the whole is checked.
_INEXACT = re.compile(
    r"[0-9](?:[0-9]{18}|\.(?:[0-9]+0(?![0-9])|[0-9]{15})|(?:\.[0-9]*)?[eE][-+]?[0-9])"
)
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_NUMBER_CHARACTERS = frozenset("-+0123456789.eE")
_AFTER_NUMBER = re.compile(r"[ \t]*(?:[\r\n,\]}]|$)|[ \t]+#")
_BEFORE_NUMBER = re.compile(r"(?:[:?,\[{-][ \t]+|[,\[{][ \t]*)(?:&\S+[ \t]+)?$")


def find_false_numbers(text: str) -> set[int]:
    """Return the starts of plain scalars that are strings but would be read as numbers."""
    starts = set()
    for pattern in _FALSE_NUMBER_PARTS:
        for match in pattern.finditer(text):
            start = match.start()
            while start > 0 and text[start - 1] in _TOKEN_CHARACTERS:
                start -= 1
            before = start
            while before > 0 and text[before - 1] in " \t":
                before -= 1
            if (before == 0 or text[before - 1] in "\r\n-:?,[{") and _FALSE_NUMBER.match(
                text, start
            ):
                starts.add(start)
    return starts


def find_inexact_numbers(text: str) -> set[int]:
    """Return the starts of number literals that a float cannot represent as written."""
    starts = set()
    for match in _INEXACT.finditer(text):
        start, end = match.start(), match.end()
        while start > 0 and text[start - 1] in _NUMBER_CHARACTERS:
            start -= 1
        while end < len(text) and text[end] in _NUMBER_CHARACTERS:
            end += 1
        if (
            is_number_literal(text[start:end])
            and _AFTER_NUMBER.match(text, end)
            and _starts_value(text, start)
        ):
            starts.add(start)
    return starts


def _starts_value(text: str, start: int) -> bool:
    """Tell whether a value begins here: behind an indicator, or alone under its key."""
    before = text[text.rfind("\n", 0, start) + 1 : start]
    if before.strip():
        return _BEFORE_NUMBER.search(before) is not None
    above = text[: start - len(before)].rstrip()
    return above.endswith(":")


def is_number_literal(text: str) -> bool:
    """Tell whether a plain scalar is a decimal number."""
    return _NUMBER.fullmatch(text) is not None
