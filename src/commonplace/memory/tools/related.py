"""`memory_related`: the links around an entry."""

from __future__ import annotations

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tier, Tool
from commonplace.kernel.clock import iso
from commonplace.memory.errors import ENTRY_NOT_FOUND
from commonplace.memory.model import RelationType
from commonplace.memory.results import LinkGraph
from commonplace.memory.service import MemoryService
from commonplace.memory.tools.guard import guarded
from commonplace.memory.tools.shapes import DateTime, RelationName
from commonplace.memory.use_cases.search import GRAPH_DEPTH


class MemoryRelatedInput(Arguments):
    id: str = Field(description="Id of the entry, or a prefix of 5 or more characters.")
    depth: int = Field(1, ge=1, le=GRAPH_DEPTH, description="Steps from the entry.")
    relation_type: RelationName | None = Field(None, description="Only links of this kind.")


class GraphNode(TypedDict):
    id: str
    type: str
    title: str
    status: str
    updated_at: DateTime
    distance: int


class GraphEdge(TypedDict):
    source_id: str
    target_id: str
    relation_type: str


class MemoryRelatedOutput(TypedDict):
    entries: list[GraphNode]
    links: list[GraphEdge]
    truncated: bool


def related_tool(service: MemoryService) -> Tool:
    """Build `memory_related`."""

    async def handler(context: Context, arguments: MemoryRelatedInput) -> MemoryRelatedOutput:
        graph = await service.find_related(context.auth.tenant, arguments.id, arguments.depth)
        relation = RelationType(arguments.relation_type) if arguments.relation_type else None
        return _output(graph, relation)

    return Tool(
        name="memory_related",
        toolset="memory",
        title="Entries around one",
        description="The graph of links around an entry.",
        input=MemoryRelatedInput,
        output=MemoryRelatedOutput,
        handler=guarded(handler),
        tier=Tier.EXTENDED,
        errors=(ENTRY_NOT_FOUND,),
    )


def _output(graph: LinkGraph, relation: RelationType | None) -> MemoryRelatedOutput:
    """Return the graph, only the links of a relation and their ends if one is given."""
    links = [link for link in graph.links if relation is None or link.relation is relation]
    shown = set(graph.distance)
    if relation is not None:
        shown = {end for link in links for end in link.ends} | {graph.root.id}
    nodes: list[GraphNode] = [
        {
            "id": id_,
            "type": graph.entries[id_].type.value,
            "title": graph.entries[id_].title,
            "status": graph.entries[id_].status.value,
            "updated_at": iso(graph.entries[id_].updated_at),
            "distance": steps,
        }
        for id_, steps in graph.distance.items()
        if id_ in shown
    ]
    edges: list[GraphEdge] = [
        {
            "source_id": link.source_id,
            "target_id": link.target_id,
            "relation_type": link.relation.value,
        }
        for link in links
    ]
    nodes.sort(key=lambda node: (node["distance"], node["id"]))
    return {"entries": nodes, "links": edges, "truncated": graph.truncated}
