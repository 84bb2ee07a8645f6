"""Amounts in digits and words, with units."""

from __future__ import annotations

import pytest

from commonplace.memory.engine.claims.amounts import COUNT, INTERVAL, is_unit, read_amounts


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
        ("waits twenty-five seconds", "time", 25),
        ("attendre vingt-cinq minutes", "time", 25 * 60),
        ("gardé 24 heures", "time", 24 * 3600),
        ("one approval is enough", "approval", 1),
        ("validé par deux personnes", "approval", 2),
        ("takes a single video at a time", "video", 1),
        ("une vidéo à la fois", "vidéo", 1),
        ("six parallel videos", "video", 6),
        ("a three-week sprint", "time", 21 * 86_400),
        ("a 30-day trial", "time", 30 * 86_400),
        ("has eight mooring places", "mooring", 8),
        ("checked every two weeks", INTERVAL, 14 * 86_400),
        ("goes out monthly", INTERVAL, 30 * 86_400),
        ("contrôlé une fois par trimestre", INTERVAL, 91 * 86_400),
        ("never expires", "time", 0),
        ("gardé indéfiniment", "time", 0),
        ("iOS 14 and newer", COUNT, 14),
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


@pytest.mark.parametrize("text", ["le dimanche à deux heures", "open a video", "one video is long"])
def test_a_time_of_the_day_and_an_article_are_no_amounts(text: str) -> None:
    assert not read_amounts(text)


def test_percentages_near_the_whole_differ_by_what_is_left() -> None:
    high, higher = read_amounts("99.5 %")["%"], read_amounts("99.9 %")["%"]
    assert high.differs(higher)
    assert not read_amounts("50 %")["%"].differs(read_amounts("51 %")["%"])


def test_times_far_apart_are_not_of_one_attribute() -> None:
    answer, period = read_amounts("350 ms")["time"], read_amounts("four weeks")["time"]
    assert not answer.is_comparable(period)
    assert period.is_comparable(read_amounts("deux jours")["time"])
    assert period.is_comparable(read_amounts("0 s")["time"])
