"""Graph of instructions and categories (schema 1 and 2) as JSON, DOT and Mermaid.

The order of nodes and edges is deterministic.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import orjson

from commonplace.instructions.model import Instruction
from commonplace.kernel.json_types import JsonObject
from commonplace.kernel.tokens import count_tokens

Graph = JsonObject  # a document of the schema: meta, nodes, edges
MIN_GRAPH_TOKENS = 500
EDGE_TYPES = ("primary", "category", "belongs")
# Keywords of flowcharts: as the id of a node they break the parser of some Mermaid version.
MERMAID_WORDS = frozenset(
    {
        "end",
        "style",
        "graph",
        "subgraph",
        "class",
        "click",
        "flowchart",
        "href",
        "call",
        "callback",
        "interpolate",
        "default",
        "linkstyle",
        "classdef",
        "direction",
        "acctitle",
        "accdescr",
        "_self",
        "_blank",
        "_parent",
        "_top",
    }
)
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
    """Which edges and node fields a graph has."""

    edge_types: frozenset[str] | None = None
    max_edges: int | None = None
    enrich: bool = False
    category_nodes: bool = False
    usage: Callable[[str], int] | None = None
    primary_edges: bool = True
    category_cap: int | None = None

    @property
    def explicit_categories(self) -> bool:
        """Tell whether categories are nodes."""
        return self.enrich and self.category_nodes


def build(entries: Sequence[Instruction], options: GraphOptions) -> JsonObject:
    """Build a graph of entries, which are sorted by id."""
    members: dict[str, list[str]] = {}
    for entry in entries:
        for category in entry.document["categories"]:
            members.setdefault(category, []).append(entry.id)
    edges: list[JsonObject] = []
    truncated = False
    for edge in _edges(entries, members, options):
        if options.max_edges is not None and len(edges) >= options.max_edges:
            truncated = True
            break
        edges.append(edge)
    nodes = [_node(entry, options) for entry in entries]
    if options.explicit_categories:
        nodes += [
            {"id": f"category:{category}", "nodeType": "category"} for category in sorted(members)
        ]
    meta: JsonObject = {
        "graphSchemaVersion": 2 if options.enrich else 1,
        "nodeCount": len(nodes),
        "edgeCount": len(edges),
    }
    if truncated:
        meta["truncated"] = True
    notes = _cap_notes(members, options)
    if notes:
        meta["notes"] = notes
    return {"meta": meta, "nodes": nodes, "edges": edges}


def build_within(
    entries: Sequence[Instruction],
    options: GraphOptions,
    draw: Callable[[Graph], Graph],
    budget: int,
) -> Graph:
    """Build and draw a graph of at most `budget` tokens.

    It has the first instructions by id and edges among them; `meta.notes` says what is missing.
    """
    room = budget
    while True:
        graph = draw(_build_about(entries, options, room))
        if _count(graph) <= budget or room < MIN_GRAPH_TOKENS:
            return graph
        room = room * 3 // 4


def _build_about(entries: Sequence[Instruction], options: GraphOptions, room: int) -> Graph:
    """Build a graph whose nodes and edges take about half of `room` tokens each."""
    shown = entries[: _count_within((_node(entry, options) for entry in entries), room // 2)]
    graph = build(shown, options)
    kept = _count_within(graph["edges"], room // 2)
    if len(shown) == len(entries) and kept == len(graph["edges"]):
        return graph
    note = (
        f"shown: {len(shown)} of {len(entries)} instructions, {kept} of "
        f"{count_edges(entries, options)} edges, to keep the answer short; "
        "full: true gives all, includeEdgeTypes and maxEdges fewer edges"
    )
    meta = {
        **graph["meta"],
        "edgeCount": kept,
        "truncated": True,
        "notes": [*graph["meta"].get("notes", ()), note],
    }
    return {**graph, "meta": meta, "edges": graph["edges"][:kept]}


def _count_within(values: Iterable[JsonObject], room: int) -> int:
    count = 0
    for value in values:
        room -= _count(value) + 1
        if room < 0:
            break
        count += 1
    return count


def _count(value: JsonObject) -> int:
    return count_tokens(orjson.dumps(value).decode())


def count_edges(entries: Sequence[Instruction], options: GraphOptions) -> int:
    """Count the edges of a complete graph, without building them."""
    sizes: dict[str, int] = {}
    for entry in entries:
        for category in entry.document["categories"]:
            sizes[category] = sizes.get(category, 0) + 1
    count = len(entries) if options.primary_edges and _includes("primary", options) else 0
    if _includes("category", options):
        count += sum(
            size * (size - 1) // 2
            for size in sizes.values()
            if options.category_cap is None or size <= options.category_cap
        )
    if _has_belongs_edges(options):
        count += sum(sizes.values())
    return count if options.max_edges is None else min(count, options.max_edges)


def _has_belongs_edges(options: GraphOptions) -> bool:
    return (
        options.enrich
        and _includes("belongs", options)
        and (options.category_nodes or options.edge_types is not None)
    )


def _node(entry: Instruction, options: GraphOptions) -> JsonObject:
    if not options.enrich:
        node: JsonObject = {"id": entry.id}
    else:
        document = entry.document
        node = {
            "id": entry.id,
            "nodeType": "instruction",
            "categories": document["categories"],
            "primaryCategory": document["primaryCategory"],
        }
        for field in (
            "priority",
            "priorityTier",
            "requirement",
            "owner",
            "status",
            "createdAt",
            "updatedAt",
        ):
            node[field] = document[field]
    if options.usage is not None:
        node["usageCount"] = options.usage(entry.id)
    return node


def _edges(
    entries: Sequence[Instruction], members: dict[str, list[str]], options: GraphOptions
) -> Iterable[JsonObject]:
    """Yield edges in order of both ends and type, one instruction at a time."""
    prefix = "category:" if options.explicit_categories else ""
    weight: JsonObject = {"weight": 1} if options.enrich else {}
    primary = options.primary_edges and _includes("primary", options)
    category = _includes("category", options)
    belongs = _has_belongs_edges(options)
    for entry in entries:
        ends: list[tuple[str, int]] = []
        if primary:
            ends.append((prefix + entry.document["primaryCategory"], 0))
        for name in entry.document["categories"]:
            ids = members[name]
            if category and (options.category_cap is None or len(ids) <= options.category_cap):
                ends += [(other, 1) for other in ids[bisect_right(ids, entry.id) :]]
            if belongs:
                ends.append((prefix + name, 2))
        for end, kind in sorted(ends):
            yield {"from": entry.id, "to": end, "type": EDGE_TYPES[kind], **weight}


def _includes(kind: str, options: GraphOptions) -> bool:
    return options.edge_types is None or kind in options.edge_types


def _cap_notes(members: dict[str, list[str]], options: GraphOptions) -> list[str]:
    cap = options.category_cap
    if cap is None or not _includes("category", options):
        return []
    return [
        f"skipped pairwise edges of category {name}: {len(ids)} members exceed the cap of {cap}"
        for name, ids in sorted(members.items())
        if len(ids) > cap
    ]


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def draw(graph: Graph, format_: str, generated_at: str) -> Graph:
    """Add a DOT or Mermaid drawing, if requested."""
    if format_ == "dot":
        return {**graph, "dot": to_dot(graph)}
    return {**graph, "mermaid": to_mermaid(graph, generated_at)} if format_ == "mermaid" else graph


def to_dot(graph: Graph) -> str:
    """Draw a graph in DOT."""
    lines = ["graph Instructions {"]
    lines += [f"  {_quote(node['id'])};" for node in graph["nodes"]]
    lines += [
        f"  {_quote(edge['from'])} -- {_quote(edge['to'])} [label={_quote(edge['type'])}];"
        for edge in graph["edges"]
    ]
    return "\n".join([*lines, "}"]) + "\n"


def to_mermaid(graph: JsonObject, generated_at: str) -> str:
    """Draw a graph as a Mermaid flowchart with front matter.

    Every end of an edge is declared as a node; names that Mermaid reserves get a suffix.
    """
    version = graph["meta"]["graphSchemaVersion"]
    names: dict[str, str] = {}
    taken: set[str] = set()
    ends = (end for edge in graph["edges"] for end in (edge["from"], edge["to"]))
    for identity in dict.fromkeys([*(node["id"] for node in graph["nodes"]), *ends]):
        name = base = _UNSAFE.sub("_", identity)
        suffix = 2
        while name in taken or name.lower() in MERMAID_WORDS:
            name, suffix = f"{base}_{suffix}", suffix + 1
        taken.add(name)
        names[identity] = name
    lines = [
        "---",
        "title: Instruction Catalog Graph",
        (
            f"description: Deterministic instruction relationship graph (schema "
            f"v{version}{' enriched' if version == 2 else ''})"
        ),
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
    lines += [
        f"  {names[edge['from']]} ---|{edge['type']}| {names[edge['to']]}"
        for edge in graph["edges"]
    ]
    return "\n".join(lines) + "\n"
