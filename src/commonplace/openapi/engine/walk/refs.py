"""Walks over references: targets with their number of uses, or every place that uses one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from commonplace.openapi.engine.document.nodes import RefNode
from commonplace.openapi.engine.document.patterns import extension_filter, match_glob
from commonplace.openapi.engine.pointers import lookup_pointer
from commonplace.openapi.engine.walk.query import WalkResult
from commonplace.openapi.engine.walk.rows import RefRow
from commonplace.openapi.engine.walk.walker import RowFormat, Walker, rank


@dataclass(frozen=True, slots=True)
class RefFilter:
    """Which references to list; unset fields match all."""

    target: str | None = None
    node_type: str | None = None


def walk_refs(walker: Walker, where: RefFilter) -> WalkResult[RefRow]:
    """List targets of references; with details or groups, the references themselves."""
    nodes, query = walker.index.refs, walker.query
    kind = where.node_type.lower() if where.node_type else None
    matched = [
        node
        for node in nodes
        if (not where.target or match_glob(where.target, node.ref))
        and (kind is None or node.node_type.lower() == kind)
    ]
    if query.extension:
        extension = extension_filter(query.extension)
        holders = {id(node.place): node for node in matched}
        matched = [
            node
            for node in holders.values()
            if extension is not None
            and extension(lookup_pointer(walker.document.data, node.place.pointer))
        ]
    if not query.detail and not query.group_by:
        counts = rank(Counter(node.ref for node in matched))
        total = len({node.ref for node in nodes})
        page = [RefRow(ref, count) for ref, count in query.page(counts)]
        return WalkResult(total, len(counts), "summaries", page)

    def detail(node: RefNode) -> RefRow:
        value = walker.resolve({"$ref": node.ref}) if query.resolve_refs else None
        return RefRow(
            node.ref, source_path=node.place.json_path, node_type=node.node_type, value=value
        )

    keys = {"node_type": lambda node: (node.node_type,)}
    rows: RowFormat[RefNode, RefRow] = RowFormat(lambda node: RefRow(node.ref), detail, keys)
    return walker.answer(len(nodes), matched, rows)
