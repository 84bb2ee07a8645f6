"""The last hour in slots: bounded, per tenant, expired in time."""

from __future__ import annotations

from commonplace.telemetry.timeline import MAX_TENANTS_PER_SLOT, SLOT_SECONDS, SLOTS, Timeline


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_calls_fall_into_slots_by_tenant() -> None:
    clock = Clock()
    line = Timeline(clock)
    line.record("a", 0.010, False)
    line.record("a", 0.030, True)
    line.record("b", 0.001, False)
    clock.now += SLOT_SECONDS
    line.record("a", 0.002, False)
    first, second = line.slots("a")
    assert (first.calls, first.errors, first.average_ms, first.maximum_ms) == (2, 1, 20.0, 30.0)
    assert (second.at - first.at, second.calls) == (SLOT_SECONDS, 1)
    assert [moment.calls for moment in line.slots(None)] == [3, 1]
    assert [moment.calls for moment in line.slots("nobody")] == [0, 0]


def test_slots_older_than_an_hour_are_dropped_without_calls() -> None:
    clock = Clock()
    line = Timeline(clock)
    line.record("a", 0.001, False)
    clock.now += SLOT_SECONDS * SLOTS
    assert line.slots(None) == []


def test_many_tenants_in_one_slot_share_one_tally_and_are_all_counted() -> None:
    line = Timeline(Clock())
    for number in range(MAX_TENANTS_PER_SLOT * 3):
        line.record(f"t{number}", 0.001, False)
    assert line.slots(None)[0].calls == MAX_TENANTS_PER_SLOT * 3
    assert line.slots("t1")[0].calls == 1
    assert line.slots(f"t{MAX_TENANTS_PER_SLOT + 1}")[0].calls == 0
