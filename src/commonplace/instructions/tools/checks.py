"""Tools that check the catalogue or a prompt: graph, integrity, gates and prompt review."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Context, Nothing, Tool
from commonplace.instructions.engine.graph import GraphOptions
from commonplace.instructions.engine.policy.gates import GateReport, GateResult
from commonplace.instructions.engine.policy.prompt_review import (
    MAX_PROMPT_CHARS,
    PromptIssue,
    PromptReview,
)
from commonplace.instructions.engine.summary import ANSWER_TOKENS
from commonplace.instructions.errors import INVALID_CRITERIA, INVALID_GATES
from commonplace.instructions.service import InstructionsService
from commonplace.instructions.tools.compact import cut_lists
from commonplace.instructions.tools.shapes import Answer, CamelInput, FullInput, threaded
from commonplace.kernel.json_types import JsonObject

MAX_PROMPT_ARGUMENT = 4_000_000  # more than is reviewed: the contract answers with `truncated`


def tools(service: InstructionsService) -> tuple[Tool, ...]:
    """Return the tools of this module."""
    return (
        graph_tool(service),
        prompt_review_tool(service),
        gates_tool(service),
        verify_tool(service),
    )


class GraphExportInput(FullInput):
    include_edge_types: list[Literal["primary", "category", "belongs"]] | None = Field(
        default=None, max_length=3
    )
    max_edges: int | None = Field(default=None, ge=0)
    format: Literal["json", "dot", "mermaid"] = "json"
    enrich: bool = Field(default=False, description="Metadata on nodes. Schema 2, with weights.")
    include_category_nodes: bool = Field(default=False, description="With enrich.")
    include_usage: bool = Field(default=False, description="usageCount on nodes.")

    def options(self) -> GraphOptions:
        """Return the options of the graph."""
        types = self.include_edge_types
        return GraphOptions(
            edge_types=None if types is None else frozenset(types),
            max_edges=self.max_edges,
            enrich=self.enrich,
            category_nodes=self.include_category_nodes,
        )


GraphEdgeOutput = TypedDict(
    "GraphEdgeOutput", {"from": str, "to": str, "type": str, "weight": NotRequired[float]}
)


class GraphExportOutput(TypedDict):
    meta: JsonObject
    nodes: list[JsonObject]
    edges: list[GraphEdgeOutput]
    dot: NotRequired[str]
    mermaid: NotRequired[str]


def graph_tool(service: InstructionsService) -> Tool:
    """`graph_export`"""

    def handle(ctx: Context, args: GraphExportInput) -> Answer:
        return service.graph(
            ctx.auth,
            args.options(),
            args.format,
            with_usage=args.include_usage,
            budget=ANSWER_TOKENS if ctx.compact and not args.full else None,
        )

    return Tool(
        name="graph_export",
        toolset="instructions",
        title="Graph of instructions",
        description=(
            "Graph of instructions that share categories, as JSON, DOT or Mermaid. A large one "
            "is cut, with a note."
        ),
        input=GraphExportInput,
        output=GraphExportOutput,
        handler=threaded(service, handle),
        bare=("graph/export",),
        large=True,
    )


class HashIssueOutput(TypedDict):
    id: str
    expected: str
    actual: str


class IntegrityVerifyOutput(TypedDict):
    hash: str
    count: int
    issues: list[HashIssueOutput]
    issueCount: int
    note: NotRequired[str]


def verify_tool(service: InstructionsService) -> Tool:
    """`integrity_verify`"""

    def handle(ctx: Context, args: FullInput) -> Answer:
        report = service.verify(ctx.auth)
        answer: JsonObject = {
            "hash": report.catalogue_hash,
            "count": report.count,
            "issues": [asdict(issue) for issue in report.issues],
            "issueCount": len(report.issues),
        }
        if not ctx.compact or args.full:
            return answer
        return cut_lists(answer, ("issues",), "Set full for all.", 100)

    return Tool(
        name="integrity_verify",
        toolset="instructions",
        title="Verify integrity",
        description="Check that bodies match their stored hashes.",
        input=FullInput,
        output=IntegrityVerifyOutput,
        handler=threaded(service, handle),
        bare=("integrity/verify",),
    )


class PromptReviewInput(CamelInput):
    prompt: str = Field(
        max_length=MAX_PROMPT_ARGUMENT,
        description="At most 10,000 characters. A longer one is not reviewed.",
    )


class PromptIssueOutput(TypedDict):
    ruleId: str
    severity: str
    description: str
    match: NotRequired[str]
    position: NotRequired[int]
    category: str
    remediation: NotRequired[str]


class PromptReviewOutput(TypedDict, total=False):
    issues: list[PromptIssueOutput]
    summary: JsonObject
    length: int
    unsupportedRules: list[dict[str, str]]
    truncated: bool
    message: str
    max: int


def prompt_review_tool(service: InstructionsService) -> Tool:
    """`prompt_review`"""

    def handle(ctx: Context, args: PromptReviewInput) -> Answer:
        if len(args.prompt) > MAX_PROMPT_CHARS:
            return {
                "truncated": True,
                "message": f"The prompt has {len(args.prompt)} characters; at most "
                f"{MAX_PROMPT_CHARS} are reviewed. Send a part of it.",
                "max": MAX_PROMPT_CHARS,
            }
        return _show_review(service.review_prompt(ctx.auth, args.prompt))

    return Tool(
        name="prompt_review",
        toolset="instructions",
        title="Review a prompt",
        description="Check a prompt for secrets, injection, unsafe commands and vagueness.",
        input=PromptReviewInput,
        output=PromptReviewOutput,
        handler=threaded(service, handle),
        bare=("prompt/review",),
        errors=(INVALID_CRITERIA,),
        redact=frozenset({"prompt"}),
    )


def _show_review(review: PromptReview) -> JsonObject:
    answer: JsonObject = {
        "issues": [_show_issue(issue) for issue in review.issues],
        "summary": {"counts": review.counts(), "highestSeverity": review.highest_severity()},
        "length": review.length,
    }
    if review.unsupported:
        answer["unsupportedRules"] = [
            {"ruleId": rule.rule_id, "reason": rule.reason} for rule in review.unsupported
        ]
    return answer


def _show_issue(issue: PromptIssue) -> JsonObject:
    rule = issue.rule
    shown: JsonObject = {
        "ruleId": rule.id,
        "severity": rule.severity,
        "description": rule.description,
    }
    if issue.match is not None:
        shown |= {"match": issue.match, "position": issue.position}
    shown["category"] = rule.category
    if rule.remediation:
        shown["remediation"] = rule.remediation
    return shown


class GateResultOutput(TypedDict):
    id: str
    passed: bool
    count: int
    op: str
    value: int
    severity: str
    description: NotRequired[str]


class GatesEvaluateOutput(TypedDict):
    generatedAt: str
    results: list[GateResultOutput]
    summary: dict[str, int]
    notConfigured: NotRequired[bool]


def gates_tool(service: InstructionsService) -> Tool:
    """`gates_evaluate`"""

    def handle(ctx: Context, args: Nothing) -> Answer:
        report = service.evaluate_gates(ctx.auth)
        now = service.now()
        if report is None:
            return {"notConfigured": True, "generatedAt": now, **_show_gates(GateReport(()))}
        return {"generatedAt": now, **_show_gates(report)}

    return Tool(
        name="gates_evaluate",
        toolset="instructions",
        title="Evaluate policy gates",
        description="Check the catalogue against gates.json.",
        input=Nothing,
        output=GatesEvaluateOutput,
        handler=threaded(service, handle),
        bare=("gates/evaluate",),
        errors=(INVALID_GATES,),
    )


def _show_gates(report: GateReport) -> JsonObject:
    return {
        "results": [_show_gate(result) for result in report.results],
        "summary": {
            "errors": report.count_failed("error"),
            "warnings": report.count_failed("warn"),
            "total": len(report.results),
        },
    }


def _show_gate(result: GateResult) -> GateResultOutput:
    gate = result.gate
    shown: GateResultOutput = {
        "id": gate.id,
        "passed": result.passed,
        "count": result.count,
        "op": gate.op,
        "value": gate.value,
        "severity": gate.severity,
    }
    if gate.description is not None:
        shown["description"] = gate.description
    return shown
