"""The graph of instructions and categories: schema 1 and 2, as JSON, DOT and Mermaid, always in the same order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from commonplace.instructions.model import Instruction

EDGE_TYPES = ("primary", "category", "belongs")
_UNSAFE = re.compile(r"[^A-Za-z0-9_]")
_THEME = (
    ("primaryColor", "#1e3a8a"),
    ("primaryTextColor", "#ffffff"),
    ("lineColor", "#94a3b8"),
    ("secondaryColor", "#334155"),
    ("tertiaryColor", "#0f172a"),
    ("noteBkgColor", "#f1f5f9"),
    ("noteTextColor", "#0f172a"),
)


@dataclass(frozen=True, slots=True)
class GraphOptions:
    edge_types: frozenset[str] | None = None
    max_edges: int | None = None
    enrich: bool = False
    category_nodes: bool = False
    usage: Callable[[str], int] | None = None
    primary_edges: bool = True
    category_cap: int | None = None

    @property
    def explicit_categories(self) -> bool:
        return self.enrich and self.category_nodes


def build(entries: Sequence[Instruction], options: GraphOptions) -> dict[str, Any]:
    """Meta, nodes and edges. Entries come sorted by id."""
    notes: list[str] = []
    members: dict[str, list[str]] = {}
    for entry in entries:
        for category in entry.document["categories"]:
            members.setdefault(category, []).append(entry.id)
    edges: list[dict[str, Any]] = []
    truncated = False
    for edge in _edges(entries, members, options, notes):
        if options.max_edges is not None and len(edges) >= options.max_edges:
            truncated = True
            break
        edges.append(edge)
    nodes = [_node(entry, options) for entry in entries]
    if options.explicit_categories:
        nodes += [{"id": f"category:{category}", "nodeType": "category"} for category in sorted(members)]
    meta: dict[str, Any] = {"graphSchemaVersion": 2 if options.enrich else 1, "nodeCount": len(nodes), "edgeCount": len(edges)}
    if truncated:
        meta["truncated"] = True
    if notes:
        meta["notes"] = notes
    return {"meta": meta, "nodes": nodes, "edges": edges}


def _node(entry: Instruction, options: GraphOptions) -> dict[str, Any]:
    if not options.enrich:
        node: dict[str, Any] = {"id": entry.id}
    else:
        document = entry.document
        node = {"id": entry.id, "nodeType": "instruction", "categories": document["categories"], "primaryCategory": document["primaryCategory"]}
        for field in ("priority", "priorityTier", "requirement", "owner", "status", "createdAt", "updatedAt"):
            node[field] = document[field]
    if options.usage is not None:
        node["usageCount"] = options.usage(entry.id)
    return node


def _edges(
    entries: Sequence[Instruction], members: dict[str, list[str]], options: GraphOptions, notes: list[str]
) -> Iterable[dict[str, Any]]:
    """Primary edges, then pairs that share a category, then membership; each filtered as it comes, so a cap costs nothing beyond it."""
    weight: dict[str, Any] = {"weight": 1} if options.enrich else {}
    prefix = "category:" if options.explicit_categories else ""

    def wanted(kind: str) -> bool:
        return options.edge_types is None or kind in options.edge_types

    if options.primary_edges and wanted("primary"):
        for entry in entries:
            yield {"from": entry.id, "to": prefix + entry.document["primaryCategory"], "type": "primary", **weight}
    if wanted("category"):
        for category in sorted(members):
            ids = members[category]
            if options.category_cap is not None and len(ids) > options.category_cap:
                notes.append(f"skipped pairwise edges of category {category}: {len(ids)} members exceed the cap of {options.category_cap}")
                continue
            for one, other in combinations(ids, 2):
                yield {"from": one, "to": other, "type": "category", **weight}
    if options.enrich and wanted("belongs") and (options.category_nodes or options.edge_types is not None):
        for entry in entries:
            for category in entry.document["categories"]:
                yield {"from": entry.id, "to": prefix + category, "type": "belongs", **weight}


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def to_dot(graph: dict[str, Any]) -> str:
    lines = ["graph Instructions {"]
    lines += [f"  {_quoted(node['id'])};" for node in graph["nodes"]]
    lines += [f"  {_quoted(edge['from'])} -- {_quoted(edge['to'])} [label={_quoted(edge['type'])}];" for edge in graph["edges"]]
    return "\n".join([*lines, "}"]) + "\n"


def to_mermaid(graph: dict[str, Any], generated_at: str) -> str:
    """Front matter, then `flowchart TB`. Every end of an edge is declared as a node; names that Mermaid cannot hold get a suffix."""
    version = graph["meta"]["graphSchemaVersion"]
    names: dict[str, str] = {}
    taken: set[str] = set()
    ends = (end for edge in graph["edges"] for end in (edge["from"], edge["to"]))
    for identity in dict.fromkeys([*(node["id"] for node in graph["nodes"]), *ends]):
        name = base = _UNSAFE.sub("_", identity)
        suffix = 2
        while name in taken or name.lower() == "end":  # `end` closes a block in Mermaid
            name, suffix = f"{base}_{suffix}", suffix + 1
        taken.add(name)
        names[identity] = name
    lines = [
        "---",
        "title: Instruction Catalog Graph",
        f"description: Deterministic instruction relationship graph (schema v{version}{' enriched' if version == 2 else ''})",
        "config:",
        "  theme: base",
        "  themeVariables:",
        *(f"    {key}: '{colour}'" for key, colour in _THEME),
        "meta:",
        f"  schemaVersion: {version}",
        f"  generatedAt: {generated_at}",
        "---",
        "flowchart TB",
    ]
    lines += [f'  {name}["{identity}"]' for identity, name in names.items()]
    lines += [f"  {names[edge['from']]} ---|{edge['type']}| {names[edge['to']]}" for edge in graph["edges"]]
    return "\n".join(lines) + "\n"
