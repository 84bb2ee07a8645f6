"""Rules in effect, as a source of context packs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from commonplace.context.engine.judging import chance_of
from commonplace.context.engine.task import TaskReading
from commonplace.context.engine.topic import LEAST_TOPIC, explain_topic, judge_topic
from commonplace.context.model import ContextCandidate, PackSection
from commonplace.context.sources import SourceAnswer
from commonplace.instructions.engine.effective.outcome import MergedRule, RuleQuestion
from commonplace.instructions.engine.scope.repository_path import normalise_path
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json
from commonplace.kernel.ref import Ref, RefKind

if TYPE_CHECKING:
    from commonplace.bootstrap.services import Services
    from commonplace.search.model import SearchHit

RULES_BUDGET = 50_000  # tokens of the rules that compete for a pack
_MATCH = " matches "
MOST_FITTING = 12  # rules that only the task selects
# Chances of rules that are in effect, before it is known whether they fit the task.
BY_PATH = 0.6
ALWAYS = 0.35


class RuleSource:
    """The rules in effect for the paths and the task."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def find(self, caller: AuthContext, task: TaskReading) -> SourceAnswer:
        """Return the rules in their order. Raises INVALID_RULE_PATH, REPOSITORY_NOT_ALLOWED."""
        instructions = self._services.instructions
        hits = await instructions.weigh(caller, task.text) if task.text else ()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(instructions.executor, self._find, caller, task, hits)

    def _find(
        self, caller: AuthContext, task: TaskReading, hits: tuple[SearchHit, ...]
    ) -> SourceAnswer:
        instructions, question = self._services.instructions, task.question
        instructions.confirmation.load()
        fitting = _find_fitting(hits)
        asked = RuleQuestion(
            question.paths,
            budget=RULES_BUDGET,
            fitting={
                key: f"fits the task: {task.spell(hit.terms)}" for key, hit in fitting.items()
            },
            mentioned=tuple(_valid_paths(task.mentioned_paths)),
        )
        found, _, _ = instructions.rules.rules_for(caller, asked, question.repo)
        return SourceAnswer([_candidate(rule, fitting) for rule in found.rules])

    async def note_use(self, caller: AuthContext, ref: str) -> bool:
        """Count a use of an instruction; rules of files have no counter."""
        if not ref.startswith(f"{RefKind.INSTRUCTION}:"):
            return False
        service = self._services.instructions
        if not service.usage_enabled:
            return False
        id_ = Ref.parse(ref).key
        return await asyncio.to_thread(service.track_use, caller, id_) is not None


def _candidate(merged: MergedRule, fitting: Mapping[str, SearchHit]) -> ContextCandidate:
    rule = merged.rule
    hit = fitting.get(rule.key)
    fits = chance_of(_topic(hit)) if hit is not None else 0.0
    marks = [f"overruled by {' and '.join(merged.winners)}: {told}" for told in merged.overruled]
    if rule.status in ("draft", "review"):
        marks.append(f"not approved: {rule.status}")
    return ContextCandidate(
        PackSection.RULES,
        rule.ref,
        rule.title,
        rule.text,
        "; ".join((rule.requirement, *merged.reasons) if rule.is_binding else merged.reasons),
        1.0 if rule.is_binding else 1 - (1 - _in_effect(merged)) * (1 - fits),
        topic=_topic(hit) if hit is not None else 0.0,
        named=True,
        binding=rule.is_binding,
        updated=rule.updated,
        marks=tuple(marks),
        also=merged.duplicates[:5],
        explain={"order": list(rule.order[:2]), **_scores(hit)},
    )


def _find_fitting(hits: tuple[SearchHit, ...]) -> dict[str, SearchHit]:
    """Return the rules that are about the task, the likeliest first."""
    about = [hit for hit in hits if _topic(hit) >= LEAST_TOPIC]
    about.sort(key=lambda hit: (-_topic(hit), hit.key))
    return {hit.key: hit for hit in about[:MOST_FITTING]}


def _topic(hit: SearchHit) -> float:
    return judge_topic(hit.words, hit.semantic)


def _in_effect(merged: MergedRule) -> float:
    """Return the chance of a rule by what brings it into effect, whatever the task."""
    if merged.rule.scope.activation == "always":
        return ALWAYS
    globs = [reason.rpartition(_MATCH)[2] for reason in merged.reasons if _MATCH in reason]
    if not globs:
        return 0.0
    return BY_PATH if any(glob.strip("*/.") for glob in globs) else ALWAYS


def _scores(hit: SearchHit | None) -> dict[str, Json]:
    if hit is None:
        return {}
    return explain_topic(hit.words, hit.semantic)


def _valid_paths(paths: tuple[str, ...]) -> Iterator[str]:
    for path in paths:
        try:
            yield normalise_path(path)
        except CommonplaceError:
            continue  # a path in a text may be of another machine
