"""Bring selected rules into order, report duplicates once, and settle contradictions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from commonplace.instructions.engine.effective.outcome import (
    MergedRule,
    RuleConflict,
    RuleNotice,
    SelectedRule,
)
from commonplace.instructions.engine.effective.similarity import SimilarTexts
from commonplace.instructions.engine.effective.statements import Directive

_Statement = tuple[MergedRule, Directive]


class RuleMerger:
    """Rules in order: requirement, scope from wide to narrow, priority, id."""

    def __init__(self, selected: Iterable[SelectedRule]) -> None:
        self.rules: list[MergedRule] = []
        self.conflicts: list[RuleConflict] = []
        self.left_out: list[RuleNotice] = []
        texts = SimilarTexts()
        for choice in sorted(selected, key=lambda choice: choice.rule.order):
            repeated = texts.find_or_keep(choice.rule.shape)
            if repeated is not None:
                self.rules[repeated].duplicates.append(choice.rule.ref)
            else:
                self.rules.append(MergedRule(choice.rule, choice.reasons))
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
                    reason = f"{yields.subject[0]}: {yields.value} against {holds.value}"
                    self._overrule(winner, loser, reason, holds.text, yields.text)
                    if yields.text not in loser.overruled:
                        loser.overruled.append(yields.text)
                        loser.winners[winner.rule.ref] = None

    def _groups(self) -> Iterator[list[_Statement]]:
        """Yield statements about one subject that do not all agree."""
        by_subject: dict[tuple[str, ...], list[_Statement]] = {}
        for merged in self.rules:
            if merged.cut:
                continue
            own: dict[tuple[str, ...], Directive | None] = {}
            for directive in merged.rule.directives:
                known = own.setdefault(directive.subject, directive)
                if known is not None and known.value != directive.value:
                    own[directive.subject] = None  # it contradicts itself, so it decides nothing
            for subject, settled in own.items():
                if settled is not None:
                    by_subject.setdefault(subject, []).append((merged, settled))
        for group in by_subject.values():
            if len(group) > 1 and len({directive.value for _, directive in group}) > 1:
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
