"""Number literals that a float cannot represent as written: 1.10, 1e400, 18446744073709551616.

A parsed document contains the nearest float. Its literal is kept beside the document under the
identity of that float object, which conversions and merges preserve, and is written instead of it.
"""

from __future__ import annotations

import re
import sys

from commonplace.kernel.json_types import Json, JsonArray, JsonObject

_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_MIN_INTEGER, _MAX_INTEGER = -(2**63), 2**64 - 1  # the integers that orjson writes
_MAX_DIGITS = 20  # digits
_MARK = "\uf8fe"  # a private character that surrounds the number of a literal while a text is made
_MARKED = re.compile(rf"[\"']?{_MARK}([0-9]+){_MARK}[\"']?")


class NumberLiterals:
    """The literals of one document.

    Their floats are kept alive, so that no other object gets the same identity.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[int, tuple[float, str]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def parse(self, literal: str) -> int | float:
        """Return the value of a literal; keep the literal if the value cannot represent it."""
        whole = literal.lstrip("+-").isdigit()
        if whole and len(literal) <= _MAX_DIGITS + 1:
            integer = int(literal)
            if _MIN_INTEGER <= integer <= _MAX_INTEGER:
                return integer
        # The multiplication creates a new object, with an identity of its own.
        value = min(max(float(literal), -sys.float_info.max), sys.float_info.max) * 1.0
        if repr(value) != literal:
            self._known[id(value)] = (value, literal)
        return value

    def add(self, other: NumberLiterals) -> None:
        """Add the literals of another document whose parts are merged into this one."""
        self._known.update(other._known)

    def mark(self, data: Json) -> Json:
        """Return a copy of a value with marks instead of literals; itself if there are none."""
        if not self._known:
            return data
        return self._copy(data)

    def restore(self, text: str, *, json: bool) -> str:
        """Replace the marks in a text by their literals."""
        if not self._known or _MARK not in text:
            return text

        def write_literal(match: re.Match[str]) -> str:
            value, spelled = self._known[int(match[1])]
            return spelled if not json or _JSON_NUMBER.fullmatch(spelled) else repr(value)

        return _MARKED.sub(write_literal, text)

    def _copy(self, node: Json) -> Json:
        if type(node) is dict:
            copied: JsonObject = {}
            # No comprehension: it would need a second stack frame for each level.
            for key, item in node.items():
                copied[key] = self._copy(item)
            return copied
        if type(node) is list:
            items: JsonArray = []
            for item in node:
                items.append(self._copy(item))
            return items
        if type(node) is float and id(node) in self._known:
            return f"{_MARK}{id(node)}{_MARK}"
        return node
