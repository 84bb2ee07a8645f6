"""Number literals that a Python float cannot hold as they are written: 1.10, 1e400,
18446744073709551616.

A parsed document holds the nearest float. Its literal is kept beside the document, found again by
the identity of that float, which conversions and merges carry along, and is written out instead of
it.
"""

from __future__ import annotations

import re
import sys
from typing import Any

from commonplace.kernel.json_types import JsonArray, JsonObject

_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_LEAST, _MOST = -(2**63), 2**64 - 1  # what JSON parsers agree on, and orjson writes
_LONGEST_INTEGER = 20  # digits
_MARK = "\uf8fe"  # a private character that surrounds the number of a literal while a text is made
_MARKED = re.compile(rf"[\"']?{_MARK}([0-9]+){_MARK}[\"']?")


class NumberLiterals:
    """The literals of one document.

    Holds their floats too, so that no other object gets their identity.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[int, tuple[float, str]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def read(self, literal: str) -> int | float:
        """The value of a literal; the literal is kept where the value does not say it exactly."""
        whole = literal.lstrip("+-").isdigit()
        if whole and len(literal) <= _LONGEST_INTEGER + 1:
            integer = int(literal)
            if _LEAST <= integer <= _MOST:
                return integer
        value = (
            min(max(float(literal), -sys.float_info.max), sys.float_info.max) * 1.0
        )  # an object of its own
        if repr(value) != literal:
            self._known[id(value)] = (value, literal)
        return value

    def add(self, other: NumberLiterals) -> None:
        """Take over the literals of another document whose parts are merged into this one."""
        self._known.update(other._known)

    def marked(self, data: Any) -> Any:
        """A copy of a value in which marks stand for literals; the value itself where it has
        none.
        """
        if not self._known:
            return data
        return self._copy(data)

    def written(self, text: str, *, json: bool) -> str:
        """A text with the literals instead of their marks."""
        if not self._known or _MARK not in text:
            return text

        def literal(found: re.Match[str]) -> str:
            value, spelled = self._known[int(found[1])]
            return spelled if not json or _JSON_NUMBER.fullmatch(spelled) else repr(value)

        return _MARKED.sub(literal, text)

    def _copy(self, node: Any) -> Any:
        if type(node) is dict:
            copied: JsonObject = {}
            for (
                key,
                item,
            ) in node.items():  # no comprehension: it would take a second frame for each level
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
