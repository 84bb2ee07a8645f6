"""Fit rules into a token budget: binding rules always appear, at least by title and reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple

import orjson

from commonplace.instructions.engine.effective.merging import RuleMerger
from commonplace.instructions.engine.effective.outcome import (
    EffectiveRules,
    MergedRule,
    RuleNotice,
)
from commonplace.kernel.tokens import count_tokens

FRAME_TOKENS = 140  # names and counts around the lists
ITEM_TOKENS = 45  # names and signs around the values of one rule
NOTICE_TOKENS = 25
MOST_LISTED = 20  # of each list beside the rules
MOST_DUPLICATES = 10  # listed of one rule
LONGEST_WORDS = 16  # characters of one token, at most: a text with fewer tokens is not counted
OVER_BUDGET = "over budget"


class _Budget:
    def __init__(self, tokens: int) -> None:
        self.left = tokens

    def take(self, tokens: int) -> bool:
        """Take tokens if they are left."""
        if tokens > self.left:
            return False
        self.left -= tokens
        return True


def fit(
    merged: RuleMerger,
    offered: Sequence[RuleNotice],
    left_out: Sequence[RuleNotice],
    paths: Sequence[str],
    budget: int,
) -> EffectiveRules:
    """Fill the budget in order: references of binding rules, rules, conflicts, other lists."""
    frame = FRAME_TOKENS + sum(map(_count, paths))
    remaining = _Budget(budget - frame)
    references = {
        id(rule): _reference_tokens(rule) for rule in merged.rules if rule.rule.is_binding
    }
    remaining.left -= sum(references.values())
    conflicts = [
        conflict
        for conflict in merged.conflicts[:MOST_LISTED]
        if remaining.take(NOTICE_TOKENS + sum(map(_count, astuple(conflict))))
    ]
    shown: list[MergedRule] = []
    cut: list[RuleNotice] = []
    cut_count = 0
    for rule in merged.rules:
        reserved = references.get(id(rule), 0)
        if rule.form == "reference" or not _fits(rule, reserved, remaining):
            if rule.rule.is_binding:
                rule.form, rule.cut = "reference", rule.cut or OVER_BUDGET
                shown.append(rule)
                continue
            cut_count += 1
            if len(cut) < MOST_LISTED:
                notice = RuleNotice(rule.rule.ref, rule.rule.title, OVER_BUDGET)
                if remaining.take(_notice_tokens(notice)):
                    cut.append(notice)
            continue
        shown.append(rule)
    listed_offers = _list(offered, remaining)
    listed_absences = _list([*merged.left_out, *left_out], remaining)
    return EffectiveRules(
        tuple(shown),
        tuple(cut),
        cut_count,
        tuple(conflicts),
        len(merged.conflicts),
        listed_offers,
        len(offered),
        listed_absences,
        len(merged.left_out) + len(left_out),
        budget - remaining.left,
        budget,
    )


def _fits(rule: MergedRule, reserved: int, remaining: _Budget) -> bool:
    most = remaining.left + reserved - ITEM_TOKENS
    # A long text is not counted, and a rule that cannot fit is not measured further.
    if len(rule.rule.text) // LONGEST_WORDS > most or rule.rule.text_tokens > most:
        return False
    return remaining.take(_reference_tokens(rule) + rule.rule.text_tokens - reserved)


def _reference_tokens(rule: MergedRule) -> int:
    rule.duplicates[MOST_DUPLICATES:] = []
    values = (rule.rule.title, rule.rule.ref, *rule.reasons, *rule.duplicates, *rule.overruled)
    return ITEM_TOKENS + sum(map(_count, values)) + 4 * len(values)


def _notice_tokens(notice: RuleNotice) -> int:
    return NOTICE_TOKENS + sum(map(_count, (notice.ref, notice.title, notice.reason)))


def _list(notices: Sequence[RuleNotice], remaining: _Budget) -> tuple[RuleNotice, ...]:
    return tuple(
        notice for notice in notices[:MOST_LISTED] if remaining.take(_notice_tokens(notice))
    )


def _count(text: str) -> int:
    """Count a text as a JSON string."""
    return count_tokens(orjson.dumps(text).decode())
