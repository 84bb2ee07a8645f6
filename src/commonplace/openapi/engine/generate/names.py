"""Words of the names in a document, and scopes that keep identifiers distinct."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

_SPELLED = {
    "+": "Plus",
    "-": "Minus",
    "*": "Star",
    "/": "Slash",
    "<": "Less",
    ">": "Greater",
    "=": "Equal",
    "!": "Not",
    "%": "Percent",
    "&": "And",
    "|": "Or",
    "#": "Hash",
    "@": "At",
    "$": "Dollar",
    "^": "Caret",
    "~": "Tilde",
    ".": "Dot",
    ",": "Comma",
    ":": "Colon",
    ";": "Semicolon",
    "?": "Question",
    "(": "Open",
    ")": "Close",
    "[": "Open",
    "]": "Close",
    '"': "Quote",
    "'": "Quote",
    "\\": "Backslash",
    "_": "Underscore",
}
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_SEPARATORS = re.compile(r"[\W_]+")
_MAX_WORDS = 12


def words(name: str) -> list[str]:
    """Split a name into words: `get-userById` gives get, user, By, Id.

    Signs that carry meaning (`+1`, `>=`) are spelled out.
    """
    if not name.isascii():
        name = unicodedata.normalize("NFKC", name)
    if name[:1] in "+-<>=!" and name[1:2] != "":
        sign = re.match(r"[+\-<>=!]+", name)
        if sign and (name[sign.end() :][:1].isdigit() or name[:1] in "<>=!+"):
            name = "".join(_SPELLED[char] for char in sign.group()) + " " + name[sign.end() :]
    found: list[str] = []
    for chunk in _SEPARATORS.split(name):
        found.extend(_chunk_words(chunk))
    if not found:
        found = [_SPELLED[char] for char in name if char in _SPELLED]
    return found[:_MAX_WORDS] if len(found) > _MAX_WORDS * 2 else found


@lru_cache(maxsize=20_000)
def _chunk_words(chunk: str) -> tuple[str, ...]:
    return tuple(_join_digits(_CAMEL.findall(chunk)))


def _join_digits(parts: list[str]) -> list[str]:
    """Join digits to the word before them: `v`, `2` is one word, and so is `Base`, `64`."""
    joined: list[str] = []
    for part in parts:
        if part.isdigit() and joined and not joined[-1][-1:].isdigit():
            joined[-1] += part
        else:
            joined.append(part)
    return joined


class NameScope:
    """A set of names that must differ."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._taken = set(reserved)
        self._next: dict[str, int] = {}  # where the search for a free number continues

    def __contains__(self, name: str) -> bool:
        return name in self._taken

    def claim(self, wanted: str, *alternatives: str) -> str:
        """Return the first wanted name that is free, or the nearest free one."""
        for candidate in (wanted, *alternatives):
            if candidate not in self._taken:
                self._taken.add(candidate)
                return candidate
        base = alternatives[-1] if alternatives else wanted
        stem = base + ("_" if base[-1:].isdigit() else "")
        number = self._next.get(stem, 2)
        while f"{stem}{number}" in self._taken:
            number += 1
        self._next[stem] = number + 1
        name = f"{stem}{number}"
        self._taken.add(name)
        return name
