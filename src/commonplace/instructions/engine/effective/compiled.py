"""Rules of one catalogue or repository, prepared for questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from commonplace.instructions.engine.effective.outcome import (
    RuleNotice,
    RuleQuestion,
    SelectedRule,
)
from commonplace.instructions.engine.effective.rule import EffectiveCandidate
from commonplace.instructions.engine.scope.path_index import PathIndex

UNAPPROVED = frozenset({"draft", "review"})
_NOT_IN_FORCE = UNAPPROVED | {"deprecated"}


class CompiledRules:
    """Candidates by key, with an index of their globs. Made once per change of the rules."""

    def __init__(self, candidates: Iterable[EffectiveCandidate]) -> None:
        self.candidates = {candidate.key: candidate for candidate in candidates}
        self._index = PathIndex(
            (key, candidate.scope) for key, candidate in self.candidates.items()
        )
        self._replacing: dict[str, list[EffectiveCandidate]] = {}
        for candidate in self.candidates.values():
            if candidate.supersedes:
                self._replacing.setdefault(candidate.supersedes, []).append(candidate)
        self._for_all: set[str] = set()  # hold for every path, and for everybody
        self._for_people: dict[tuple[str, str], set[str]] = {}
        for key in self._index.open:
            if people := _people_keys(self.candidates[key]):
                for person in people:
                    self._for_people.setdefault(person, set()).add(key)
            else:
                self._for_all.add(key)
        # Rules that are in force for everybody: chosen without looking at them again.
        self._plain = {
            key
            for key, candidate in self.candidates.items()
            if candidate.status not in _NOT_IN_FORCE
            and candidate.requirement != "deprecated"
            and key not in self._replacing
            and not _people_keys(candidate)
        }
        self._always = {
            key: SelectedRule(self.candidates[key], ("always",))
            for key in sorted(self._for_all & self._plain)
            if self.candidates[key].scope.activation == "always"
        }
        self._sometimes = self._for_all - self._always.keys()
        self._described = tuple(
            candidate
            for candidate in self.candidates.values()
            if candidate.scope.activation == "description"
        )

    @property
    def described(self) -> tuple[EffectiveCandidate, ...]:
        """The candidates whose description is judged against a task."""
        return self._described

    def choose(self, question: RuleQuestion, fitting: Mapping[str, str]) -> RuleChoice:
        """Choose the rules that apply; `fitting` has the reasons of those that fit the task."""
        choice = RuleChoice()
        reasons = self._match_paths(question.paths)
        named = dict.fromkeys(question.named)
        choice.selected += [selected for key, selected in self._always.items() if key not in named]
        own = (self._for_people.get(person, ()) for person in _asked_people(question))
        for key in self._sometimes.union(reasons, named, *own):
            candidate = self.candidates.get(key)
            if candidate is None:
                continue
            why = reasons.get(key, ())
            if key in self._plain and candidate.scope.activation == "glob" and key not in named:
                choice.selected.append(SelectedRule(candidate, why))
            else:
                self._judge(candidate, question, why, fitting, choice)
        choice.offered.sort(key=lambda notice: notice.ref)
        choice.left_out.sort(key=lambda notice: notice.ref)
        return choice

    def _match_paths(self, paths: Iterable[str]) -> dict[str, tuple[str, ...]]:
        reasons: dict[str, tuple[str, ...]] = {}
        for path in paths:
            for key, glob in self._index.matching(path).items():
                if key not in reasons:
                    reasons[key] = (f"{path} matches {glob}",)
        return reasons

    def _judge(
        self,
        candidate: EffectiveCandidate,
        question: RuleQuestion,
        reasons: tuple[str, ...],
        fitting: Mapping[str, str],
        choice: RuleChoice,
    ) -> None:
        people = _people_reasons(candidate, question)
        if people is None:
            return
        activation = candidate.scope.activation
        if candidate.key in question.named:
            why: tuple[str, ...] = ("named",)
        elif activation == "always":
            why = ("always",)
        elif activation == "glob":
            why = reasons
        elif activation == "description" and candidate.key in fitting:
            why = (fitting[candidate.key], *reasons)
        else:
            why = ()
        absent = self._find_absence(candidate, question)
        if absent:
            if why:
                choice.left_out.append(RuleNotice(candidate.ref, candidate.title, absent))
        elif why:
            choice.selected.append(SelectedRule(candidate, (*why, *people)))
        elif activation == "description":
            about = candidate.description[:200]
            choice.offered.append(RuleNotice(candidate.ref, candidate.title, about))

    def _find_absence(self, candidate: EffectiveCandidate, question: RuleQuestion) -> str:
        """Say why a rule that applies is not in force."""
        if candidate.requirement == "deprecated" or candidate.status == "deprecated":
            by = candidate.deprecated_by
            return f"deprecated, replaced by {by}" if by else "deprecated"
        if candidate.status in UNAPPROVED and not question.drafts:
            return f"not approved: {candidate.status}"
        for other in self._replacing.get(candidate.key, ()):
            in_force = other.status not in _NOT_IN_FORCE
            if (
                other is not candidate
                and in_force
                and other.requirement != "deprecated"
                and _people_reasons(other, question) is not None
            ):
                return f"superseded by {other.ref}"
        return ""


class RuleChoice:
    """What applies, what could be asked for, and what is not in force."""

    def __init__(self) -> None:
        self.selected: list[SelectedRule] = []
        self.offered: list[RuleNotice] = []
        self.left_out: list[RuleNotice] = []

    def extend(self, other: RuleChoice) -> None:
        """Add the rules of another source."""
        self.selected += other.selected
        self.offered += other.offered
        self.left_out += other.left_out


def _people_keys(candidate: EffectiveCandidate) -> tuple[tuple[str, str], ...]:
    """Return for whom a rule is, by the first kind that it names."""
    if candidate.user:
        return (("user", candidate.user.lower()),)
    if candidate.workspace:
        return (("workspace", candidate.workspace.lower()),)
    return tuple(("team", team.lower()) for team in candidate.teams)


def _asked_people(question: RuleQuestion) -> Iterable[tuple[str, str]]:
    if question.user:
        yield "user", question.user.lower()
    if question.workspace:
        yield "workspace", question.workspace.lower()
    for team in question.teams:
        yield "team", team.lower()


def _people_reasons(
    candidate: EffectiveCandidate, question: RuleQuestion
) -> tuple[str, ...] | None:
    """Return for whom a rule is; None if not for the people of the question."""
    if not (candidate.user or candidate.workspace or candidate.teams):
        return ()
    reasons: list[str] = []
    for kind, own, asked in (
        ("user", candidate.user, question.user),
        ("workspace", candidate.workspace, question.workspace),
    ):
        if own:
            if asked is None or own.lower() != asked.lower():
                return None
            reasons.append(f"{kind} {own}")
    if candidate.teams:
        asked_teams = {team.lower() for team in question.teams}
        team = next((team for team in candidate.teams if team.lower() in asked_teams), None)
        if team is None:
            return None
        reasons.append(f"team {team}")
    return tuple(reasons)
