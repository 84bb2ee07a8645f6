"""Merging of the parts of a schema into one view: all of them must hold."""

from __future__ import annotations

import math

from commonplace.kernel.json_types import JsonObject
from commonplace.openapi.engine.diff.schema.model import (
    SchemaChoice,
    SchemaSite,
    SchemaView,
)
from commonplace.openapi.engine.diff.schema.values import (
    fits,
    is_among,
    only_null,
    type_name,
)

NULL_SCHEMA: JsonObject = {"type": "null"}


def allow_null(view: SchemaView) -> None:
    """Make every constraint of a view accept null."""
    if view.types is not None:
        view.types |= {"null"}
    if view.enum is not None and None not in view.enum:
        view.enum = [*view.enum, None]
    for position, (branches, exclusive) in enumerate(view.choices):
        if not any(only_null(branch.schema) for branch in branches):
            null = SchemaSite(NULL_SCHEMA, view.site.at("null"), view.site.base)
            view.choices[position] = SchemaChoice([*branches, null], exclusive)


def conjoin(view: SchemaView, other: SchemaView) -> None:
    """Add the constraints of another view: both must hold."""
    if other.types is not None:
        view.types = (
            other.types if view.types is None else _intersect_types(view.types, other.types)
        )
    if other.enum is not None:
        view.enum = (
            other.enum
            if view.enum is None
            else [value for value in view.enum if is_among(value, other.enum)]
        )
    for own, added, sign in ((view.lower, other.lower, 1), (view.upper, other.upper, -1)):
        for group, limit in added.items():
            own[group] = max(
                own.get(group, limit), limit, key=lambda entry: (sign * entry[0], entry[1])
            )
    for name, site in other.properties.items():
        known = view.properties.get(name)
        view.properties[name] = site if known is None else _join_sites(known, site)
    for name, pointer in other.required.items():
        view.required.setdefault(name, pointer)
    view.closed = view.closed or other.closed
    view.additional = (
        _join_sites(view.additional, other.additional)
        if view.additional and other.additional
        else view.additional or other.additional
    )
    view.items = (
        _join_sites(view.items, other.items)
        if view.items and other.items
        else view.items or other.items
    )
    view.unique = view.unique or other.unique
    view.patterns |= other.patterns
    view.formats |= other.formats
    view.multiples |= other.multiples
    view.choices += [choice for choice in other.choices if choice not in view.choices]
    view.discriminator = view.discriminator or other.discriminator
    view.mapping = {**other.mapping, **view.mapping}
    view.undecided = {**other.undecided, **view.undecided}
    if other.has_default and not view.has_default:
        view.default, view.has_default = other.default, True
    view.description = view.description if view.description is not None else other.description
    view.deprecated = view.deprecated or other.deprecated
    view.read_only = view.read_only or other.read_only
    view.write_only = view.write_only or other.write_only
    view.nothing = view.nothing or other.nothing


def _join_sites(first: SchemaSite, second: SchemaSite) -> SchemaSite:
    """Combine what two parts of an allOf say about the same place, without repetition."""
    parts = [first, *first.also]
    known = {_identify(part) for part in parts}
    for part in (second._replace(also=()), *second.also):
        name = _identify(part)
        if name in known or part.schema in (True, {}):
            continue
        known.add(name)
        if isinstance(name[0], str) or all(
            (part.schema, part.base) != (other.schema, other.base) for other in parts
        ):
            parts.append(part)
    return first if len(parts) == 1 + len(first.also) else first._replace(also=tuple(parts[1:]))


def _identify(site: SchemaSite) -> tuple[str | int, str]:
    """Identify a reference by its target, anything else by the object itself."""
    schema = site.schema
    if isinstance(schema, dict) and len(schema) == 1 and isinstance(ref := schema.get("$ref"), str):
        return ref, site.base
    return id(schema), site.base


def normalize_view(view: SchemaView) -> None:
    """Drop constraints without effect, so that equal meanings become equal views."""
    if view.types is not None and "number" in view.types:
        view.types -= {"integer"}
    if view.types is not None and view.types <= {"integer", "null"}:
        for table, sign in ((view.lower, 1), (view.upper, -1)):
            if "value" in table and math.isfinite(table["value"][0]):
                value, exclusive = table["value"]
                whole = math.ceil(value * sign)
                table["value"] = (
                    (whole + 1 if exclusive and whole == value * sign else whole) * sign,
                    False,
                )
    for group, kind in (
        ("Length", "string"),
        ("Items", "array"),
        ("Properties", "object"),
        ("value", "number"),
    ):
        if not view.allows(kind) and not (kind == "number" and view.allows("integer")):
            view.lower.pop(group, None)
            view.upper.pop(group, None)
    if view.enum is not None:
        if view.types is not None:
            view.enum = [value for value in view.enum if fits(view.types, value)]
        view.types = frozenset(type_name(value) for value in view.enum)
        view.lower, view.upper, view.unique = {}, {}, False


def _intersect_types(first: frozenset[str], second: frozenset[str]) -> frozenset[str]:
    both = first & second
    if ("integer" in first and "number" in second) or ("integer" in second and "number" in first):
        both |= {"integer"}
    return both
