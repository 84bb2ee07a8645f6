"""Fit rules into a token budget: binding rules always appear, at least by title and reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from functools import lru_cache

import orjson

from commonplace.instructions.engine.effective.merging import RuleMerger
from commonplace.instructions.engine.effective.outcome import (
    EffectiveRules,
    MergedRule,
    RuleNotice,
)
from commonplace.instructions.engine.effective.similarity import SimilarTexts
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
    shown, cut, cut_count = _fill(merged.rules, references, remaining)
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
    rules: Sequence[MergedRule], references: Mapping[int, int], remaining: _Budget
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
    for rule in rules:
        reserved = references.get(id(rule), 0)
        if rule.form == "full" and _fits(rule, reserved, remaining):
            repeated = texts.find_or_keep(rule.rule.shape)
            if repeated is None:
                remaining.left -= _full_tokens(rule) - reserved
                in_full.append(rule)
                shown.append(rule)
                continue
            remaining.left += reserved
            if remaining.take(_count(rule.rule.ref) + 4):
                in_full[repeated].duplicates.append(rule.rule.ref)
                continue
            remaining.left -= reserved
        if rule.rule.is_binding:
            rule.form, rule.cut = "reference", rule.cut or OVER_BUDGET
            shown.append(rule)
            continue
        cut_count += 1
        notice = RuleNotice(rule.rule.ref, rule.rule.title, OVER_BUDGET)
        is_listing = (
            is_listing and len(cut) < MOST_LISTED and remaining.take(_notice_tokens(notice))
        )
        if is_listing:
            cut.append(notice)
    return shown, cut, cut_count


def _fits(rule: MergedRule, reserved: int, remaining: _Budget) -> bool:
    most = remaining.left + reserved - ITEM_TOKENS
    # A long text is not counted, and a rule that cannot fit is not measured further.
    if len(rule.rule.text) // LONGEST_WORDS > most or rule.rule.text_tokens > most:
        return False
    return _full_tokens(rule) - reserved <= remaining.left


def _full_tokens(rule: MergedRule) -> int:
    return _reference_tokens(rule) + rule.rule.text_tokens


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


@lru_cache(maxsize=8_192)
def _count(text: str) -> int:
    """Count a text as a JSON string. Titles and references recur from question to question."""
    return count_tokens(orjson.dumps(text).decode())
