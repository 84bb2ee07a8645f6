"""Ids of entries."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from commonplace.memory.ulid import Ulids, encode, is_ulid, read_prefix

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def test_ulids_increase_within_a_millisecond_and_when_the_clock_goes_back() -> None:
    ulids = Ulids()
    made = (
        [ulids.next(NOW) for _ in range(1000)]
        + [ulids.next(NOW - timedelta(seconds=5))]
        + [ulids.next(NOW + timedelta(seconds=1))]
    )
    assert made == sorted(set(made))
    assert all(is_ulid(id_) for id_ in made)


def test_a_ulid_begins_with_its_time() -> None:
    milliseconds = int(NOW.timestamp() * 1000)
    assert Ulids().next(NOW)[:10] == encode(milliseconds << 80)[:10]


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("01hx1", "01HX1"),
        (" 01HX12 ", "01HX12"),
        ("O1hxl", "01HX1"),
        ("01HX", None),
        ("01HX%", None),
        ("01HX1" * 6, None),
        ("", None),
    ],
)
def test_a_typed_prefix_is_normalised(typed: str, read: str | None) -> None:
    assert read_prefix(typed) == read
