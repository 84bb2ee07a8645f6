"""Amounts in digits and words, with units."""

from __future__ import annotations

import pytest

from commonplace.memory.engine.claims.amounts import COUNT, is_unit, read_amounts


@pytest.mark.parametrize(
    ("text", "measure", "value"),
    [
        ("kept for six months", "time", 6 * 30 * 86_400),
        ("purgé au bout de 30 jours", "time", 30 * 86_400),
        ("a limit of 0.5 GB", "size", 5e8),
        ("sags under 2.4 V", "v", 2.4),
        ("retried 5 times", "repeats", 5),
        ("after 12 retries", "repeats", 12),
        ("batches of 1,000", COUNT, 1000),
    ],
)
def test_an_amount_is_read_in_its_base_unit(text: str, measure: str, value: float) -> None:
    assert read_amounts(text)[measure].value == pytest.approx(value)


def test_numbers_that_name_a_thing_and_small_words_are_no_amounts() -> None:
    assert read_amounts("Build 12 failed in one place") == {}


def test_equal_amounts_in_other_units_do_not_differ() -> None:
    one, other = read_amounts("a lease of 1800 seconds"), read_amounts("over 30 minutes")
    assert not one["time"].differs(other["time"])
    assert one["time"].differs(read_amounts("45 minutes")["time"])


def test_units_of_time_and_size_are_known() -> None:
    assert is_unit("months")
    assert not is_unit("Redis")
