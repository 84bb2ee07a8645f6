"""Fit rules into a token budget: binding rules always appear, at least by title and reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from functools import lru_cache
from itertools import takewhile

from commonplace.instructions.engine.effective.merging import RuleMerger
from commonplace.instructions.engine.effective.outcome import (
    EffectiveRules,
    MergedRule,
    RuleNotice,
)
from commonplace.instructions.engine.effective.rule import count_json_tokens
from commonplace.instructions.engine.effective.similarity import SimilarTexts

FRAME_TOKENS = 140  # names and counts around the lists
ITEM_TOKENS = 45  # names and signs around the values of one rule
NOTICE_TOKENS = 25
MOST_LISTED = 20  # of each list beside the rules
MOST_DUPLICATES = 10  # listed of one rule
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
    binding = takewhile(lambda choice: choice.rule.is_binding, merged.rules)  # they come first
    references = {choice.rule.key: _reference_tokens(merged.merge(choice)) for choice in binding}
    remaining.left -= sum(references.values())
    conflicts = [
        conflict
        for conflict in merged.conflicts[:MOST_LISTED]
        if remaining.take(NOTICE_TOKENS + sum(map(_count, astuple(conflict))))
    ]
    shown, cut, cut_count = _fill(merged, references, remaining)
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


def _fill(
    merged: RuleMerger, references: Mapping[str, int], remaining: _Budget
) -> tuple[list[MergedRule], list[RuleNotice], int]:
    """Return the rules to show, those to list as cut, and how many were cut.

    A rule that would be shown but nearly repeats one that is shown is named there instead.
    """
    shown: list[MergedRule] = []
    texts = SimilarTexts()
    in_full: list[MergedRule] = []
    cut: list[RuleNotice] = []
    cut_count = 0
    is_listing = True
    for choice in merged.rules:
        rule = choice.rule
        reserved = references[rule.key] if rule.is_binding else 0
        room = remaining.left + reserved - ITEM_TOKENS
        # Most rules of a large catalogue do not fit: they are compared, and not measured further.
        if rule.least_tokens <= room and rule.text_tokens <= room:
            entry = merged.merge(choice)
            needed = _reference_tokens(entry) + rule.text_tokens - reserved
            if entry.form == "full" and needed <= remaining.left:
                repeated = texts.find_or_keep(rule.shape)
                if repeated is None:
                    remaining.left -= needed
                    in_full.append(entry)
                    shown.append(entry)
                    continue
                remaining.left += reserved
                if remaining.take(_count(rule.ref) + 4):
                    in_full[repeated].duplicates += (rule.ref,)
                    continue
                remaining.left -= reserved
        if rule.is_binding:
            entry = merged.merge(choice)
            entry.form, entry.cut = "reference", entry.cut or OVER_BUDGET
            shown.append(entry)
            continue
        cut_count += 1
        if is_listing:
            notice = RuleNotice(rule.ref, rule.title, OVER_BUDGET)
            is_listing = len(cut) < MOST_LISTED and remaining.take(_notice_tokens(notice))
            if is_listing:
                cut.append(notice)
    return shown, cut, cut_count


def _reference_tokens(rule: MergedRule) -> int:
    rule.duplicates = rule.duplicates[:MOST_DUPLICATES]
    values = (*rule.reasons, *rule.duplicates, *rule.overruled)
    listed = sum(map(_count, values)) + 4 * (2 + len(values))
    return ITEM_TOKENS + rule.rule.label_tokens + listed


def _notice_tokens(notice: RuleNotice) -> int:
    return NOTICE_TOKENS + sum(map(_count, (notice.ref, notice.title, notice.reason)))


def _list(notices: Sequence[RuleNotice], remaining: _Budget) -> tuple[RuleNotice, ...]:
    return tuple(
        notice for notice in notices[:MOST_LISTED] if remaining.take(_notice_tokens(notice))
    )


@lru_cache(maxsize=8_192)
def _count(text: str) -> int:
    """Count a text as a JSON string. Titles and references recur from question to question."""
    return count_json_tokens(text)
