"""Tool that adds or overwrites one instruction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from commonplace.dispatch.schema import listed_schema
from commonplace.dispatch.tool import Context, Rejected, Tool
from commonplace.instructions.engine.entry.schema import ADD_SCHEMA
from commonplace.instructions.errors import (
    CATALOGUE_BUSY,
    CATALOGUE_LIMIT,
    CATALOGUE_UNWRITABLE,
    HASH_MISMATCH,
)
from commonplace.instructions.results.writing import EntryRefusal, WriteResult
from commonplace.instructions.service import InstructionsService
from commonplace.instructions.tools.shapes import Answer, WriteInput
from commonplace.kernel.auth import Scope
from commonplace.kernel.json_types import Json, JsonObject

WRITE_ERRORS = (HASH_MISMATCH, CATALOGUE_LIMIT, CATALOGUE_BUSY, CATALOGUE_UNWRITABLE)
PREVIEW_CHARS = 200
EXPLAINED = frozenset({"id", "categories", "contentType", "priority", "appliesTo", "activation"})
"""Fields of an entry whose names do not explain themselves, as tools/list shows them."""


class InstructionAddInput(WriteInput):
    # An entry without its wrapper must get the contract's `missing entry`, so extras are allowed.

    model_config = ConfigDict(extra="allow")

    entry: Json = Field(default=None, description="The instruction.")
    overwrite: bool = Field(
        default=False,
        description="Replace an existing instruction; omitted fields keep their values.",
    )
    lax: bool = Field(default=False, description="Fill missing fields with defaults.")


class InstructionAddOutput(TypedDict, total=False):
    id: str
    hash: str
    created: bool
    overwritten: bool
    skipped: bool
    proposed: bool
    verified: bool
    sourceHash: str
    governanceHash: str
    version: str
    verifyIssues: list[str]
    warnings: list[str]
    error: str
    feedbackHint: str
    reproEntry: JsonObject
    validation: list[dict[str, str]]
    schemaRef: str
    inputSchema: JsonObject


def tools(service: InstructionsService) -> tuple[Tool, ...]:
    """Return the tool `instructions_add`."""

    async def handle(ctx: Context, args: InstructionAddInput) -> Answer | Rejected:
        result = await service.add(
            ctx.auth,
            args.entry,
            overwrite=args.overwrite,
            lax=args.lax,
            expected_hash=args.expected_hash,
        )
        if isinstance(result, EntryRefusal):
            return Rejected(_show_refusal(result, args.entry))
        return show_written(result)

    return (
        Tool(
            name="instructions_add",
            toolset="instructions",
            title="Add an instruction",
            description=(
                "Add an instruction, or change one with `overwrite`. Durable and read back when "
                "it returns."
            ),
            input=InstructionAddInput,
            output=InstructionAddOutput,
            handler=handle,
            bare=("instructions/add",),
            read_only=False,
            idempotent=False,
            scope=Scope.WRITE,
            writes_catalogue=True,
            errors=WRITE_ERRORS,
            input_schema=_list_arguments(),
        ),
    )


def _list_arguments() -> JsonObject:
    """Shorten the schema for tools/list; a refusal returns all of it."""
    listed = listed_schema(ADD_SCHEMA)
    for name, field in listed["properties"]["entry"]["properties"].items():
        if name not in EXPLAINED:
            field.pop("description")
    return listed


def show_written(result: WriteResult) -> JsonObject:
    """Spell the outcome of a write."""
    answer: JsonObject = {
        "id": result.entry.id,
        "hash": result.catalogue_hash,
        "created": result.created,
        "overwritten": result.overwritten,
        "skipped": result.skipped,
        "verified": not result.verify_issues,
        "sourceHash": result.entry.source_hash,
        "governanceHash": result.entry.governance_hash,
        "version": result.entry.document["version"],
    }
    if result.proposed:
        answer["proposed"] = True
    if result.verify_issues:
        answer["verifyIssues"] = list(result.verify_issues)
    if result.warnings:
        answer["warnings"] = list(result.warnings)
    return answer


def _show_refusal(refusal: EntryRefusal, sent: object) -> JsonObject:
    """Spell a refusal: error, hint, what was sent, the schema if needed.

    See docs/reference/contracts/instructions.md, mutation operations.
    """
    problem = refusal.problem
    entry = sent if isinstance(sent, Mapping) else None
    id_ = entry.get("id") if entry is not None else None
    shown_id = id_[:200] if isinstance(id_, str) else "unknown"
    repro: JsonObject = {"id": shown_id}
    if entry is not None:
        repro |= {
            name: entry[name]
            for name in ("title", "requirement", "priorityTier", "owner", "version")
            if isinstance(entry.get(name), str)
        }
        body = entry.get("body")
        repro["bodyPreview"] = body.strip()[:PREVIEW_CHARS] if isinstance(body, str) else ""
    hint = problem.hint if problem.hint.endswith((".", "?", "!", ")")) else f"{problem.hint}."
    answer: JsonObject = {
        "id": shown_id,
        "hash": refusal.catalogue_hash,
        "created": False,
        "overwritten": False,
        "skipped": False,
        "error": problem.error,
        "feedbackHint": f"{hint} If this is unexpected, call feedback/submit with reproEntry.",
        "reproEntry": repro,
    }
    if problem.fields:
        answer["validation"] = [asdict(field) for field in problem.fields]
    if problem.structural:
        answer["schemaRef"] = "tools/list[name='instructions_add'].inputSchema"
        answer["inputSchema"] = ADD_SCHEMA
    return answer
