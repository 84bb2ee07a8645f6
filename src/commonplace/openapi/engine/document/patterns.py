"""Patterns for paths, names, status codes and extensions; none of them can be made slow."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

import orjson

from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import Json


@lru_cache(maxsize=256)
def _path_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a path pattern so that matching cannot backtrack far.

    `*` is a segment or a part of one, `**` any number of segments.
    """
    parts = pattern.split("/")
    expression = ""
    for position, part in enumerate(parts):
        if part == "**":
            expression += "(?:/[^/]*)*" if position else "[^/]*(?:/[^/]*)*"
            continue
        expression += ("/" if position else "") + "[^/]*".join(
            re.escape(piece) for piece in re.split(r"\*+", part)
        )
    return re.compile(expression)


def match_path(pattern: str, path: str) -> bool:
    """Tell whether a path template matches a pattern with `*` (no slash) and `**`.

    Without stars the path must equal the pattern.
    """
    if "*" not in pattern:
        return pattern == path
    if "/" not in pattern:
        return match_glob(pattern, path, case=True)
    if path[:1] == "/" != pattern[0]:
        pattern = f"/{pattern}"  # every path begins with a slash
    if pattern.count("**") > 1 or pattern.count("*") > 12:
        return _match_segments(tuple(pattern.split("/")), tuple(path.split("/")))
    return _path_pattern(pattern).fullmatch(path) is not None


def _match_segments(pattern: tuple[str, ...], path: tuple[str, ...]) -> bool:
    """Match by a table of reachable positions, in bounded time."""
    reach = {0}
    for part in pattern:
        if part == "**":
            low = min(reach, default=None)
            reach = set(range(low, len(path) + 1)) if low is not None else set()
        else:
            reach = {
                at + 1 for at in reach if at < len(path) and match_glob(part, path[at], case=True)
            }
    return len(path) in reach


@lru_cache(maxsize=256)
def _glob_pattern(pattern: str) -> re.Pattern[str]:
    pieces = (
        ".*" if piece == "*" else "." if piece == "?" else re.escape(piece)
        for piece in re.split(r"(\*|\?)", pattern)
    )
    return re.compile("".join(pieces), re.IGNORECASE | re.DOTALL)


def match_glob(pattern: str, text: str, *, case: bool = False) -> bool:
    """Match `*` (any text), `?` (one character) and literal text.

    A few stars use a compiled pattern, many a scan in bounded time.
    """
    if not case and pattern.count("*") <= 3:
        return _glob_pattern(pattern).fullmatch(text) is not None
    if not case:
        pattern, text = pattern.casefold(), text.casefold()
    if "*" not in pattern and "?" not in pattern:
        return pattern == text
    at = p = 0
    star, mark = -1, 0
    while at < len(text):
        if p < len(pattern) and (
            pattern[p] == "?" or (pattern[p] == text[at] and pattern[p] != "*")
        ):
            at, p = at + 1, p + 1
        elif p < len(pattern) and pattern[p] == "*":
            star, mark, p = p, at, p + 1
        elif star >= 0:
            mark += 1
            at, p = mark, star + 1
        else:
            return False
    return all(character == "*" for character in pattern[p:])


def match_status(wanted: str, status: str) -> bool:
    """Match a status code with `200`, `4xx` (any code of that class) or `default`."""
    wanted, status = wanted.lower(), status.lower()
    if wanted == status:
        return True
    return len(wanted) == 3 == len(status) and wanted.endswith("xx") and wanted[0] == status[0]


def extension_filter(text: str | None) -> Callable[[Json], bool] | None:
    """Return a filter for `x-key` (present) or `x-key=value` (equal); None without text."""
    if not text:
        return None
    key, equals, wanted = text.partition("=")
    if not key.lower().startswith("x-"):
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"extension: {key[:80]!r} does not start with x-.",
            hint="Write x-name, or x-name=value.",
            details={"field": "extension"},
        )
    if not equals:
        return lambda value: type(value) is dict and key in value
    return lambda value: (
        type(value) is dict and key in value and format_filter_value(value[key]) == wanted
    )


def format_filter_value(value: Json) -> str:
    """Write a value as people do in a filter."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def describe_type(schema: Json) -> str:
    """Return the type of a schema as one string; several are joined: `string, null`."""
    if type(schema) is not dict:
        return ""
    declared = schema.get("type")
    if isinstance(declared, str):
        return declared
    return ", ".join(str(item) for item in declared) if isinstance(declared, list) else ""
