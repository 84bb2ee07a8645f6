"""Changing the catalogue: add, import, remove, governanceUpdate, reload, groom, repair, enrich,
history, restore.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from pydantic import ConfigDict, Field, model_validator
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Context, Rejected, Tier, Tool
from commonplace.instructions.engine.entry import ADD_SCHEMA
from commonplace.instructions.engine.groom import GroomMode
from commonplace.instructions.errors import (
    CATALOGUE_BUSY,
    CATALOGUE_LIMIT,
    CATALOGUE_UNWRITABLE,
    CHANGE_NOT_FOUND,
    CONFIRMATION_REQUIRED,
    HASH_MISMATCH,
    INSTRUCTION_NOT_FOUND,
    INVALID_INSTRUCTION,
    REMOVE_MISSING,
)
from commonplace.instructions.service import Service
from commonplace.instructions.tools.reads import DiffOutput, KnownEntry
from commonplace.instructions.tools.shared import (
    Answer,
    CamelArguments,
    FullArguments,
    Write,
    actor,
    known_entries,
    threaded,
)
from commonplace.instructions.usecases.briefs import brief_history, first_of
from commonplace.instructions.usecases.governance import Governance
from commonplace.instructions.usecases.maintenance import Maintenance
from commonplace.instructions.usecases.restoring import Undo
from commonplace.instructions.usecases.writing import Writing
from commonplace.kernel.auth import Scope

WRITE_ERRORS = (HASH_MISMATCH, CATALOGUE_LIMIT, CATALOGUE_BUSY, CATALOGUE_UNWRITABLE)


class AddArguments(Write):
    """Open for unknown arguments: an entry sent without its wrapper gets the contract's `missing
    entry`, not a refusal of its fields.
    """

    model_config = ConfigDict(extra="allow")

    entry: Any = Field(default=None, description="The instruction.")
    overwrite: bool = Field(
        default=False,
        description="Replace an existing instruction; omitted fields keep their values.",
    )
    lax: bool = Field(default=False, description="Fill missing fields with defaults.")


class ImportArguments(Write):
    entries: list[Any] = Field(
        max_length=100_000, description="The instructions; id and body at least."
    )
    mode: Literal["skip", "overwrite", "merge"] = Field(
        default="skip", description="What to do with ids that exist."
    )
    should_validate: bool = Field(
        default=True, alias="validate", description="False trusts the values (never the ids)."
    )
    batch_size: int | None = Field(default=None, ge=1, description="Files written at a time.")


class RemoveArguments(Write):
    ids: list[str] = Field(default_factory=list, max_length=100_000, description="Ids to remove.")
    id: str | None = Field(default=None, max_length=400, description="A single id instead of ids.")
    confirm: bool = Field(default=False, description="Needed for more than 10.")
    cascade: bool = Field(default=False, description="Also remove what depends on them.")
    missing_ok: bool = Field(
        default=False, description="Missing ids are no error, whatever the server's setting."
    )

    @model_validator(mode="after")
    def _something(self) -> RemoveArguments:
        if not self.ids and self.id is None:
            raise ValueError("give ids (or id)")
        return self


class GovernanceUpdateArguments(Write):
    id: str = Field(min_length=1, max_length=400, description="The instruction's id.")
    patch: dict[str, Any] = Field(
        default_factory=dict,
        description="owner, status, classification, priorityTier, lastReviewedAt, nextReviewDue, "
        "reviewIntervalDays or version.",
    )
    bump: Literal["none", "patch", "minor", "major"] = Field(
        default="none", description="Raise this part of the version."
    )
    owner: str | None = Field(
        default=None, max_length=200, description="Older form of patch.owner."
    )
    status: str | None = Field(
        default=None, max_length=40, description="Older form of patch.status."
    )
    last_reviewed_at: str | None = Field(
        default=None, max_length=40, description="Older form of patch.lastReviewedAt."
    )
    next_review_due: str | None = Field(
        default=None, max_length=40, description="Older form of patch.nextReviewDue."
    )

    def merged(self) -> dict[str, Any]:
        flat = self.model_dump(
            by_alias=True,
            exclude_none=True,
            include={"owner", "status", "last_reviewed_at", "next_review_due"},
        )
        return {**flat, **self.patch}


class GroomModes(CamelArguments):
    dry_run: bool = Field(default=False, description="Report only.")
    merge_duplicates: bool = Field(default=False, description="Merge entries with the same body.")
    remove_deprecated: bool = Field(
        default=False, description="Delete deprecated entries whose replacement exists."
    )
    normalize_categories: bool = Field(
        default=True, description="Lower-case, sort and de-duplicate categories."
    )
    purge_legacy_scopes: bool = Field(
        default=False, description="Take scope:* tokens out of the files."
    )
    update_hashes: bool = Field(default=True, description="Correct stored hashes.")


class GroomArguments(Write):
    mode: GroomModes = Field(default_factory=GroomModes, description="What to do.")


class RepairArguments(Write):
    client_hash: str | None = Field(
        default=None, max_length=200, description="Answer like diff: the hash the client has."
    )
    known: list[KnownEntry] | None = Field(
        default=None, max_length=100_000, description="Answer like diff: what the client has."
    )

    @property
    def only_compares(self) -> bool:
        return self.client_hash is not None or self.known is not None


class HistoryArguments(FullArguments):
    id: str = Field(min_length=1, max_length=400, description="The instruction's id.")
    limit: int = Field(default=20, ge=1, le=50, description="Most changes shown.")


class RestoreArguments(Write):
    id: str = Field(min_length=1, max_length=400, description="The instruction's id.")
    change: int | None = Field(
        default=None, ge=1, description="Number of the change to undo; the latest when absent."
    )


class AddOutput(TypedDict, total=False):
    id: str
    hash: str
    created: bool
    overwritten: bool
    skipped: bool
    verified: bool
    sourceHash: str
    governanceHash: str
    version: str
    verifyIssues: list[str]
    warnings: list[str]
    error: str
    feedbackHint: str
    reproEntry: dict[str, Any]
    validation: list[dict[str, str]]
    schemaRef: str
    inputSchema: dict[str, Any]


class RestoreOutput(AddOutput, total=False):
    restored: bool
    removed: bool
    change: int


class ImportProblem(TypedDict):
    index: int
    id: NotRequired[str]
    error: str
    code: str


class ImportOutput(TypedDict):
    note: NotRequired[str]
    hash: str
    imported: int
    skipped: int
    overwritten: int
    total: int
    errors: list[ImportProblem]
    warnings: NotRequired[list[dict[str, Any]]]
    processingTimeMs: float


class RemoveOutput(TypedDict):
    removed: int
    removedIds: list[str]
    missing: list[str]
    errorCount: int
    errors: list[dict[str, str]]
    cascadeRemovals: NotRequired[list[str]]
    hash: str


class GovernanceUpdateOutput(TypedDict, total=False):
    id: str
    previousVersion: str
    newVersion: str
    version: str
    changed: bool
    notFound: bool
    owner: str
    status: str
    hash: str
    governanceHash: str


class ReloadOutput(TypedDict):
    reloaded: bool
    hash: str
    count: int


class GroomOutput(TypedDict):
    previousHash: str
    hash: str
    scanned: int
    repairedHashes: int
    normalizedCategories: int
    deprecatedRemoved: int
    duplicatesMerged: int
    usagePruned: int
    filesRewritten: int
    purgedScopes: int
    dryRun: bool
    notes: list[str]
    performanceMs: float


class EnrichOutput(TypedDict):
    enriched: int
    updated: list[str]
    rewritten: int
    skipped: list[str]
    note: NotRequired[str]
    hash: str
    notes: NotRequired[list[str]]


class HistoryOutput(TypedDict, total=False):
    id: str
    exists: bool
    notFound: bool
    changeLog: list[dict[str, Any]]
    count: int
    changes: list[dict[str, Any]]
    note: str


def tools(service: Service) -> tuple[Tool, ...]:
    writing = Writing(service)
    maintenance = Maintenance(service, writing)
    governance = Governance(service, writing)
    undo = Undo(service, writing)

    async def add(ctx: Context, args: AddArguments) -> Answer | Rejected:
        answer, accepted = await writing.add_with_others(
            args.entry,
            overwrite=args.overwrite,
            lax=args.lax,
            expected_hash=args.expected_hash,
            actor=actor(ctx),
        )
        return answer if accepted else Rejected(answer)

    def import_(ctx: Context, args: ImportArguments) -> Answer:
        answer = writing.import_entries(
            args.entries,
            mode=args.mode,
            validate=args.should_validate,
            batch_size=args.batch_size,
            expected_hash=args.expected_hash,
            actor=actor(ctx),
        )
        return (
            first_of(answer, ("errors",), f"{len(answer['errors'])} entries failed.")
            if ctx.compact
            else answer
        )

    def remove(ctx: Context, args: RemoveArguments) -> Answer:
        ids = [*args.ids, *([args.id] if args.id is not None else [])]
        return writing.remove(
            ids,
            confirm=args.confirm,
            cascade=args.cascade,
            missing_ok=args.missing_ok,
            expected_hash=args.expected_hash,
            actor=actor(ctx),
        )

    def governance_update(ctx: Context, args: GovernanceUpdateArguments) -> Answer:
        return governance.update(
            args.id,
            args.merged(),
            bump_part=args.bump,
            expected_hash=args.expected_hash,
            actor=actor(ctx),
        )

    def reload(ctx: Context, args: Write) -> Answer:
        return maintenance.reload(args.expected_hash)

    def groom(ctx: Context, args: GroomArguments) -> Answer:
        return maintenance.groom(
            GroomMode(**args.mode.model_dump()), args.expected_hash, actor(ctx)
        )

    def repair(ctx: Context, args: RepairArguments) -> Answer:
        return maintenance.repair(
            args.client_hash, known_entries(args.known), args.expected_hash, actor(ctx)
        )

    def enrich(ctx: Context, args: Write) -> Answer:
        answer = maintenance.enrich(args.expected_hash, actor(ctx))
        names = ("updated", "skipped", "notes")
        return (
            first_of(answer, names, "instructions/enrich lists all.", 100)
            if ctx.compact
            else answer
        )

    def history(ctx: Context, args: HistoryArguments) -> Answer:
        answer = undo.history(args.id, args.limit, actor(ctx))
        return answer if not ctx.compact or args.full else brief_history(answer)

    def restore(ctx: Context, args: RestoreArguments) -> Answer:
        return undo.restore(
            args.id, args.change, expected_hash=args.expected_hash, actor=actor(ctx)
        )

    return (
        Tool(
            name="instructions_add",
            toolset="instructions",
            title="Add an instruction",
            description=(
                "Add one instruction, wrapped in `entry`. `lax` fills missing fields; "
                "`overwrite` changes an existing one "
                "and keeps the fields you leave out. Answers after it is durable and read back."
            ),
            input=AddArguments,
            output=AddOutput,
            handler=add,
            bare=("instructions/add",),
            read_only=False,
            idempotent=False,
            scope=Scope.WRITE,
            writes_catalogue=True,
            errors=WRITE_ERRORS,
            input_schema=ADD_SCHEMA,
        ),
        Tool(
            name="instructions_import",
            toolset="instructions",
            title="Import instructions",
            description="Add or change many instructions; each is checked on its own and errors "
            "carry its place in the list.",
            input=ImportArguments,
            output=ImportOutput,
            handler=threaded(service, import_),
            tier=Tier.EXTENDED,
            bare=("instructions/import",),
            read_only=False,
            scope=Scope.WRITE,
            writes_catalogue=True,
            errors=WRITE_ERRORS,
        ),
        Tool(
            name="instructions_remove",
            toolset="instructions",
            title="Remove instructions",
            description="Delete instructions by id; instructions_restore brings them back. More "
            "than 10 need confirm.",
            input=RemoveArguments,
            output=RemoveOutput,
            handler=threaded(service, remove),
            tier=Tier.EXTENDED,
            bare=("instructions/remove",),
            read_only=False,
            frees_space=True,
            destructive=True,
            scope=Scope.WRITE,
            writes_catalogue=True,
            errors=(*WRITE_ERRORS, CONFIRMATION_REQUIRED, REMOVE_MISSING),
        ),
        Tool(
            name="instructions_governance_update",
            toolset="instructions",
            title="Update governance",
            description="Change owner, status, classification, tier or review dates of an "
            "instruction, with a version bump if asked.",
            input=GovernanceUpdateArguments,
            output=GovernanceUpdateOutput,
            handler=threaded(service, governance_update),
            tier=Tier.EXTENDED,
            bare=("instructions/governanceUpdate",),
            read_only=False,
            idempotent=False,
            scope=Scope.WRITE,
            writes_catalogue=True,
            errors=(*WRITE_ERRORS, INVALID_INSTRUCTION),
        ),
        Tool(
            name="instructions_reload",
            toolset="instructions",
            title="Reload the catalogue",
            description="Read every file again.",
            input=Write,
            output=ReloadOutput,
            handler=threaded(service, reload),
            tier=Tier.EXTENDED,
            bare=("instructions/reload",),
            read_only=False,
            scope=Scope.WRITE,
            writes_catalogue=True,
            errors=(HASH_MISMATCH,),
        ),
        Tool(
            name="instructions_groom",
            toolset="instructions",
            title="Groom the catalogue",
            description="Correct hashes, normalise categories, merge duplicates, drop deprecated "
            "entries; dryRun only reports.",
            input=GroomArguments,
            output=GroomOutput,
            handler=threaded(service, groom),
            tier=Tier.EXTENDED,
            bare=("instructions/groom",),
            read_only=False,
            destructive=True,
            scope=lambda args: Scope.READ if args.mode.dry_run else Scope.WRITE,
            writes_catalogue=lambda args: not args.mode.dry_run,
            errors=WRITE_ERRORS,
        ),
        Tool(
            name="instructions_repair",
            toolset="instructions",
            title="Repair stored hashes",
            description="Correct hashes in files that do not fit their bodies; with clientHash "
            "or known it only compares, like diff.",
            input=RepairArguments,
            output=DiffOutput,
            output_schema={
                "type": "object",
                "properties": {
                    "hash": {"type": "string"},
                    "repaired": {"type": "integer"},
                    "updated": {"type": "array"},
                },
            },
            handler=threaded(service, repair),
            tier=Tier.EXTENDED,
            bare=("instructions/repair",),
            read_only=False,
            scope=lambda args: Scope.READ if args.only_compares else Scope.WRITE,
            writes_catalogue=lambda args: not args.only_compares,
            errors=WRITE_ERRORS,
        ),
        Tool(
            name="instructions_enrich",
            toolset="instructions",
            title="Enrich stored files",
            description="Write missing governance fields into the files; owner rules replace "
            "unowned.",
            input=Write,
            output=EnrichOutput,
            handler=threaded(service, enrich),
            tier=Tier.EXTENDED,
            bare=("instructions/enrich",),
            read_only=False,
            scope=Scope.WRITE,
            writes_catalogue=True,
            errors=WRITE_ERRORS,
        ),
        Tool(
            name="instructions_history",
            toolset="instructions",
            title="History of an instruction",
            description="Its change log and every recorded change with who, when and what differs.",
            input=HistoryArguments,
            output=HistoryOutput,
            handler=threaded(service, history),
            tier=Tier.EXTENDED,
        ),
        Tool(
            name="instructions_restore",
            toolset="instructions",
            title="Restore an instruction",
            description=(
                "Undo the latest change or removal of an instruction, also one by hand, or the "
                "one numbered by instructions_history."
            ),
            input=RestoreArguments,
            output=RestoreOutput,
            handler=threaded(service, restore),
            tier=Tier.EXTENDED,
            read_only=False,
            idempotent=False,
            scope=Scope.WRITE,
            writes_catalogue=True,
            errors=(*WRITE_ERRORS, CHANGE_NOT_FOUND, INSTRUCTION_NOT_FOUND),
        ),
    )
