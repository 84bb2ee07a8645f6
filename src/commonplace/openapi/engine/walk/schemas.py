"""Walks over schemas, named and nested."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.openapi.engine.document.index import DocumentIndex
from commonplace.openapi.engine.document.nodes import ROOT, NodePlace, SchemaNode
from commonplace.openapi.engine.document.patterns import describe_type, match_glob
from commonplace.openapi.engine.walk.query import WalkResult
from commonplace.openapi.engine.walk.rows import SchemaRow
from commonplace.openapi.engine.walk.walker import (
    RowFormat,
    Walker,
    read_strings,
    read_text,
)


@dataclass(frozen=True, slots=True)
class SchemaFilter:
    """Which schemas to list; unset fields match all."""

    name: str | None = None
    type: str | None = None
    component: bool = False  # inside components or definitions
    inline: bool = False  # outside of them
    named: bool = False  # the components themselves, without nested schemas


def walk_schemas(walker: Walker, where: SchemaFilter) -> WalkResult[SchemaRow]:
    """List schemas by name, type or place."""
    if where.component and where.inline:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            "component and inline exclude each other.",
            hint="Pass one of them.",
        )
    nodes = walker.index.schemas
    wanted = where.type.lower() if where.type else None
    matched = walker.select(
        _find_by_name(walker.index, where.name) if where.name else nodes,
        lambda node: node.schema,
        (lambda node: node.scope.component) if where.component else None,
        (lambda node: not node.scope.component) if where.inline else None,
        (lambda node: _is_component(node.place)) if where.named else None,
        (lambda node: describe_type(node.schema).lower() == wanted) if wanted else None,
    )

    def summarise(node: SchemaNode) -> SchemaRow:
        schema = walker.follow(node.schema)
        properties = schema.get("properties")
        place = node.place.json_path
        return SchemaRow(
            node.name or place,
            place,
            node.scope.component,
            type=describe_type(schema),
            property_count=len(properties) if type(properties) is dict else 0,
            required=read_strings(schema.get("required")),
            ref=read_text(node.schema.get("$ref")),
        )

    def detail(node: SchemaNode) -> SchemaRow:
        place = node.place.json_path
        schema = walker.resolve(node.schema)
        return SchemaRow(node.name or place, place, node.scope.component, schema=schema)

    rows: RowFormat[SchemaNode, SchemaRow] = RowFormat(
        summarise,
        detail,
        {
            "type": lambda node: (describe_type(node.schema) or "(untyped)",),
            "location": lambda node: ("component" if node.scope.component else "inline",),
        },
    )
    return walker.answer(len(nodes), matched, rows)


def _find_by_name(index: DocumentIndex, pattern: str) -> list[SchemaNode]:
    """Return the schemas whose name matches a pattern, in document order.

    The pattern is tried on distinct names, of which there are far fewer than schemas.
    """
    positions_by_name: dict[str, list[int]] | None = index.memo.get("schema names")
    if positions_by_name is None:
        positions_by_name = {}
        for position, node in enumerate(index.schemas):
            if node.name:
                positions_by_name.setdefault(node.name, []).append(position)
        index.memo["schema names"] = positions_by_name
    positions = [
        position
        for name, known in positions_by_name.items()
        if match_glob(pattern, name)
        for position in known
    ]
    return [index.schemas[position] for position in sorted(positions)]


def _is_component(place: NodePlace) -> bool:
    """Tell whether a schema is a direct member of components.schemas or definitions."""
    above = place.parent
    if (
        above is not None
        and above.step == "schemas"
        and above.parent is not None
        and above.parent.step == "components"
    ):
        return above.parent.parent == ROOT
    return above is not None and above.step == "definitions" and above.parent == ROOT
