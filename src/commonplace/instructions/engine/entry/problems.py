"""Wording of problems: what is wrong, what is allowed, and a shortened value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from commonplace.kernel.json_types import Json

SHOWN_CHARS = 60
_TYPES = {
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question about the closest known name, or an empty text."""
    near = get_close_matches(name, sorted(known), 1, 0.7)
    return f" Did you mean {near[0]}?" if near else ""


def shown(value: Json) -> str:
    """Format a value for a message: short, and quoted if it is text."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    text = (
        {None: "null", True: "true", False: "false"}.get(value)
        if value is None or isinstance(value, bool)
        else None
    )
    text = text or (f'"{value}"' if isinstance(value, str) else str(value))
    return text if len(text) <= SHOWN_CHARS else f"{text[: SHOWN_CHARS - 1]}…"


def describe_violation(
    path: Iterable[str | int], keyword: str, schema: Mapping[str, Json], value: Json
) -> str:
    """Describe the schema rule that a value breaks; `path` leads to the rule's keyword."""
    rule = _rule(path, schema)
    limit = rule.get(keyword)
    if keyword == "enum" and isinstance(limit, list):
        return f"must be one of {', '.join(map(str, limit))}; it is {shown(value)}"
    if keyword == "type":
        wanted = limit if isinstance(limit, list) else [limit]
        return (
            f"must be {' or '.join(_TYPES.get(str(item), str(item)) for item in wanted)}; it "
            f"is {shown(value)}"
        )
    if keyword in ("minimum", "maximum"):
        low, high = rule.get("minimum"), rule.get("maximum")
        bounds = (
            f"from {low} to {high}"
            if low is not None and high is not None
            else f"at {'least' if low is not None else 'most'} {limit}"
        )
        return f"must be {bounds}; it is {shown(value)}"
    if keyword in ("minLength", "maxLength") and isinstance(value, str):
        return (
            "must not be empty"
            if keyword == "minLength"
            else f"has {len(value)} characters; at most {limit} are allowed"
        )
    if keyword == "maxItems" and isinstance(value, list):
        return f"has {len(value)} items; at most {limit} are allowed"
    return f"breaks the rule {keyword} of the schema; it is {shown(value)}"


def _rule(path: Iterable[str | int], schema: Mapping[str, Json]) -> Mapping[str, Json]:
    rule: Json = schema
    for part in path:
        rule = rule.get(part) if isinstance(rule, dict) else None
    return rule if isinstance(rule, dict) else {}
