"""The targets of actions: compiled and evaluated JSONPath queries."""

from __future__ import annotations

import re

from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import JsonObject
from commonplace.openapi.engine.overlay.json_path import PATHS, JSONPathError, JSONPathQuery
from commonplace.openapi.errors import INVALID_OVERLAY

MAX_MATCHES = 1_000_000
_DASHED = re.compile(r"\.([A-Za-z_][\w]*(?:-[\w]+)+)")
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
Location = tuple[int | str, ...]


def compile_path(text: str, index: int) -> JSONPathQuery:
    """Compile the target of an action; raises INVALID_OVERLAY."""
    try:
        return PATHS.compile(text)
    except (JSONPathError, RecursionError) as error:
        repaired = repair_path(text)
        if repaired is not None:
            return PATHS.compile(repaired)
        raise CommonplaceError(
            INVALID_OVERLAY,
            f"Action {index}: {text[:200]!r} is not a JSONPath by RFC 9535: {first_line(error)}.",
            hint="Put names with other signs than letters, digits and _ in brackets: ['x-name'].",
            details={"action_index": index, "target": text[:500]},
        ) from None


def repair_path(text: str) -> str | None:
    """Put `.x-name` in brackets, as RFC 9535 requires; None if that does not help.

    It is common in overlays, and in the examples of the specification.
    """
    quoted: list[str] = []

    def hide(found: re.Match[str]) -> str:
        quoted.append(found.group())
        return f"\0{len(quoted) - 1}\0"

    hidden = _DASHED.sub(r"['\1']", _QUOTED.sub(hide, text))
    repaired = re.sub(r"\0(\d+)\0", lambda found: quoted[int(found.group(1))], hidden)
    if repaired == text:
        return None
    try:
        PATHS.compile(repaired)
    except (JSONPathError, RecursionError):
        return None
    return repaired


def find_locations(document: JsonObject, query: JSONPathQuery, index: int) -> list[Location]:
    """Return the places that a query selects, each once; raises INVALID_OVERLAY."""
    found: dict[Location, None] = {}
    try:
        for node in query.finditer(document):
            found[tuple(node.location)] = None
            if len(found) > MAX_MATCHES:
                raise CommonplaceError(
                    INVALID_OVERLAY, f"Action {index} matches more than {MAX_MATCHES} places."
                )
    except (JSONPathError, RecursionError) as error:
        raise CommonplaceError(
            INVALID_OVERLAY,
            f"Action {index}: the target cannot be evaluated: {first_line(error)}.",
        ) from None
    return list(found)


def first_line(error: BaseException) -> str:
    """Return the first line of an error of the JSONPath library."""
    return (str(error) or type(error).__name__).splitlines()[0][:200]
