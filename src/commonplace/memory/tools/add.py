"""`rekall_add`: add an entry; the answer names similar entries and suggestions."""

from __future__ import annotations

from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tool
from commonplace.kernel.auth import Scope
from commonplace.memory.errors import ENTRY_TOO_LARGE, INVALID_ENTRY_TYPE, SECRET_REFUSED
from commonplace.memory.model import Entry, EntryType, MemoryType
from commonplace.memory.results import AddResult
from commonplace.memory.service import MemoryService
from commonplace.memory.text import TITLE_CHARACTERS
from commonplace.memory.tools.guard import guarded
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
    """Build `rekall_add`."""

    async def handler(context: Context, arguments: MemoryAddInput) -> MemoryAddOutput:
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
        return _output(added)

    return Tool(
        name="rekall_add",
        toolset="memory",
        title="Keep what was learned",
        description="Add an entry to memory: a bug and its fix, a pattern, a decision, a "
        "pitfall, configuration, a reference. Embeddings, "
        "similar entries and suggestions are computed at once. Credentials are never kept.",
        input=MemoryAddInput,
        output=MemoryAddOutput,
        handler=guarded(handler),
        read_only=False,
        scope=Scope.WRITE,
        field_codes={"type": INVALID_ENTRY_TYPE},
        errors=(INVALID_ENTRY_TYPE, SECRET_REFUSED, ENTRY_TOO_LARGE),
        redact=frozenset({"content", "context"}),
    )


def _output(added: AddResult) -> MemoryAddOutput:
    output: MemoryAddOutput = {
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
        output["warnings"] = [_retired_warning(added.retired, added.retired_for, added.entry)]
    if hint := _hint(added):
        output["hint"] = hint
    return output


def _hint(added: AddResult) -> str:
    if added.updated:
        return "An active entry has exactly this text; the new details were added to it"
    if not added.created:
        return "An active entry has exactly this text; it was left as it is"
    if added.suggestions:
        return "See the suggestions with rekall_suggest_links and rekall_suggest_generalize"
    return ""


def _retired_warning(retired: Entry, successor: Entry | None, entry: Entry) -> str:
    """Say that a new entry repeats a retired one, and how to retire it again."""
    if successor is None:
        return (
            f"Entry {retired.id} has exactly this text and is obsolete. If it is still wrong, "
            f"retire the new one: memory_update(id={entry.id}, status=obsolete)"
        )
    return (
        f"Entry {retired.id} has exactly this text and was superseded by {successor.id} "
        f"({successor.title}). If that still holds: "
        f"rekall_link(source_id={successor.id}, target_id={entry.id}, relation_type=supersedes)"
    )
