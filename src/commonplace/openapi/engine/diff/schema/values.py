"""Properties of JSON values and of trivial schemas that comparison needs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import TypeGuard

import orjson

from commonplace.kernel.json_types import Json


def type_name(value: Json) -> str:
    """Return the JSON Schema type of a value; whole numbers are integers."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, (int, float)):
        return "integer" if isinstance(value, int) or float(value).is_integer() else "number"
    return "array" if isinstance(value, list) else "object"


def fits(types: frozenset[str], value: Json) -> bool:
    """Tell whether a value has one of the types."""
    name = type_name(value)
    return name in types or (name == "integer" and "number" in types)


def canonical(value: Json) -> bytes:
    """Return a key that equal values share: 1 equals 1.0, the order of keys does not matter."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError):
        return repr(value).encode()


def is_among(value: Json, values: list[Json]) -> bool:
    """Tell whether a value equals one of several."""
    key = canonical(value)
    return any(canonical(other) == key for other in values)


def refuses_all(schema: Json) -> bool:
    """Tell whether a schema is `false` or `not: {}`."""
    return schema is False or (
        isinstance(schema, dict)
        and schema.get("not") in ({}, True)
        and isinstance(schema["not"], (dict, bool))
    )


def only_null(schema: Json) -> bool:
    """Tell whether a schema accepts null and nothing else."""
    if not isinstance(schema, dict):
        return False
    return (
        schema.get("type") in ("null", ["null"])
        or schema.get("enum") == [None]
        or ("const" in schema and schema["const"] is None)
    )


def is_number(value: object) -> TypeGuard[int | float]:
    """Tell whether a value is a JSON number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def find_multiples_rule(
    old: Iterable[float], new: Iterable[float], *, old_whole: bool, new_whole: bool
) -> str | None:
    """Return the rule for a change of multipleOf, or None if the same numbers are valid.

    `old_whole` and `new_whole`: only integers are allowed.
    """
    before, after = _common_step(old, old_whole), _common_step(new, new_whole)
    if before == after:
        return None
    narrowed = before is None or (after is not None and (after / before).denominator == 1)
    widened = after is None or (before is not None and (before / after).denominator == 1)
    return (
        "multiple-of-narrowed"
        if narrowed
        else "multiple-of-widened"
        if widened
        else "multiple-of-changed"
    )


def _common_step(multiples: Iterable[float], whole: bool) -> Fraction | None:
    """Return the least common multiple of all steps; None if any number is valid."""
    steps = [Fraction(str(value)) for value in multiples if value > 0 and math.isfinite(value)]
    steps += [Fraction(1)] if whole else []
    if not steps:
        return None
    found = steps[0]
    for step in steps[1:]:
        found = Fraction(
            math.lcm(found.numerator, step.numerator), math.gcd(found.denominator, step.denominator)
        )
    return found
