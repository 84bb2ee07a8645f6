"""Branches of a choice as the variants of a union."""

from __future__ import annotations

from commonplace.kernel.json_types import Json, JsonArray
from commonplace.openapi.engine.generate.annotations import last_token
from commonplace.openapi.engine.generate.merge import Choice, is_null
from commonplace.openapi.engine.generate.model import (
    ListOf,
    MapOf,
    NamedType,
    Primitive,
    Type,
    Union,
    Variant,
)


def flatten_choice(choice: Choice) -> JsonArray:
    """Return the branches; those of a choice directly inside a choice too."""
    flat: JsonArray = []
    for branch in choice.branches:
        inner = (
            branch.get("oneOf", branch.get("anyOf"))
            if isinstance(branch, dict) and len(branch) == 1
            else None
        )
        if isinstance(inner, list):
            flat.extend(branch for branch in inner if not is_null(branch))
        else:
            flat.append(branch)
    return flat


def name_branch(branch: Json, index: int) -> str:
    """Return a name for a branch: its reference, title or type."""
    if isinstance(branch, dict):
        if isinstance(branch.get("$ref"), str):
            return last_token(branch["$ref"])
        title = branch.get("title")
        if (
            isinstance(title, str)
            and 0 < len(title) <= 40
            and any(char.isalnum() for char in title)
        ):
            return title
        kind = branch.get("type")
        if isinstance(kind, list):
            kind = next((name for name in kind if name != "null"), None)
        if isinstance(kind, str) and kind != "object":
            return kind
    return f"variant {index + 1}"


def merge_equal_variants(union: Union) -> None:
    """Make one variant of branches with the same type, such as several kinds of text."""
    kept: list[Variant] = []
    for variant in union.variants:
        twin = next(
            (other for other in kept if _is_same_type(other.use.type, variant.use.type)), None
        )
        if twin is None:
            kept.append(variant)
        else:
            twin.schema = {
                "anyOf": [
                    *(twin.schema["anyOf"] if set(twin.schema) == {"anyOf"} else [twin.schema]),
                    variant.schema,
                ]
            }
            twin.discriminators.extend(variant.discriminators)
    union.variants = kept


def _is_same_type(left: Type, right: Type) -> bool:
    if isinstance(left, NamedType) and isinstance(right, NamedType):
        return left.declaration is right.declaration
    if isinstance(left, ListOf) and isinstance(right, ListOf):
        return _is_same_type(left.item.type, right.item.type)
    if isinstance(left, MapOf) and isinstance(right, MapOf):
        return _is_same_type(left.value.type, right.value.type)
    return isinstance(left, Primitive) and left == right
