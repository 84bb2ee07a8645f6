"""Strength moves with reports of use, freshness with time; both only order."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from commonplace.memory.engine.strength import (
    HALF_LIFE_DAYS,
    LEAST_WEIGHT,
    find_strength,
    rate_reliability,
)
from commonplace.memory.model import Entry, EntryStatus, EntryType, EntryUsage, MemoryType

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def make_entry(type_: EntryType = EntryType.CONFIG, confidence: int = 3) -> Entry:
    return Entry(
        id="01J00000000000000000000000",
        type=type_,
        title="Pool size",
        content="",
        tags=(),
        project=None,
        confidence=confidence,
        status=EntryStatus.ACTIVE,
        memory_type=MemoryType.EPISODIC,
        created_at=NOW,
        updated_at=NOW,
    )


def test_without_reports_the_strength_is_the_given_confidence() -> None:
    assert [find_strength(confidence, 0, 0) for confidence in range(6)] == [
        0.0,
        0.2,
        0.4,
        0.6,
        0.8,
        1.0,
    ]


def test_reports_move_the_strength_within_its_bounds() -> None:
    assert find_strength(3, 1, 0) > find_strength(3, 0, 0) > find_strength(3, 0, 1)
    assert find_strength(3, 1_000_000, 0) <= 1.0
    assert find_strength(3, 0, 1_000_000) >= 0.0
    assert find_strength(3, 4, 4) == pytest.approx(0.5333)


@pytest.mark.parametrize("type_", list(EntryType))
def test_an_unused_entry_is_half_as_fresh_after_its_half_life(type_: EntryType) -> None:
    now = NOW + timedelta(days=HALF_LIFE_DAYS[type_])
    assert rate_reliability(make_entry(type_), EntryUsage(), now).freshness == 0.5


def test_a_read_or_a_confirmation_makes_an_entry_fresh_again() -> None:
    later = NOW + timedelta(days=400)
    entry = make_entry()
    old = rate_reliability(entry, EntryUsage(), later)
    read = rate_reliability(entry, EntryUsage(1, later), later)
    confirmed = rate_reliability(entry, EntryUsage(1, NOW, 1, 0, later), later)
    assert old.weight < read.weight == confirmed.weight == 1.0
    assert confirmed.strength > read.strength == old.strength


def test_a_refutation_lowers_the_weight_and_a_low_confidence_does_not() -> None:
    refuted = rate_reliability(make_entry(), EntryUsage(3, NOW, 0, 3), NOW)
    unsure = rate_reliability(make_entry(confidence=0), EntryUsage(), NOW)
    assert LEAST_WEIGHT <= refuted.weight < unsure.weight == 1.0


def test_the_weight_never_falls_below_its_bound() -> None:
    ancient = replace(make_entry(), updated_at=NOW - timedelta(days=20_000))
    worst = rate_reliability(ancient, EntryUsage(9, NOW - timedelta(days=9_000), 0, 99), NOW)
    assert worst.weight == LEAST_WEIGHT
