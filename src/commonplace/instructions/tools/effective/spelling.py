"""The rules in effect as the JSON that callers receive. Imports no pydantic: hooks use it too."""

from __future__ import annotations

from commonplace.instructions.engine.effective.outcome import (
    EffectiveRules,
    MergedRule,
    RuleNotice,
    RuleQuestion,
)
from commonplace.kernel.json_types import JsonObject

_LEVELS = ("organisation", "team", "workspace", "directory", "user")


def show_rules(found: EffectiveRules, question: RuleQuestion, catalogue_hash: str) -> JsonObject:
    """Spell the rules in effect; empty lists are left out."""
    answer: JsonObject = {
        "paths": list(question.paths),
        "rules": [_show_rule(rule) for rule in found.rules],
        "count": len(found.rules),
        "cutCount": found.cut_count,
    }
    for name, items, count in (
        ("cut", found.cut, found.cut_count),
        ("offered", found.offered, found.offered_count),
        ("leftOut", found.left_out, found.left_out_count),
    ):
        if count:
            answer[name] = [_show_notice(notice) for notice in items]
            answer[f"{name}Count"] = count
    if found.conflict_count:
        answer["conflicts"] = [
            {
                "winner": conflict.winner,
                "loser": conflict.loser,
                "reason": conflict.reason,
                **({"holds": conflict.holds, "yields": conflict.yields} if conflict.holds else {}),
            }
            for conflict in found.conflicts
        ]
        answer["conflictCount"] = found.conflict_count
    answer |= {"tokens": found.tokens, "budget": found.budget}
    if found.over_budget:
        answer["overBudget"] = True
    return {**answer, "hash": catalogue_hash}


def _show_rule(merged: MergedRule) -> JsonObject:
    rule = merged.rule
    item: JsonObject = {"ref": rule.ref, "title": rule.title}
    if merged.form == "full":
        item["text"] = rule.text
    item |= {
        "requirement": rule.requirement,
        "scope": _LEVELS[rule.level],
        "why": list(merged.reasons),
    }
    if merged.cut:
        item["cut"] = merged.cut
    if merged.overruled:
        item["overruled"] = list(merged.overruled)
    if merged.duplicates:
        item["duplicates"] = list(merged.duplicates)
    return item


def _show_notice(notice: RuleNotice) -> JsonObject:
    return {"ref": notice.ref, "title": notice.title, "reason": notice.reason}
