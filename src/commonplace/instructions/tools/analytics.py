"""Looking over the catalogue: capabilities, health, inspect, graph, integrity, gates, prompt
review, usage.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NotRequired

from pydantic import Field, field_validator, model_validator
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Context, Nothing, Tier, Tool
from commonplace.instructions.engine.brief import ANSWER_BYTES
from commonplace.instructions.engine.normalise import parse_time
from commonplace.instructions.errors import INVALID_CRITERIA, INVALID_GATES
from commonplace.instructions.service import Service
from commonplace.instructions.tools.shared import (
    Answer,
    CamelArguments,
    FullArguments,
    inline,
    threaded,
)
from commonplace.instructions.usecases import inspection
from commonplace.instructions.usecases.briefs import SHOWN, first_of, without_body

LONG_LISTS = {
    "raw": (10, ("records",)),
    "validation": (
        50,
        (
            "rejected",
            "drifted",
            "overdueReviews",
            "unowned",
            "orphans",
            "unreadable",
            "unknownFields",
        ),
    ),
}
MAX_PROMPT_ARGUMENT = (
    4_000_000  # longer than reviewed, so that the contract's `truncated` can answer
)


def checked_time(moment: str | None) -> str | None:
    if moment is not None and parse_time(moment) is None:
        raise ValueError("must be an ISO 8601 time such as 2025-09-01T12:00:00Z")
    return moment


class InspectArguments(FullArguments):
    id: str | None = Field(default=None, max_length=400, description="One instruction.")
    scope: Literal["catalog", "instruction", "governance", "usage"] | None = Field(
        default=None, description="What to look at; instruction when an id is given, else catalog."
    )


class GraphArguments(FullArguments):
    include_edge_types: list[Literal["primary", "category", "belongs"]] | None = Field(
        default=None, max_length=3, description="Only edges of these types."
    )
    max_edges: int | None = Field(
        default=None, ge=0, description="Cut the list of edges after this many."
    )
    format: Literal["json", "dot", "mermaid"] = Field(
        default="json", description="json, or a dot or mermaid drawing beside it."
    )
    enrich: bool = Field(
        default=False, description="Schema 2: metadata on nodes, weights on edges."
    )
    include_category_nodes: bool = Field(
        default=False, description="Categories as nodes (with enrich)."
    )
    include_usage: bool = Field(default=False, description="usageCount on nodes.")


class PromptArguments(CamelArguments):
    prompt: str = Field(
        max_length=MAX_PROMPT_ARGUMENT,
        description="The prompt; up to 10,000 characters are reviewed.",
    )


class UsageContext(CamelArguments):
    user_id: str | None = Field(default=None, max_length=200, description="Who used it.")
    workspace_id: str | None = Field(default=None, max_length=200, description="Where.")
    session_id: str | None = Field(default=None, max_length=200, description="In which session.")
    timestamp: str | None = Field(default=None, max_length=40, description="When (ISO 8601).")

    @field_validator("timestamp")
    @classmethod
    def _is_time(cls, moment: str | None) -> str | None:
        return checked_time(moment)


class UsageMetrics(CamelArguments):
    execution_time: float | None = Field(
        default=None, ge=0, strict=True, allow_inf_nan=False, description="Milliseconds it took."
    )
    success: bool | None = Field(default=None, strict=True, description="Whether it helped.")
    error_code: str | None = Field(default=None, max_length=200, description="What went wrong.")


class TrackArguments(CamelArguments):
    id: str | None = Field(
        default=None, min_length=1, max_length=400, description="The instruction used."
    )
    instruction_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=400,
        description="The same, in the form with context and metrics.",
    )
    context: UsageContext | None = Field(default=None, description="Who used it, where and when.")
    metrics: UsageMetrics | None = Field(default=None, description="How it went.")

    @model_validator(mode="after")
    def _one_of_them(self) -> TrackArguments:
        if (self.id is None) == (self.instruction_id is None):
            raise ValueError("give id, or instructionId with context and metrics")
        return self


class HotsetArguments(CamelArguments):
    limit: int = Field(default=inspection.HOTSET_DEFAULT, description="Most items, 1 to 100.")


class ReviewsArguments(CamelArguments):
    before: str | None = Field(
        default=None, max_length=40, description="Due before this ISO 8601 time; now when absent."
    )
    limit: int = Field(default=25, ge=1, le=500, description="Most items.")
    offset: int = Field(default=0, ge=0, description="Items to leave out.")

    @field_validator("before")
    @classmethod
    def _is_time(cls, moment: str | None) -> str | None:
        return checked_time(moment)


class ReviewsOutput(TypedDict):
    total: int
    due: int
    before: str
    items: list[dict[str, Any]]
    counts: dict[str, dict[str, int]]


class CapabilitiesOutput(TypedDict):
    version: str
    protocolVersion: str
    supportedActions: list[str]
    mutationEnabled: bool
    features: dict[str, bool]
    limits: dict[str, int]


class HealthOutput(TypedDict):
    status: str
    version: str
    uptime: float
    catalogStats: dict[str, Any]
    performance: dict[str, Any]
    diskUsage: dict[str, int]
    rejectedFiles: NotRequired[list[dict[str, str]]]
    rejectedCount: NotRequired[int]
    drifted: NotRequired[list[str]]
    unreadableValues: NotRequired[list[dict[str, str]]]
    unreadableCount: NotRequired[int]
    ignoredFolders: NotRequired[list[str]]
    configurationProblems: NotRequired[dict[str, str]]
    writeProblem: NotRequired[str]


class InspectOutput(TypedDict):
    timestamp: str
    scope: str
    data: dict[str, Any]
    id: NotRequired[str]
    note: NotRequired[str]


GraphEdge = TypedDict(
    "GraphEdge", {"from": str, "to": str, "type": str, "weight": NotRequired[float]}
)


class GraphOutput(TypedDict):
    meta: dict[str, Any]
    nodes: list[dict[str, Any]]
    edges: list[GraphEdge]
    dot: NotRequired[str]
    mermaid: NotRequired[str]


class VerifyIssue(TypedDict):
    id: str
    expected: str
    actual: str


class VerifyOutput(TypedDict):
    hash: str
    count: int
    issues: list[VerifyIssue]
    issueCount: int
    note: NotRequired[str]


class PromptIssue(TypedDict):
    ruleId: str
    severity: str
    description: str
    match: NotRequired[str]
    position: NotRequired[int]
    category: str
    remediation: NotRequired[str]


class PromptOutput(TypedDict, total=False):
    issues: list[PromptIssue]
    summary: dict[str, Any]
    length: int
    unsupportedRules: list[dict[str, str]]
    truncated: bool
    message: str
    max: int


class GateResult(TypedDict):
    id: str
    passed: bool
    count: int
    op: str
    value: int
    severity: str
    description: NotRequired[str]


class GatesOutput(TypedDict):
    generatedAt: str
    results: list[GateResult]
    summary: dict[str, int]
    notConfigured: NotRequired[bool]


class TrackOutput(TypedDict, total=False):
    id: str
    usageCount: int
    lastUsedAt: str
    rateLimited: bool
    notFound: bool
    featureDisabled: bool
    tracked: bool
    sessionId: str
    aggregatedCount: int


class HotItem(TypedDict):
    id: str
    usageCount: int
    lastUsedAt: str


class HotsetOutput(TypedDict):
    hash: str
    count: int
    limit: int
    items: list[HotItem]


def _brief_inspection(answer: Answer) -> Answer:
    """Shorten the lists of a deep look, and replace long bodies by snippets."""
    data = dict(answer["data"])
    notes = []
    for section, (most, names) in LONG_LISTS.items():
        if isinstance(data[section], dict):
            shorter = first_of(
                data[section],
                [name for name in names if isinstance(data[section].get(name), list)],
                "",
                most,
            )
            notes += [shorter.pop("note")] if "note" in shorter else []
            data[section] = shorter
    for section in ("raw", "normalized"):
        shown = without_body(data[section])
        if shown is not data[section]:
            notes.append(f"A snippet stands for the body in {section}.")
        data[section] = shown
    if answer["scope"] == "usage" and len(data["raw"]) > SHOWN:
        notes.append(f"{SHOWN} of {len(data['raw'])} counters are shown.")
        data["raw"] = dict(list(data["raw"].items())[:SHOWN])
    return (
        {**answer, "data": data, "note": " ".join([*notes, "Set full for everything."])}
        if notes
        else answer
    )


def tools(service: Service, actions: Sequence[str]) -> tuple[Tool, ...]:
    def capabilities(ctx: Context, args: Nothing) -> Answer:
        return inspection.capabilities(service, actions)

    def health(ctx: Context, args: Nothing) -> Answer:
        return inspection.health(service)

    def inspect(ctx: Context, args: InspectArguments) -> Answer:
        scope = args.scope or ("instruction" if args.id is not None else "catalog")
        answer = inspection.inspect(service, scope, args.id)
        return answer if not ctx.compact or args.full else _brief_inspection(answer)

    def graph(ctx: Context, args: GraphArguments) -> Answer:
        options = service.graph_options(
            edge_types=None
            if args.include_edge_types is None
            else frozenset(args.include_edge_types),
            max_edges=args.max_edges,
            enrich=args.enrich,
            category_nodes=args.include_category_nodes,
            usage=service.usage_count if args.include_usage else None,
        )
        return service.graph(
            options, args.format, ANSWER_BYTES if ctx.compact and not args.full else None
        )

    def verify(ctx: Context, args: FullArguments) -> Answer:
        answer = service.verify()
        return (
            answer
            if not ctx.compact or args.full
            else first_of(answer, ("issues",), "Set full for all.", 100)
        )

    def review(ctx: Context, args: PromptArguments) -> Answer:
        return service.review_prompt(args.prompt)

    def gates(ctx: Context, args: Nothing) -> Answer:
        return service.evaluate_gates()

    def track(ctx: Context, args: TrackArguments) -> Answer:
        if args.id is not None:
            return inspection.track(service, args.id)
        assert args.instruction_id is not None
        context = args.context.model_dump(by_alias=True, exclude_none=True) if args.context else {}
        metrics = args.metrics.model_dump(by_alias=True, exclude_none=True) if args.metrics else {}
        return inspection.track_with_context(service, args.instruction_id, context, metrics)

    def hotset(ctx: Context, args: HotsetArguments) -> Answer:
        return inspection.hotset(service, args.limit)

    def reviews(ctx: Context, args: ReviewsArguments) -> Answer:
        return inspection.reviews(service, args.before, args.limit, args.offset)

    return (
        Tool(
            name="instructions_reviews",
            toolset="instructions",
            title="Reviews due",
            description="Instructions due for review, longest overdue first, and how many there "
            "are of each status, tier and owner.",
            input=ReviewsArguments,
            output=ReviewsOutput,
            handler=threaded(service, reviews),
            tier=Tier.EXTENDED,
        ),
        Tool(
            name="graph_export",
            toolset="instructions",
            title="Graph of instructions",
            description=(
                "Instructions and how they share categories, as JSON, DOT or Mermaid. "
                "A large graph is cut, and a note says how to ask for all."
            ),
            input=GraphArguments,
            output=GraphOutput,
            handler=threaded(service, graph),
            bare=("graph/export",),
        ),
        Tool(
            name="prompt_review",
            toolset="instructions",
            title="Review a prompt",
            description="Check a prompt for secrets, injection, unsafe commands and vagueness; "
            "each issue says what to do.",
            input=PromptArguments,
            output=PromptOutput,
            handler=threaded(service, review),
            bare=("prompt/review",),
            errors=(INVALID_CRITERIA,),
            redact=frozenset({"prompt"}),
        ),
        Tool(
            name="gates_evaluate",
            toolset="instructions",
            title="Evaluate policy gates",
            description="Check the catalogue against the conditions in gates.json.",
            input=Nothing,
            output=GatesOutput,
            handler=threaded(service, gates),
            bare=("gates/evaluate",),
            errors=(INVALID_GATES,),
        ),
        Tool(
            name="integrity_verify",
            toolset="instructions",
            title="Verify integrity",
            description="Hash every body again and compare with what its file claims.",
            input=FullArguments,
            output=VerifyOutput,
            handler=threaded(service, verify),
            bare=("integrity/verify",),
        ),
        Tool(
            name="usage_track",
            toolset="instructions",
            title="Track a use",
            description="Count that an instruction was used, and keep how it went; "
            "instructions_inspect with scope usage shows the sums.",
            input=TrackArguments,
            output=TrackOutput,
            handler=threaded(service, track),
            bare=("usage/track",),
            read_only=False,
            idempotent=False,
        ),
        Tool(
            name="usage_hotset",
            toolset="instructions",
            title="Most used instructions",
            description="Instructions ranked by how often and how lately they were used.",
            input=HotsetArguments,
            output=HotsetOutput,
            handler=threaded(service, hotset),
            tier=Tier.EXTENDED,
            bare=("usage/hotset",),
        ),
        Tool(
            name="instructions_capabilities",
            toolset="instructions",
            title="What the catalogue can do",
            description="Actions, features, limits and whether writing is enabled.",
            input=Nothing,
            output=CapabilitiesOutput,
            handler=inline(service, capabilities),
            tier=Tier.EXTENDED,
            bare=("instructions/capabilities",),
        ),
        Tool(
            name="instructions_health",
            toolset="instructions",
            title="Health of the catalogue",
            description="Status, figures, files that could not be loaded and why, disk space.",
            input=Nothing,
            output=HealthOutput,
            handler=threaded(service, health),
            tier=Tier.EXTENDED,
            bare=("instructions/health",),
        ),
        Tool(
            name="instructions_inspect",
            toolset="instructions",
            title="Inspect in depth",
            description="Raw and normalised form, validation, metadata and file of an "
            "instruction, or of the whole catalogue.",
            input=InspectArguments,
            output=InspectOutput,
            handler=threaded(service, inspect),
            tier=Tier.EXTENDED,
            bare=("instructions/inspect",),
        ),
    )
