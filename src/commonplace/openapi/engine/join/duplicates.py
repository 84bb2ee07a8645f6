"""Merging of equal schemas that have several names."""

from __future__ import annotations

import orjson

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.document.references.renaming import (
    find_subtypes,
    parse_component_reference,
    rename_components,
)

_SORTED = orjson.OPT_SORT_KEYS
_MOST_ROUNDS = 50


def merge_duplicate_schemas(
    document: JsonObject, *, old: bool
) -> tuple[JsonObject, dict[str, str]]:
    """Merge equal component schemas under the alphabetically first name.

    Returns the document, and the removed names with their replacements. References follow. Schemas
    that a discriminator distinguishes by name are kept.
    """
    section = "definitions" if old else "schemas"
    removed: dict[str, str] = {}
    for _ in range(_MOST_ROUNDS):  # schemas may become equal once what they refer to has become one
        container = document if old else document.get("components")
        schemas = container.get(section) if isinstance(container, dict) else None
        if not isinstance(schemas, dict):
            break
        found = _find_duplicates(schemas, _find_discriminated(document, schemas, old=old))
        if not found:
            break
        kept = {name: schema for name, schema in schemas.items() if name not in found}
        document = (
            {**document, section: kept}
            if old
            else {**document, "components": {**document["components"], section: kept}}
        )
        document = rename_components(document, {section: found}, old=old)
        removed = {name: found.get(target, target) for name, target in removed.items()} | found
    return document, removed


def _find_duplicates(schemas: JsonObject, apart: set[str]) -> dict[str, str]:
    """Return the names whose schema equals that of an earlier name."""
    first: dict[bytes, str] = {}
    found: dict[str, str] = {}
    for name in sorted(schemas):
        schema = schemas[name]
        if not isinstance(schema, dict) or not schema or name in apart:
            continue
        key = orjson.dumps(schema, option=_SORTED)
        if first.setdefault(key, name) != name:
            found[name] = first[key]
    return found


def _find_discriminated(document: Json, schemas: Json, *, old: bool) -> set[str]:
    """Return the schemas whose names are values of a discriminator.

    These are branches beside a discriminator, and subtypes of a schema that has one.
    """
    names: set[str] = set()
    children = find_subtypes(schemas, old=old)
    for name, schema in schemas.items() if isinstance(schemas, dict) else ():
        if isinstance(schema, dict) and "discriminator" in schema:
            names |= children.get(name, set())
    stack = [document]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            if "discriminator" in node:
                branches = [
                    branch
                    for union in ("oneOf", "anyOf")
                    for branch in (node[union] if isinstance(node.get(union), list) else ())
                    if isinstance(branch, dict)
                ]
                names.update(
                    found[1]
                    for branch in branches
                    if (found := parse_component_reference(branch.get("$ref"), old=old)) is not None
                )
            stack.extend(value for value in node.values() if isinstance(value, (dict, list)))
        elif isinstance(node, list):
            stack.extend(value for value in node if isinstance(value, (dict, list)))
    return names
