"""Bring selected rules into order, report equal ones once, and settle contradictions."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from commonplace.instructions.engine.effective.comparing import ComparedTexts, TextOverlaps
from commonplace.instructions.engine.effective.outcome import (
    MergedRule,
    RuleConflict,
    RuleNotice,
    SelectedRule,
)

if TYPE_CHECKING:
    from commonplace.instructions.engine.statements.directives import Directive

_Statement = tuple[MergedRule, "Directive"]


class RuleMerger:
    """Rules in order: requirement, scope from wide to narrow, priority, id.

    Only rules that others may repeat or contradict are looked at one by one.
    """

    def __init__(
        self, selected: Sequence[SelectedRule], overlaps: TextOverlaps | None = None
    ) -> None:
        if overlaps is None:
            texts = ComparedTexts(choice.rule for choice in selected)
            overlaps = texts.overlaps([choice.rule.key for choice in selected])
        self._overlaps = overlaps
        self.conflicts: list[RuleConflict] = []
        self.left_out: list[RuleNotice] = []
        ordered = sorted(selected, key=attrgetter("rule.order"))
        noted = overlaps.repeated | overlaps.contested | overlaps.declared
        self._noted = {
            choice.rule.key: MergedRule(choice.rule, choice.reasons)
            for choice in (ordered if noted else ())
            if choice.rule.key in noted
        }
        dropped = {*self._drop_repeated(), *self._settle()}
        self.rules = (
            [choice for choice in ordered if choice.rule.key not in dropped] if dropped else ordered
        )

    def merge(self, choice: SelectedRule) -> MergedRule:
        """Return a selected rule with what was found about it."""
        return self._noted.get(choice.rule.key) or MergedRule(choice.rule, choice.reasons)

    def _drop_repeated(self) -> list[str]:
        """Name rules with the words of an earlier one there; return their keys."""
        first: dict[int, MergedRule] = {}
        repeating = []
        for key, merged in self._noted.items():
            if key in self._overlaps.repeated:
                known = first.setdefault(merged.rule.words, merged)
                if known is not merged:
                    known.duplicates += (merged.rule.ref,)
                    repeating.append(key)
        for key in repeating:
            del self._noted[key]
        return repeating

    def _settle(self) -> list[str]:
        """Settle contradictions; return the keys of rules of which nothing holds."""
        self._settle_declared()
        self._settle_statements()
        return list(self._drop_overruled())

    def put_first(self, keys: Container[str]) -> None:
        """Move some rules before the others; binding ones stay at the start."""
        self.rules.sort(key=lambda choice: not (choice.rule.is_binding or choice.rule.key in keys))

    def _settle_declared(self) -> None:
        """Settle contradictions that rules declare themselves (`conflictsWith`)."""
        for merged in self._noted.values():
            for key in sorted(merged.rule.conflicts_with & self._noted.keys()):
                other = self._noted[key]
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
                if loser is not winner and yields.opposes(holds):
                    reason = yields.describe_against(holds)
                    self._overrule(winner, loser, reason, holds.text, yields.text)
                    if yields.text not in loser.overruled:
                        loser.overruled += (yields.text,)
                        loser.winners = tuple(dict.fromkeys((*loser.winners, winner.rule.ref)))

    def _groups(self) -> Iterator[list[_Statement]]:
        """Yield statements about one subject that do not all agree, by subject."""
        contested, disputed = self._overlaps.contested, self._overlaps.disputed
        by_subject: dict[tuple[str, ...], list[_Statement]] = {}
        for key, merged in self._noted.items():
            if key in contested and not merged.cut:
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

    def _drop_overruled(self) -> Iterator[str]:
        """Leave out rules of which nothing holds; a binding one stays as a reference."""
        for key, merged in self._noted.items():
            if merged.overruled and len(merged.overruled) >= merged.rule.statement_count:
                merged.cut = merged.cut or f"overruled by {', '.join(merged.winners[:3])}"
            if merged.cut and merged.rule.is_binding:
                merged.form = "reference"
            elif merged.cut:
                self.left_out.append(RuleNotice(merged.rule.ref, merged.rule.title, merged.cut))
                yield key


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
