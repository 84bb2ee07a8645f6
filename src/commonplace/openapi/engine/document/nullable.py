"""The meaning of `nullable` in 3.0 and `x-nullable` in 2.0: null is allowed.

By 3.0.3 `nullable` extends `type` only: an enum, a oneOf or a part of an allOf without null would
still refuse it. Published documents mean otherwise, so comparison, conversion and the validation of
examples accept null.
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
    """Tell whether a part of an allOf only allows null, perhaps beside a type."""
    if not isinstance(part, dict) or (
        part.get("nullable") is not True and part.get("x-nullable") is not True
    ):
        return False
    return all(key in ANNOTATIONS or key == "type" or key.startswith("x-") for key in part)


def has_nullable_part(parts: list[Json]) -> bool:
    """Tell whether a part makes an allOf nullable: `allOf: [X, {nullable: true}]`."""
    return len(parts) > 1 and any(map(is_only_nullable, parts))
