"""From which similarity on pairs of entries are proposed."""

from __future__ import annotations

from datetime import UTC, datetime

from commonplace.memory.engine.suggest import (
    SettledPairs,
    SimilarityCandidate,
    Thresholds,
    nearest,
    propose_pairs,
)
from commonplace.memory.model import Draft, EntryType

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


def propose(first: str, second: str, cosine: float) -> list[str]:
    a, b = (
        Draft(EntryType.REFERENCE, "Load tests", text).entry(number, MOMENT)
        for number, text in (("1", first), ("2", second))
    )
    near = nearest(b, [SimilarityCandidate(a, cosine)], {})
    return [p.type.value for p in propose_pairs(b, near, SettledPairs(), Thresholds())]


def test_a_contradiction_is_proposed_farther_away_than_a_link() -> None:
    old, new = "Load tests are run with Locust.", "Load tests are run with k6."
    assert propose(old, new, 0.36) == ["contradiction"]
    assert propose(old, new, 0.34) == []
    assert propose(old, "Load tests start at noon.", 0.74) == []
