"""The description of a tool for tools/list and the console."""

from __future__ import annotations

from commonplace.dispatch.registry import Selection
from commonplace.dispatch.schema import input_schema, listed_schema, output_schema
from commonplace.dispatch.tool import Tool
from commonplace.kernel.json_types import JsonObject

LARGEST_ANSWER_CHARS = 500_000  # the most that Claude Code takes


def describe(tool: Tool, selection: Selection) -> JsonObject:
    """Return a tool as tools/list shows it."""
    name = tool.aliases[0] if selection.renamed and tool.aliases else tool.name
    described: JsonObject = {
        "name": name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": dict(tool.input_schema)
        if tool.input_schema is not None
        else listed_schema(input_schema(tool.input)),
    }
    if tool.output_schema is not None or tool.output is not None:
        described["outputSchema"] = (
            dict(tool.output_schema)
            if tool.output_schema is not None
            else output_schema(tool.output)
        )
    described["annotations"] = {
        "title": tool.title,
        "readOnlyHint": tool.read_only,
        "destructiveHint": tool.destructive,
        "idempotentHint": tool.idempotent,
        "openWorldHint": tool.open_world,
    }
    if meta := _meta(tool):
        described["_meta"] = meta
    return described


def for_model(described: JsonObject) -> JsonObject:
    """Return the part of a described tool that clients pass on to a model."""
    return {name: described[name] for name in ("name", "description", "inputSchema")}


def _meta(tool: Tool) -> JsonObject:
    """Return the hints for clients that defer tools or cut long answers."""
    meta: JsonObject = {}
    if tool.core:
        meta["anthropic/alwaysLoad"] = True
    if tool.large:
        meta["anthropic/maxResultSizeChars"] = LARGEST_ANSWER_CHARS
    return meta
