"""Tool that returns the rules in effect for paths."""

from __future__ import annotations

from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Context, Tool
from commonplace.instructions.engine.effective.outcome import (
    DEFAULT_BUDGET,
    LEAST_BUDGET,
    MOST_BUDGET,
    RuleQuestion,
)
from commonplace.instructions.errors import INVALID_RULE_PATH, REPOSITORY_NOT_ALLOWED
from commonplace.instructions.fields import MAX_ID_CHARS
from commonplace.instructions.rules_service import MOST_PATHS
from commonplace.instructions.service import InstructionsService
from commonplace.instructions.tools.effective.spelling import show_rules
from commonplace.instructions.tools.shapes import Answer, CamelInput, threaded

MAX_TASK = 4_000


class RulesForInput(CamelInput):
    paths: list[str] = Field(
        default_factory=list,
        max_length=MOST_PATHS,
        description="Repository paths you read, change or create.",
    )
    task: str = Field(default="", max_length=MAX_TASK, description="What is to be done.")
    budget: int = Field(
        default=DEFAULT_BUDGET,
        ge=LEAST_BUDGET,
        le=MOST_BUDGET,
        description="Most tokens.",
    )
    user: str | None = Field(default=None, max_length=200, description="By default of the key.")
    workspace: str | None = Field(
        default=None, max_length=200, description="By default of the settings."
    )
    teams: list[str] = Field(
        default_factory=list, max_length=100, description="By default the tenant of the key."
    )
    named: list[str] = Field(
        default_factory=list,
        max_length=50,
        description="Ids of rules to include anyway.",
    )
    repo: str | None = Field(
        default=None,
        max_length=4_096,
        description="Folder with rule files to read too. Such as AGENTS.md.",
    )


class RuleItem(TypedDict):
    ref: str
    title: str
    text: NotRequired[str]
    requirement: str
    scope: str
    why: list[str]
    cut: NotRequired[str]
    overruled: NotRequired[list[str]]
    duplicates: NotRequired[list[str]]


class RuleNoticeItem(TypedDict):
    ref: str
    title: str
    reason: str


class RuleConflictItem(TypedDict):
    winner: str
    loser: str
    reason: str
    holds: NotRequired[str]
    yields: NotRequired[str]


class RulesForOutput(TypedDict):
    paths: list[str]
    rules: list[RuleItem]
    count: int
    cut: NotRequired[list[RuleNoticeItem]]
    cutCount: int
    conflicts: NotRequired[list[RuleConflictItem]]
    conflictCount: NotRequired[int]
    offered: NotRequired[list[RuleNoticeItem]]
    offeredCount: NotRequired[int]
    leftOut: NotRequired[list[RuleNoticeItem]]
    leftOutCount: NotRequired[int]
    tokens: int
    budget: int
    overBudget: NotRequired[bool]
    hash: str


def tools(service: InstructionsService) -> tuple[Tool, ...]:
    """Return the tool `rules_for`."""

    def handle(ctx: Context, args: RulesForInput) -> Answer:
        question = RuleQuestion(
            tuple(args.paths),
            args.task,
            args.budget,
            args.user or None,
            args.workspace or None,
            tuple(args.teams),
            tuple(name[:MAX_ID_CHARS] for name in args.named),
        )
        found, understood, catalogue_hash = service.rules.rules_for(ctx.auth, question, args.repo)
        return show_rules(found, understood, catalogue_hash)

    return (
        Tool(
            name="rules_for",
            toolset="instructions",
            title="Rules for files",
            description=(
                "Rules in effect for files: ask before you change or create them. Each says why "
                "it applies; contradictions are settled. What does not fit the budget is listed; "
                "read it with instructions_get."
            ),
            input=RulesForInput,
            output=RulesForOutput,
            handler=threaded(service, handle),
            field_codes={"paths": INVALID_RULE_PATH},
            errors=(INVALID_RULE_PATH, REPOSITORY_NOT_ALLOWED),
            core=True,
            large=True,
        ),
    )
