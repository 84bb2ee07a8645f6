"""`rekall_add`: add an entry; the answer names similar entries and suggestions."""

from __future__ import annotations

from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tool
from commonplace.kernel.auth import Scope
from commonplace.memory.errors import (
    ANCHOR_NOT_FOUND,
    ENTRY_TOO_LARGE,
    INVALID_ANCHOR,
    INVALID_ENTRY_TYPE,
    SECRET_REFUSED,
)
from commonplace.memory.model import Entry, EntryType, MemoryType, Suggestion
from commonplace.memory.results import AddResult
from commonplace.memory.service import MemoryService
from commonplace.memory.text import TITLE_CHARACTERS
from commonplace.memory.tools.anchors import MOST_ANCHORS, AnchorInput, read_anchor_inputs
from commonplace.memory.tools.guard import guarded
from commonplace.memory.tools.shapes import MemoryTypeName, TypeName


class MemoryAddInput(Arguments):
    type: TypeName
    title: str = Field(max_length=TITLE_CHARACTERS)
    content: str | None = Field(None, description="What happened, why, the fix.")
    tags: list[str] | None = Field(None, description="2 to 5, kebab-case.")
    context: str | None = Field(
        None,
        description="The conversation. For the context embedding; at most 10,000 characters.",
    )
    project: str | None = Field(None, description="Its name.")
    confidence: int = Field(3, ge=0, le=5, description="How sure.")
    memory_type: MemoryTypeName = Field("episodic", description="One event, or a rule.")
    anchors: list[AnchorInput] | None = Field(
        None,
        max_length=MOST_ANCHORS,
        description="Code it speaks of. Search marks the entry once that code changed. The "
        "repository defaults to the project; the hash is computed here unless it is given.",
    )


class SimilarEntry(TypedDict):
    id: str
    title: str
    score: float


class OpposedEntry(TypedDict):
    id: str
    suggestion_id: str
    reason: str


class MemoryAddOutput(TypedDict):
    id: str
    title: str
    type: str
    created: bool
    embeddings_calculated: bool
    similar_entries: list[SimilarEntry]
    suggestions_created: int
    contradicts: NotRequired[list[OpposedEntry]]
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
            read_anchor_inputs(arguments.anchors, arguments.project or service.anchors.repository)
            if arguments.anchors
            else (),
        )
        added = await service.add(context.auth.tenant, draft, arguments.model_fields_set)
        return _output(added)

    return Tool(
        name="rekall_add",
        toolset="memory",
        title="Keep what was learned",
        description="Remember a lesson, such as a bug and its fix. Returns similar entries. "
        "Credentials are never kept.",
        input=MemoryAddInput,
        output=MemoryAddOutput,
        handler=guarded(handler),
        read_only=False,
        scope=Scope.WRITE,
        field_codes={"type": INVALID_ENTRY_TYPE, "anchors": INVALID_ANCHOR},
        errors=(
            INVALID_ENTRY_TYPE,
            SECRET_REFUSED,
            ENTRY_TOO_LARGE,
            INVALID_ANCHOR,
            ANCHOR_NOT_FOUND,
        ),
        redact=frozenset({"content", "context"}),
        core=True,
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
    if added.contradictions:
        output["contradicts"] = [
            {
                "id": _other_id(found, added.entry),
                "suggestion_id": found.id,
                "reason": found.reason,
            }
            for found in added.contradictions
        ]
    if added.context_truncated:
        output["context_truncated"] = True
    if added.masked:
        output["secrets_masked"] = list(added.masked)
    if added.updated:
        output["updated_fields"] = list(added.updated)
    warnings = _anchor_warnings(added.entry)
    if added.retired is not None:
        warnings.append(_retired_warning(added.retired, added.retired_for, added.entry))
    if warnings:
        output["warnings"] = warnings
    if hint := _hint(added):
        output["hint"] = hint
    return output


def _other_id(pair: Suggestion, entry: Entry) -> str:
    """Return the id of the other entry of a pair."""
    return next(id_ for id_ in pair.entry_ids if id_ != entry.id)


def _hint(added: AddResult) -> str:
    hints = []
    if added.updated:
        hints.append("An active entry has exactly this text; the new details were added to it")
    elif not added.created:
        hints.append("An active entry has exactly this text; it was left as it is")
    if added.contradictions:
        found = added.contradictions[0]
        hints.append(
            "It contradicts what is known. If this entry holds: "
            f"rekall_link(source_id={added.entry.id}, "
            f"target_id={_other_id(found, added.entry)}, relation_type=supersedes). If both hold: "
            f"rekall_reject_suggestion(suggestion_id={found.id})"
        )
    elif added.suggestions:
        hints.append("See the suggestions with rekall_suggest_links and rekall_suggest_generalize")
    return ". ".join(hints)


def _anchor_warnings(entry: Entry) -> list[str]:
    """Say which anchors have no hash, so that they cannot be compared."""
    unread = sorted({anchor.repository for anchor in entry.anchors if not anchor.hash})
    return [
        f"The repository {name} cannot be read here: its anchors are kept, but not compared. Add "
        "its folder to memory.roots, or store it as a project of files"
        for name in unread
    ]


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
