"""`rekall_add`: keep what was learned, told what is similar and what is suggested."""

from __future__ import annotations

from typing import Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tool
from commonplace.kernel.auth import Scope
from commonplace.memory.errors import ENTRY_TOO_LARGE, INVALID_ENTRY_TYPE, SECRET_REFUSED
from commonplace.memory.model import Entry, EntryType, MemoryType
from commonplace.memory.service import MemoryService
from commonplace.memory.text import TITLE_CHARACTERS
from commonplace.memory.tools.guard import handled
from commonplace.memory.tools.shapes import MemoryTypeName, TypeName


class MemoryAddInput(Arguments):
    type: TypeName = Field(description="Type of the entry.")
    title: str = Field(
        max_length=TITLE_CHARACTERS, description="Title of the entry (at most 100 characters)."
    )
    content: str | None = Field(
        None, description="What happened, why, and what to do: the detailed content."
    )
    tags: list[str] | None = Field(None, description="Kebab-case tags (2 to 5 recommended).")
    context: str | None = Field(
        None,
        description="The conversation it comes from (for the context embedding; at most 10,000 "
        "characters).",
    )
    project: str | None = Field(None, description="Name of the project it belongs to.")
    confidence: int = Field(3, ge=0, le=5, description="How sure it is (0 to 5).")
    memory_type: MemoryTypeName = Field(
        "episodic", description="episodic: one event; semantic: a rule that holds."
    )


class SimilarEntry(TypedDict):
    id: str
    title: str
    score: float


class MemoryAddOutput(TypedDict):
    id: str
    title: str
    type: str
    created: bool
    embeddings_calculated: bool
    similar_entries: list[SimilarEntry]
    suggestions_created: int
    context_truncated: NotRequired[bool]
    secrets_masked: NotRequired[list[str]]
    updated_fields: NotRequired[list[str]]
    warnings: NotRequired[list[str]]
    hint: NotRequired[str]


def add_tool(service: MemoryService) -> Tool:
    async def handler(context: Context, arguments: MemoryAddInput) -> dict[str, Any]:
        draft = service.draft(
            EntryType(arguments.type),
            arguments.title,
            arguments.content or "",
            arguments.tags or (),
            arguments.context or "",
            arguments.project,
            arguments.confidence,
            MemoryType(arguments.memory_type),
        )
        added = await service.add(context.auth.tenant, draft, arguments.model_fields_set)
        output: dict[str, Any] = {
            "id": added.entry.id,
            "title": added.entry.title,
            "type": added.entry.type.value,
            "created": added.created,
            "embeddings_calculated": added.embedded,
            "similar_entries": [
                {"id": near.entry.id, "title": near.entry.title, "score": round(near.score, 4)}
                for near in added.similar
            ],
            "suggestions_created": added.suggestions,
        }
        if added.context_truncated:
            output["context_truncated"] = True
        if added.masked:
            output["secrets_masked"] = list(added.masked)
        if added.updated:
            output["updated_fields"] = list(added.updated)
        if added.retired is not None:
            output["warnings"] = [_retired(added.retired, added.retired_for, added.entry)]
        if added.updated:
            output["hint"] = (
                "An active entry already says exactly this; the new details were added to it"
            )
        elif not added.created:
            output["hint"] = "An active entry already says exactly this; it was kept as it is"
        elif added.suggestions:
            output["hint"] = (
                "rekall_suggest_links and rekall_suggest_generalize show the suggestions"
            )
        return output

    return Tool(
        name="rekall_add",
        toolset="memory",
        title="Keep what was learned",
        description="Add an entry to memory: a bug and its fix, a pattern, a decision, a "
        "pitfall, configuration, a reference. Embeddings, "
        "similar entries and suggestions are computed at once. Credentials are never kept.",
        input=MemoryAddInput,
        output=MemoryAddOutput,
        handler=handled(handler),
        read_only=False,
        scope=Scope.WRITE,
        field_codes={"type": INVALID_ENTRY_TYPE},
        errors=(INVALID_ENTRY_TYPE, SECRET_REFUSED, ENTRY_TOO_LARGE),
        redact=frozenset({"content", "context"}),
    )


def _retired(retired: Entry, successor: Entry | None, entry: Entry) -> str:
    """Say that a new entry repeats one that was retired, and how to retire it again."""
    if successor is None:
        return (
            f"Entry {retired.id} said exactly this and is obsolete. If it is still wrong, retire "
            f"the new one: "
            f"memory_update(id={entry.id}, status=obsolete)"
        )
    return (
        f"Entry {retired.id} said exactly this and was superseded by {successor.id} "
        f"({successor.title}). If that still holds: "
        f"rekall_link(source_id={successor.id}, target_id={entry.id}, relation_type=supersedes)"
    )
