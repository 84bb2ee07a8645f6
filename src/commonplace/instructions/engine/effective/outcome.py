"""Values of a question for rules, and of its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from commonplace.instructions.engine.effective.rule import EffectiveCandidate

DEFAULT_BUDGET = 8_000  # tokens; clients warn from 10,000
LEAST_BUDGET = 200
MOST_BUDGET = 200_000

RuleForm = Literal["full", "reference"]


@dataclass(frozen=True, slots=True)
class RuleQuestion:
    """Which rules are in effect: for paths of a repository, for people, for a task.

    `named` are the ids of rules to include whatever their activation. `drafts`: rules that nobody
    approved yet count too. `fitting` are the reasons of rules that fit the task, by id, where the
    asker judged that; None: descriptions are compared with the task. `mentioned` are
    normalised paths that rules may match, but that do not say which files are meant.
    """

    paths: tuple[str, ...] = ()
    task: str = ""
    budget: int = DEFAULT_BUDGET
    user: str | None = None
    workspace: str | None = None
    teams: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    drafts: bool = False
    fitting: Mapping[str, str] | None = None
    mentioned: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SelectedRule:
    """A rule that applies, and why."""

    rule: EffectiveCandidate
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RuleNotice:
    """A rule that is not shown in full, and why."""

    ref: str
    title: str
    reason: str
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class RuleConflict:
    """Two rules that contradict each other: which one holds, and what each says."""

    winner: str
    loser: str
    reason: str
    holds: str = ""  # statement of the winner
    yields: str = ""  # statement of the loser


@dataclass(slots=True)
class MergedRule:
    """A selected rule with the rules that repeat it and the statements that others overrule."""

    rule: EffectiveCandidate
    reasons: tuple[str, ...]
    duplicates: tuple[str, ...] = ()
    overruled: tuple[str, ...] = ()
    winners: tuple[str, ...] = ()  # the rules that overrule it
    form: RuleForm = "full"
    cut: str = ""  # why it is a reference


@dataclass(frozen=True, slots=True)
class EffectiveRules:
    """The answer: rules in order, what was cut, contradictions, and what was left out.

    Counts are of everything; the lists contain as many as the budget allows.
    """

    rules: tuple[MergedRule, ...]
    cut: tuple[RuleNotice, ...]
    cut_count: int
    conflicts: tuple[RuleConflict, ...]
    conflict_count: int
    offered: tuple[RuleNotice, ...]
    offered_count: int
    left_out: tuple[RuleNotice, ...]
    left_out_count: int
    tokens: int
    budget: int

    @property
    def over_budget(self) -> bool:
        """Tell whether the binding rules need more than the budget, even as references."""
        return self.tokens > self.budget
