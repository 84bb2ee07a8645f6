"""How `nullable` of 2.0 (`x-nullable`) and 3.0 is read: null is allowed where the author says so.

3.0.3 lets `nullable` widen `type` only, so that an enum, a oneOf or a part of an allOf that leaves
null out would still refuse it. Published documents mean otherwise, so comparison, conversion and
the check of examples all admit null.
"""

from __future__ import annotations

from commonplace.kernel.json_types import Json

ANNOTATIONS = frozenset(
    [
        "title",
        "description",
        "default",
        "deprecated",
        "readOnly",
        "writeOnly",
        "example",
        "examples",
        "externalDocs",
        "xml",
        "discriminator",
        "nullable",
    ]
)


def is_only_nullable(part: Json) -> bool:
    """Whether a part of an allOf says nothing but that null is allowed, and perhaps a type."""
    if not isinstance(part, dict) or (
        part.get("nullable") is not True and part.get("x-nullable") is not True
    ):
        return False
    return all(key in ANNOTATIONS or key == "type" or key.startswith("x-") for key in part)


def has_nullable_part(parts: list[Json]) -> bool:
    """Whether an allOf has a part that makes the whole nullable: `allOf: [X, {nullable: true}]`."""
    return len(parts) > 1 and any(map(is_only_nullable, parts))
