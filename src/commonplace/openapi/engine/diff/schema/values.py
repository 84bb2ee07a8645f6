"""JSON values and the plainest schemas, as comparison tells them apart."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import orjson

from commonplace.kernel.json_types import Json


def type_name(value: Json) -> str:
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
    name = type_name(value)
    return name in types or (name == "integer" and "number" in types)


def canonical(value: Json) -> bytes:
    """A value's identity: 1 and 1.0 are one, the order of keys does not count."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError):
        return repr(value).encode()


def among(value: Json, values: list[Json]) -> bool:
    key = canonical(value)
    return any(canonical(other) == key for other in values)


def refuses_all(schema: Json) -> bool:
    return schema is False or (
        isinstance(schema, dict)
        and schema.get("not") in ({}, True)
        and isinstance(schema["not"], (dict, bool))
    )


def only_null(schema: Json) -> bool:
    if not isinstance(schema, dict):
        return False
    return (
        schema.get("type") in ("null", ["null"])
        or schema.get("enum") == [None]
        or ("const" in schema and schema["const"] is None)
    )


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def multiples_rule(
    old: Iterable[float], new: Iterable[float], *, old_whole: bool, new_whole: bool
) -> str | None:
    """The rule that a change of multipleOf comes under; None where the same numbers fit.

    `whole`: only integers are allowed.
    """
    before, after = _step(old, old_whole), _step(new, new_whole)
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


def _step(multiples: Iterable[float], whole: bool) -> Fraction | None:
    """The smallest positive number that fits all; None where any number fits."""
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
