"""Bring selected rules into order, report equal ones once, and settle contradictions."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator

from commonplace.instructions.engine.effective.outcome import (
    MergedRule,
    RuleConflict,
    RuleNotice,
    SelectedRule,
)
from commonplace.instructions.engine.effective.statements import Directive

_Statement = tuple[MergedRule, Directive]


class Disputes:
    """Subjects about which rules say different things, as far as the rules were seen.

    Kept as long as the rules stay the same, so that a rule is compared once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[int, int] = {}
        self._seen: set[str] = set()
        self._subjects: frozenset[int] = frozenset()

    def add(self, rules: Iterable[MergedRule]) -> frozenset[int]:
        """Take rules into account, and return the hashes of all disputed subjects."""
        disputed: set[int] = set()
        with self._lock:
            for merged in rules:
                if merged.rule.key in self._seen:
                    continue
                values = merged.rule.values
                for subject in self._values.keys() & values.keys():
                    if self._values[subject] != values[subject]:
                        disputed.add(subject)
                self._values.update(values)
                self._seen.add(merged.rule.key)
            if disputed:
                self._subjects |= disputed
            return self._subjects


class RuleMerger:
    """Rules in order: requirement, scope from wide to narrow, priority, id."""

    def __init__(self, selected: Iterable[SelectedRule], disputes: Disputes | None = None) -> None:
        self._disputes = disputes or Disputes()
        self.rules: list[MergedRule] = []
        self.conflicts: list[RuleConflict] = []
        self.left_out: list[RuleNotice] = []
        texts: dict[int, MergedRule] = {}
        for choice in sorted(selected, key=lambda choice: choice.rule.order):
            known = texts.get(choice.rule.words)
            if known is not None:
                known.duplicates.append(choice.rule.ref)
            else:
                merged = texts[choice.rule.words] = MergedRule(choice.rule, choice.reasons)
                self.rules.append(merged)
        self._settle_declared()
        self._settle_statements()
        self._drop_overruled()

    def _settle_declared(self) -> None:
        """Settle contradictions that rules declare themselves (`conflictsWith`)."""
        by_key = {merged.rule.key: merged for merged in self.rules}
        for merged in self.rules:
            for key in sorted(merged.rule.conflicts_with & by_key.keys()):
                other = by_key[key]
                if other is merged or (
                    merged.rule.key in other.rule.conflicts_with and key < merged.rule.key
                ):
                    continue  # reported from the other side
                winner = _choose_winner((merged, other))
                loser = other if winner is merged else merged
                self._overrule(winner, loser, "declared in conflictsWith")
                loser.cut = f"contradicts {winner.rule.ref}"

    def _settle_statements(self) -> None:
        for group in self._groups():
            winner, holds = _choose_statement(group)
            for loser, yields in group:
                if yields.value != holds.value and loser is not winner:
                    kind = yields.subject[0].removeprefix("#")
                    reason = (
                        f"{kind}: {yields.value} against {holds.value}"
                        if yields.subject[0].startswith("#")
                        else "one says to do what the other forbids"
                    )
                    self._overrule(winner, loser, reason, holds.text, yields.text)
                    if yields.text not in loser.overruled:
                        loser.overruled.append(yields.text)
                        loser.winners[winner.rule.ref] = None

    def _groups(self) -> Iterator[list[_Statement]]:
        """Yield statements about one subject that do not all agree, by subject."""
        present = [merged for merged in self.rules if not merged.cut]
        disputed = self._disputes.add(present)
        by_subject: dict[tuple[str, ...], list[_Statement]] = {}
        for merged in present if disputed else ():
            if merged.rule.values.keys() & disputed:
                for subject, directive in merged.rule.directives.items():
                    if hash(subject) in disputed:
                        by_subject.setdefault(subject, []).append((merged, directive))
        for _, group in sorted(by_subject.items()):
            if len({directive.value for _, directive in group}) > 1:
                yield group

    def _overrule(
        self, winner: MergedRule, loser: MergedRule, reason: str, holds: str = "", yields: str = ""
    ) -> None:
        conflict = RuleConflict(winner.rule.ref, loser.rule.ref, reason, holds, yields)
        known = any(
            (other.winner, other.loser, other.yields) == (winner.rule.ref, loser.rule.ref, yields)
            for other in self.conflicts[-8:]
        )
        if not known:
            self.conflicts.append(conflict)

    def _drop_overruled(self) -> None:
        """Leave out rules of which nothing holds; a binding one stays as a reference."""
        kept: list[MergedRule] = []
        for merged in self.rules:
            if merged.overruled and len(merged.overruled) >= merged.rule.statement_count:
                merged.cut = merged.cut or f"overruled by {', '.join(list(merged.winners)[:3])}"
            if merged.cut and not merged.rule.is_binding:
                self.left_out.append(RuleNotice(merged.rule.ref, merged.rule.title, merged.cut))
                continue
            if merged.cut:
                merged.form = "reference"
            kept.append(merged)
        self.rules = kept


def _choose_winner(rules: tuple[MergedRule, ...]) -> MergedRule:
    """Return the rule that holds: the widest binding one, else the narrowest."""
    binding = [merged for merged in rules if merged.rule.is_binding]
    if binding:
        return min(binding, key=lambda merged: (merged.rule.width, merged.rule.order))
    return min(
        rules,
        key=lambda merged: (-merged.rule.width[0], -merged.rule.width[1], merged.rule.order),
    )


def _choose_statement(group: list[_Statement]) -> _Statement:
    winner = _choose_winner(tuple(merged for merged, _ in group))
    return next(statement for statement in group if statement[0] is winner)
