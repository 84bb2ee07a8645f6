"""Broken API descriptions by the thousand: real ones with a few places changed, and trees of
OpenAPI words put together at random.
"""

from __future__ import annotations

import random
from copy import deepcopy
from typing import Any

ODD: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    "",
    "x",
    "#/paths",
    "#",
    "#/components/schemas/Pet",
    [],
    {},
    [[]],
    {"$ref": "#"},
    {"$ref": 1},
    {"$ref": "#/a/~2"},
    2**70,
    "\ud800",
)
_WORDS = (
    *(
        "paths",
        "components",
        "schemas",
        "responses",
        "parameters",
        "headers",
        "securitySchemes",
        "definitions",
        "webhooks",
        "callbacks",
    ),
    *(
        "/a/{id}",
        "get",
        "post",
        "200",
        "default",
        "content",
        "application/json",
        "schema",
        "requestBody",
        "name",
        "in",
        "examples",
    ),
    *(
        "properties",
        "items",
        "allOf",
        "oneOf",
        "anyOf",
        "type",
        "enum",
        "required",
        "discriminator",
        "mapping",
        "$ref",
        "additionalProperties",
    ),
    *(
        "security",
        "servers",
        "url",
        "tags",
        "operationId",
        "style",
        "explode",
        "format",
        "nullable",
        "minimum",
        "x-a",
        "$id",
        "$anchor",
    ),
)
_LEAVES = (
    *ODD[:-2],
    *(
        "string",
        "object",
        "array",
        "path",
        "query",
        "id",
        "simple",
        "deepObject",
        "int64",
        "binary",
        "date-time",
    ),
    *(
        "#/components/schemas/a",
        "#/paths/~1a~1{id}/get",
        "#/definitions/default",
        "other.yaml#/a",
        "http://127.0.0.1:9/x",
    ),
)


def nodes(value: Any) -> list[tuple[Any, Any]]:
    """Every place of a tree, as holder and key."""
    found, stack = [], [value]
    while stack:
        node = stack.pop()
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            found.append((node, key))
            if isinstance(node[key], (dict, list)):
                stack.append(node[key])
    return found


def mutate(value: Any, chooser: random.Random) -> Any:
    """A copy with one to four places changed."""
    changed = deepcopy(value)
    for _ in range(chooser.randint(1, 4)):
        places = nodes(changed)
        holder, key = chooser.choice(places)
        way = chooser.random()
        if way < 0.6:
            holder[key] = deepcopy(chooser.choice(ODD))
        elif way < 0.8 and isinstance(holder, dict):
            holder[
                chooser.choice(
                    [
                        "$ref",
                        "type",
                        "allOf",
                        "properties",
                        "parameters",
                        "x-a",
                        "",
                        "get",
                        "schema",
                    ]
                )
            ] = holder[key]
        else:
            other, there = chooser.choice(places)
            holder[key] = (
                deepcopy(other[there])
                if there in other or (isinstance(other, list) and there < len(other))
                else None
            )
    return changed


def random_tree(chooser: random.Random, depth: int = 8) -> Any:
    """A tree of OpenAPI words that means nothing."""
    way = chooser.random()
    if depth == 0 or way < 0.25:
        return deepcopy(chooser.choice(_LEAVES))
    if way < 0.4:
        return [random_tree(chooser, depth - 1) for _ in range(chooser.randint(0, 3))]
    return {
        chooser.choice(_WORDS): random_tree(chooser, depth - 1)
        for _ in range(chooser.randint(0, 5))
    }


def random_document(chooser: random.Random) -> dict[str, Any]:
    """Such a tree under the root of a description of some version."""
    version = chooser.choice(
        [{"swagger": "2.0"}, {"openapi": "3.0.3"}, {"openapi": "3.1.0"}, {"openapi": "3.2.0"}]
    )
    parts = {chooser.choice(_WORDS[:9]): random_tree(chooser) for _ in range(4)}
    return {**version, "info": {"title": "t", "version": "1"}, **parts}
