"""Parsing of YAML 1.2 (core schema) into plain JSON values.

yaml-rs does the parsing. This module adds what it lacks: a bound on nesting (it recurses per block
level and crashes), strings such as `1_000` and `0b1` that it takes for integers, string keys, and
the expansion of merge keys (`<<`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

import yaml_rs

from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.yaml.duplicates import find_duplicate_yaml_keys
from commonplace.openapi.engine.yaml.scalars import (
    find_false_numbers,
    find_inexact_numbers,
    is_number_literal,
)
from commonplace.openapi.errors import SPEC_SYNTAX, SPEC_TOO_DEEP, SPEC_TOO_LARGE
from commonplace.openapi.model import DocumentLimits, DuplicateKey
from commonplace.openapi.number_literals import NumberLiterals

# A level of block nesting takes at least one character of indentation or a compact indicator (`- `,
# `? `, `: `), so the prefix of a line bounds the recursion of the parser.
PREFIX_LIMIT = 2000
_DEEP_PREFIX = re.compile(rf"(?:[ \t]|[-?:][ \t]){{{PREFIX_LIMIT}}}")
_ODD_KEY = re.compile(
    r"(?:(?<=[\s,\[{])|^)(?=(?:[-+.]?[0-9][\w.+-]*|[-+]?\.(?:inf|nan)|true|false|null|~)[ "
    r"\t]*:(?:\s|$))",
    re.I | re.M,
)
# A merge key is the plain scalar `<<`. In quotes it is an ordinary key, so plain ones are marked
# before parsing.
_MERGE_KEY = re.compile(r"(?:(?<=[\s,\[{])|^)(?=<<[ \t]*(?::(?:\s|$)|\r?\n[ \t]*:\s))")
_POSITION = re.compile(r"line (\d+), column (\d+)")
_SENTINELS = ("\ue000", "\uf8ff", "\U000f0000", "\U0010fffd")


def parse_yaml(
    text: str, limits: DocumentLimits, numbers: NumberLiterals | None = None
) -> tuple[Json, tuple[DuplicateKey, ...]]:
    """Return the value of a YAML text with one document, and its duplicate keys.

    Literals that a float cannot represent as written are added to `numbers`.
    """
    numbers = numbers if numbers is not None else NumberLiterals()
    if any(len(line) >= PREFIX_LIMIT and _DEEP_PREFIX.match(line) for line in text.splitlines()):
        raise CommonplaceError(
            SPEC_TOO_DEEP,
            f"The document is nested deeper than {limits.depth} levels.",
            details={"limit": limits.depth},
        )
    sentinel = _choose_sentinel(text)
    merges = {match.start() for match in _MERGE_KEY.finditer(text)} if "<<" in text else set()
    strings, literals = find_false_numbers(text), find_inexact_numbers(text)
    marked = _insert_marks(text, sorted([*(strings | merges), *(literals - strings)]), sentinel)
    value, duplicates = _parse(marked, limits)
    if merges:
        value = _expand_merge_keys(value, sentinel + "<<", limits)
    kept = numbers if literals else None
    plain = _convert_values(value, sentinel if marked is not text else None, kept)
    if plain is None:  # a key lost its spelling: 1.10, true, null
        value, _ = _parse(_ODD_KEY.sub(sentinel, marked), limits)
        if merges:
            value = _expand_merge_keys(value, sentinel + "<<", limits)
        plain = _convert_values(value, sentinel, kept, strict=True) or [value]
    return plain[0], duplicates


def _parse(text: str, limits: DocumentLimits) -> tuple[Json, tuple[DuplicateKey, ...]]:
    alias = yaml_rs.AliasLimits(max_total_replayed_events=limits.alias_nodes)
    try:
        return yaml_rs.loads(text, parse_datetime=False, alias_limits=alias), ()
    except yaml_rs.YAMLDecodeError as error:
        message = str(error)
        if not message.startswith("duplicate mapping key"):
            raise _make_syntax_error(message, limits) from None
    except TypeError:  # keys in keys, which yaml-rs does not expect
        raise _make_key_error() from None
    key = message.partition(": ")[2].strip("'\"")
    policy = yaml_rs.DuplicateKeyPolicy.LastWins
    try:
        value = yaml_rs.loads(
            text, parse_datetime=False, alias_limits=alias, duplicate_key_policy=policy
        )
    except yaml_rs.YAMLDecodeError as error:
        raise _make_syntax_error(str(error), limits) from None
    except TypeError:
        raise _make_key_error() from None
    return value, find_duplicate_yaml_keys(text) or (DuplicateKey(key),)


def _make_key_error() -> CommonplaceError:
    return CommonplaceError(
        SPEC_SYNTAX, "The text has lists or objects as keys.", hint="Use strings as keys."
    )


def _make_syntax_error(message: str, limits: DocumentLimits) -> CommonplaceError:
    if "alias" in message and "limit" in message:
        hint = "Write the repeated parts out, or use $ref."
        return CommonplaceError(
            SPEC_TOO_LARGE,
            f"The YAML aliases expand to more than {limits.alias_nodes} nodes.",
            hint=hint,
        )
    if "recursion" in message or "depth" in message or "nest" in message:
        return CommonplaceError(
            SPEC_TOO_DEEP,
            f"The document is nested deeper than {limits.depth} levels.",
            details={"limit": limits.depth},
        )
    place = _POSITION.search(message)
    reason = message.rsplit("\n", 1)[-1].strip()[:300]
    if place is None:
        return CommonplaceError(
            SPEC_SYNTAX, f"The text is not YAML: {reason}.", hint="Correct the text and call again."
        )
    line, column = int(place[1]), int(place[2])
    return CommonplaceError(
        SPEC_SYNTAX,
        f"The text is not YAML: line {line}, column {column}: {reason}.",
        hint="Correct the text at that place and call again.",
        details={"line": line, "column": column, "problem": reason},
    )


def _choose_sentinel(text: str) -> str:
    for candidate in _SENTINELS:
        if candidate not in text:
            return candidate
    raise CommonplaceError(
        SPEC_SYNTAX, "The text uses all private-use characters; the parser needs one of them."
    )


def _insert_marks(text: str, positions: list[int], mark: str) -> str:
    if not positions:
        return text
    starts = [0, *positions]
    return mark.join(
        text[start:end] for start, end in zip(starts, [*positions, len(text)], strict=True)
    )


def _convert_values(
    value: Json, sentinel: str | None, numbers: NumberLiterals | None, *, strict: bool = False
) -> list[Json] | None:
    """Convert a value in place to JSON values with string keys; return it in a list of one.

    The mark that protected a spelling is removed. Without `strict` the result is None if a key is
    neither a string nor an integer.
    """
    holder = [value]
    stack: list[Json] = [holder]
    while stack:
        node = stack.pop()
        if type(node) is dict:
            if sentinel is not None or not _has_string_keys(node):
                if not strict and any(
                    type(key) is not str and type(key) is not int for key in node
                ):
                    return None
                renamed = [(_convert_key(key, sentinel), item) for key, item in node.items()]
                node.clear()
                node.update(renamed)
            items: Iterable[tuple[Json, Json]] = node.items()
        else:
            items = enumerate(node)
        for key, item in items:
            kind = type(item)
            if kind is str:
                if sentinel and sentinel in item:
                    whole = (
                        numbers is not None and item[0] == sentinel and is_number_literal(item[1:])
                    )
                    node[key] = (
                        numbers.parse(item[1:])
                        if numbers is not None and whole
                        else item.replace(sentinel, "")
                    )
            elif kind is dict or kind is list:
                stack.append(item)
            elif kind is not bool and item is not None:
                node[key] = _convert_number(item)
    return holder


def _has_string_keys(node: JsonObject) -> bool:
    try:
        "".join(node)  # the fastest check
    except TypeError:
        return False
    return True


def _convert_key(key: object, sentinel: str | None) -> str:
    if isinstance(key, str):
        return key.replace(sentinel, "") if sentinel else key
    if isinstance(key, (tuple, frozenset)):
        raise CommonplaceError(
            SPEC_SYNTAX, "A mapping has a list or a mapping as a key; OpenAPI allows only strings."
        )
    return (
        "null"
        if key is None
        else str(key).lower()
        if isinstance(key, bool)
        else _write_digits(key)
        if isinstance(key, int)
        else str(key)
    )


def _convert_number(item: object) -> Json:
    """Return the JSON form of a number; infinities, huge integers and sets become the nearest."""
    if type(item) is int:
        return item if -(2**63) <= item < 2**64 else _convert_big_integer(item)
    if type(item) is float:
        return item if math.isfinite(item) else str(item)
    if isinstance(item, (set, frozenset, tuple)):
        return sorted(str(member) for member in item)
    return str(item)


def _convert_big_integer(item: int) -> Json:
    try:
        return float(item)
    except OverflowError:
        return _write_digits(item)


def _write_digits(item: int) -> str:
    try:
        return str(item)
    except ValueError:  # Python refuses to write that many digits
        raise CommonplaceError(
            SPEC_SYNTAX,
            "The text has an integer of thousands of digits.",
            hint="Write it in quotes.",
        ) from None


def _expand_merge_keys(value: Json, mark: str, limits: DocumentLimits) -> Json:
    """Expand merge keys, innermost first; own keys win, then earlier merged mappings."""
    holder = [value]
    mappings: list[JsonObject] = []  # outer mappings before inner ones
    stack: list[Json] = [holder]
    while stack:
        node = stack.pop()
        if type(node) is dict and mark in node:
            mappings.append(node)
        stack.extend(
            item
            for item in (node.values() if type(node) is dict else node)
            if type(item) is dict or type(item) is list
        )
    merged_entries = 0
    for node in reversed(mappings):
        merged = node.pop(mark)
        sources = merged if isinstance(merged, list) else [merged]
        if not all(isinstance(source, dict) for source in sources):
            node.setdefault("<<", merged)
            continue
        own = dict(node)
        node.clear()
        for source in reversed(sources):
            merged_entries += len(source)
            node.update(source)
        node.update(own)
        if merged_entries > limits.alias_nodes:
            raise CommonplaceError(
                SPEC_TOO_LARGE, f"Merge keys expand to more than {limits.alias_nodes} entries."
            )
    return holder[0]
