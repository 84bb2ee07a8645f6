"""Rules of one catalogue or repository, prepared for questions."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Generic, TypeVar

from commonplace.instructions.engine.effective.outcome import (
    RuleNotice,
    RuleQuestion,
    SelectedRule,
)
from commonplace.instructions.engine.effective.rule import EffectiveCandidate
from commonplace.instructions.engine.scope.path_index import PathIndex

T = TypeVar("T")
UNAPPROVED = frozenset({"draft", "review"})
_NOT_IN_FORCE = UNAPPROVED | {"deprecated"}


class _Ordered(Generic[T]):
    """Values in the order of distinct keys."""

    def __init__(self) -> None:
        self._keys: list[tuple[object, ...]] = []
        self.values: list[T] = []

    def put(self, key: tuple[object, ...], value: T) -> None:
        at = bisect_left(self._keys, key)
        self._keys.insert(at, key)
        self.values.insert(at, value)

    def drop(self, key: tuple[object, ...]) -> None:
        at = bisect_left(self._keys, key)
        if at < len(self._keys) and self._keys[at] == key:
            del self._keys[at], self.values[at]


class CompiledRules:
    """Rules by what brings them into effect. Changed rule by rule; not thread-safe."""

    def __init__(self, candidates: Iterable[EffectiveCandidate] = ()) -> None:
        self.candidates: dict[str, EffectiveCandidate] = {}
        self._index = PathIndex()
        self._replacing: dict[str, dict[str, EffectiveCandidate]] = {}  # by what they supersede
        # Rules for every path, by the people they are for; the others are for everybody.
        self._for_people: dict[tuple[str, str], set[str]] = {}
        # Rules that are in force for everybody and every path need not be looked at again.
        self._always: _Ordered[SelectedRule] = _Ordered()
        self._offers: _Ordered[tuple[EffectiveCandidate, RuleNotice]] = _Ordered()
        self._sometimes: set[str] = set()
        for candidate in candidates:
            self.put(candidate)

    def put(self, candidate: EffectiveCandidate) -> None:
        """Add or replace a rule."""
        self.drop(candidate.key)
        self.candidates[candidate.key] = candidate
        self._index.put(candidate.key, candidate.scope)
        self._file(candidate)
        self._note_replacement(candidate, self._add_replacement)

    def drop(self, key: str) -> None:
        """Remove a rule."""
        candidate = self.candidates.pop(key, None)
        if candidate is None:
            return
        self._unfile(candidate)
        self._index.drop(key)
        self._note_replacement(candidate, self._drop_replacement)

    def _note_replacement(
        self, candidate: EffectiveCandidate, note: Callable[[EffectiveCandidate], None]
    ) -> None:
        """Take into account what a rule supersedes; that is then filed in another place."""
        if not candidate.supersedes:
            return
        replaced = self.candidates.get(candidate.supersedes)
        if replaced is not None:
            self._unfile(replaced)
        note(candidate)
        if replaced is not None:
            self._file(replaced)

    def _add_replacement(self, candidate: EffectiveCandidate) -> None:
        self._replacing.setdefault(candidate.supersedes or "", {})[candidate.key] = candidate

    def _drop_replacement(self, candidate: EffectiveCandidate) -> None:
        others = self._replacing[candidate.supersedes or ""]
        del others[candidate.key]
        if not others:
            del self._replacing[candidate.supersedes or ""]

    def _file(self, candidate: EffectiveCandidate) -> None:
        """Put a rule for every path where questions find it; manual ones are found by name."""
        activation, key = candidate.scope.activation, candidate.key
        if not candidate.scope.is_open or activation == "manual":
            return
        people = people_keys(candidate)
        for person in people:
            self._for_people.setdefault(person, set()).add(key)
        if people:
            return
        if not self._is_plain(candidate):
            self._sometimes.add(key)
        elif activation == "always":
            self._always.put(candidate.order, SelectedRule(candidate, ("always",)))
        else:
            self._offers.put((candidate.ref,), (candidate, _offer(candidate)))

    def _unfile(self, candidate: EffectiveCandidate) -> None:
        for person in people_keys(candidate):
            self._for_people.get(person, set()).discard(candidate.key)
        self._sometimes.discard(candidate.key)
        self._always.drop(candidate.order)
        self._offers.drop((candidate.ref,))

    def _is_plain(self, candidate: EffectiveCandidate) -> bool:
        """Tell whether a rule is in force for everybody."""
        return (
            candidate.status not in _NOT_IN_FORCE
            and candidate.requirement != "deprecated"
            and candidate.key not in self._replacing
            and not people_keys(candidate)
        )

    def choose(self, question: RuleQuestion, fitting: Mapping[str, str]) -> RuleChoice:
        """Choose the rules that apply; `fitting` has the reasons of those that fit the task."""
        choice = RuleChoice()
        judged_alone = {*question.named, *fitting}
        always = self._always.values
        choice.selected += (
            [chosen for chosen in always if chosen.rule.key not in judged_alone]
            if judged_alone
            else always
        )
        choice.offered += [
            offer for candidate, offer in self._offers.values if candidate.key not in judged_alone
        ]
        matches = self._match_paths((*question.paths, *question.mentioned))
        own = (self._for_people.get(person, ()) for person in asked_people(question))
        for key in self._sometimes.union(matches, judged_alone, *own):
            judged = self.candidates.get(key)
            if judged is not None:
                self._judge(judged, question, matches.get(key, ()), fitting, choice)
        choice.offered.sort(key=attrgetter("ref"))
        choice.left_out.sort(key=attrgetter("ref"))
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
        activation = candidate.scope.activation
        fits = (fitting[candidate.key],) if candidate.key in fitting else ()
        is_named = candidate.key in question.named
        if not (candidate.scope.is_open or is_named or reasons) and question.paths:
            return  # where paths are known they decide: a rule for other files is not in effect
        if activation == "glob" and not is_named:
            reasons += fits
            if not reasons:
                return
            if self._is_plain(candidate):
                choice.selected.append(SelectedRule(candidate, reasons))
                return
        people = _people_reasons(candidate, question)
        if people is None:
            return
        if is_named:
            why: tuple[str, ...] = ("named",)
        elif activation == "always":
            why = ("always", *fits)
        elif activation == "glob":
            why = reasons
        elif activation == "description" and fits:
            why = (*fits, *reasons)
        else:
            why = ()
        absent = self._find_absence(candidate, question)
        if absent:
            if why:
                choice.left_out.append(RuleNotice(candidate.ref, candidate.title, absent))
        elif why:
            choice.selected.append(SelectedRule(candidate, (*why, *people)))
        elif activation == "description":
            choice.offered.append(_offer(candidate))

    def _find_absence(self, candidate: EffectiveCandidate, question: RuleQuestion) -> str:
        """Say why a rule that applies is not in force."""
        if candidate.requirement == "deprecated" or candidate.status == "deprecated":
            by = candidate.deprecated_by
            return f"deprecated, replaced by {by}" if by else "deprecated"
        if candidate.status in UNAPPROVED and not question.drafts:
            return f"not approved: {candidate.status}"
        for _, other in sorted(self._replacing.get(candidate.key, {}).items()):
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


def is_for(candidate: EffectiveCandidate, question: RuleQuestion) -> bool:
    """Tell whether a rule is for the people of a question."""
    return _people_reasons(candidate, question) is not None


def _offer(candidate: EffectiveCandidate) -> RuleNotice:
    return RuleNotice(candidate.ref, candidate.title, candidate.description[:200])


def people_keys(candidate: EffectiveCandidate) -> tuple[tuple[str, str], ...]:
    """Return for whom a rule is, by the first kind that it names."""
    if candidate.user:
        return (("user", candidate.user.lower()),)
    if candidate.workspace:
        return (("workspace", candidate.workspace.lower()),)
    return tuple(("team", team.lower()) for team in candidate.teams)


def asked_people(question: RuleQuestion) -> Iterable[tuple[str, str]]:
    """Yield the people of a question, each with its kind."""
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
