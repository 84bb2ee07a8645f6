"""`rekall_help`: how to use memory, once per session."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tool
from commonplace.memory.engine.guide import TOPICS, Language, guide


class MemoryHelpInput(Arguments):
    topic: Literal["search", "capture", "links", "citations", "all"] = Field(
        "all", description="One section."
    )


class MemoryHelpOutput(TypedDict):
    guide: str
    topics_available: list[str]


def help_tool(language: Language) -> Tool:
    """Build `rekall_help`."""

    def handler(_: Context, arguments: MemoryHelpInput) -> MemoryHelpOutput:
        return {"guide": guide(arguments.topic, language), "topics_available": list(TOPICS)}

    return Tool(
        name="rekall_help",
        toolset="memory",
        title="How to use memory",
        description="How to use the memory: when to search and capture, how to cite. Call it once "
        "per session.",
        input=MemoryHelpInput,
        output=MemoryHelpOutput,
        handler=handler,
    )
