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
    EffectiveRules,
    MergedRule,
    RuleNotice,
    RuleQuestion,
)
from commonplace.instructions.errors import INVALID_RULE_PATH, REPOSITORY_NOT_ALLOWED
from commonplace.instructions.fields import MAX_ID_CHARS
from commonplace.instructions.rules_service import MOST_PATHS, RulesService
from commonplace.instructions.service import InstructionsService
from commonplace.instructions.tools.shapes import Answer, CamelInput, threaded
from commonplace.kernel.json_types import JsonObject

MAX_TASK = 4_000
_LEVELS = ("organisation", "team", "workspace", "directory", "user")


class RulesForInput(CamelInput):
    paths: list[str] = Field(
        default_factory=list,
        max_length=MOST_PATHS,
        description="Repository paths that are read, changed or about to be created.",
    )
    task: str = Field(
        default="", max_length=MAX_TASK, description="What is to be done, in a sentence."
    )
    budget: int = Field(
        default=DEFAULT_BUDGET,
        ge=LEAST_BUDGET,
        le=MOST_BUDGET,
        description="Most tokens of the answer.",
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
        description="Ids of rules to include whatever they apply to.",
    )
    repo: str | None = Field(
        default=None,
        max_length=4_096,
        description="Folder of the repository, to read its rule files (AGENTS.md and others) too.",
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
    rules = RulesService(service.parts_of)

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
        found, understood, catalogue_hash = rules.rules_for(ctx.auth, question, args.repo)
        return show_rules(found, understood, catalogue_hash)

    return (
        Tool(
            name="rules_for",
            toolset="instructions",
            title="Rules for files",
            description=(
                "The rules in effect for files, before you read, change or create them: each with "
                "why it applies, in order of requirement and scope, within a token budget. "
                "Contradictions are settled and named, duplicates reported once. What does not "
                "fit is listed; read it with instructions_get."
            ),
            input=RulesForInput,
            output=RulesForOutput,
            handler=threaded(service, handle),
            field_codes={"paths": INVALID_RULE_PATH},
            errors=(INVALID_RULE_PATH, REPOSITORY_NOT_ALLOWED),
        ),
    )


def show_rules(found: EffectiveRules, question: RuleQuestion, catalogue_hash: str) -> JsonObject:
    """Spell the rules in effect; empty lists are left out."""
    answer: JsonObject = {
        "paths": list(question.paths),
        "rules": [_show_rule(rule) for rule in found.rules],
        "count": len(found.rules),
        "cutCount": found.cut_count,
    }
    for name, items, count in (
        ("cut", found.cut, found.cut_count),
        ("offered", found.offered, found.offered_count),
        ("leftOut", found.left_out, found.left_out_count),
    ):
        if count:
            answer[name] = [_show_notice(notice) for notice in items]
            answer[f"{name}Count"] = count
    if found.conflict_count:
        answer["conflicts"] = [
            {
                "winner": conflict.winner,
                "loser": conflict.loser,
                "reason": conflict.reason,
                **({"holds": conflict.holds, "yields": conflict.yields} if conflict.holds else {}),
            }
            for conflict in found.conflicts
        ]
        answer["conflictCount"] = found.conflict_count
    answer |= {"tokens": found.tokens, "budget": found.budget}
    if found.over_budget:
        answer["overBudget"] = True
    return {**answer, "hash": catalogue_hash}


def _show_rule(merged: MergedRule) -> JsonObject:
    rule = merged.rule
    item: JsonObject = {"ref": rule.ref, "title": rule.title}
    if merged.form == "full":
        item["text"] = rule.text
    item |= {
        "requirement": rule.requirement,
        "scope": _LEVELS[rule.level],
        "why": list(merged.reasons),
    }
    if merged.cut:
        item["cut"] = merged.cut
    if merged.overruled:
        item["overruled"] = list(merged.overruled)
    if merged.duplicates:
        item["duplicates"] = list(merged.duplicates)
    return item


def _show_notice(notice: RuleNotice) -> JsonObject:
    return {"ref": notice.ref, "title": notice.title, "reason": notice.reason}
