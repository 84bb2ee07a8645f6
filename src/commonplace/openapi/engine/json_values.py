"""Plain JSON values: copying, equality and traversal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import orjson

from commonplace.kernel.json_types import Json, JsonArray

_SORTED: Final = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS


def clone(node: Json) -> Json:
    """Copy a JSON value; several times faster than copy.deepcopy."""
    if isinstance(node, dict):
        return {
            key: clone(value) if isinstance(value, (dict, list)) else value
            for key, value in node.items()
        }
    if isinstance(node, list):
        return [clone(value) if isinstance(value, (dict, list)) else value for value in node]
    return node


def same_json(one: Json, other: Json) -> bool:
    """Compare JSON values: 1 equals 1.0 but, unlike in Python, not true."""
    if one is other:
        return True
    if one != other:
        return False
    if not isinstance(one, (dict, list)):
        return isinstance(one, bool) is isinstance(other, bool)
    try:
        # Most equal values have equal text, which is the fastest way to know.
        if orjson.dumps(one, option=_SORTED) == orjson.dumps(other, option=_SORTED):
            return True
    except TypeError:  # integers beyond 64 bits
        pass
    pairs = (
        ((value, other[key]) for key, value in one.items())
        if isinstance(one, dict)
        else zip(one, other, strict=True)
    )
    return all(same_json(value, counterpart) for value, counterpart in pairs)


def iterate_levels(data: Json) -> Iterator[JsonArray]:
    """Yield the objects and lists of a tree, level by level."""
    level: JsonArray = [data] if type(data) is dict or type(data) is list else []
    while level:
        yield level
        level = [
            child
            for node in level
            for child in (node.values() if type(node) is dict else node)
            if type(child) is dict or type(child) is list
        ]
