"""The results of all kinds in one order."""

from __future__ import annotations

from commonplace.context.finding.model import FoundItem
from commonplace.context.finding.searching import merge_items
from commonplace.kernel.ref import Ref, RefKind


def lesson(key: str, score: float) -> FoundItem:
    return FoundItem(Ref(RefKind.MEMORY, key), key, "text", score, ())


def test_items_that_would_be_shown_with_a_score_of_zero_are_left_out() -> None:
    merged = merge_items([lesson("A", 0.0), lesson("B", 0.0004), lesson("C", 0.002)])
    assert [item.ref.key for item in merged] == ["C"]
