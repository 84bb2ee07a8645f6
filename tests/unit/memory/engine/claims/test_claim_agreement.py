"""One subject or two things of one name."""

from __future__ import annotations

import pytest

from commonplace.memory.engine.claims.agreement import (
    ClaimPair,
    name_two_things,
    pair_claims,
)
from commonplace.memory.engine.claims.reading import read_claims


def pair_of_contents(a: tuple[str, str], b: tuple[str, str]) -> ClaimPair:
    pairs = pair_claims(read_claims(*a), read_claims(*b))
    return next(pair for pair in pairs if not pair.a.is_title and not pair.b.is_title)


@pytest.mark.parametrize(
    ("title_a", "a", "title_b", "b"),
    [
        (
            "Java client",
            "The Java client of the store is safe.",
            "Python client",
            "The Python client of the store is not safe.",
        ),
        (
            "Pull-ups on rev B",
            "Rev B boards have no pull-ups.",
            "Schematic of rev C",
            "From rev C on there are pull-ups on boards.",
        ),
        (
            "Note",
            "Application logs are kept for a month.",
            "Memo",
            "Audit logs are kept for a year.",
        ),
    ],
)
def test_a_shared_word_with_two_modifiers_names_two_things(
    title_a: str, a: str, title_b: str, b: str
) -> None:
    pair = pair_of_contents((title_a, a), (title_b, b))
    assert pair.is_modified_otherwise(pair.shared)


def test_opposite_modifiers_are_what_is_stated() -> None:
    title_a, title_b = "Enable HTTP/2 on the proxy", "Disable HTTP/2 on the proxy"
    pair = pair_of_contents((title_a, f"{title_a}."), (title_b, f"{title_b}."))
    assert not pair.is_modified_otherwise(pair.shared)


def test_claims_without_a_common_word_are_not_paired() -> None:
    first = read_claims("Cache", "The cache expires. Uploads are small.")
    second = read_claims("Queue", "Uploads are large. The queue is full.")
    pairs = pair_claims(first, second)
    assert [(pair.a.sentence.text, pair.b.sentence.text) for pair in pairs] == [
        ("Uploads are small.", "Uploads are large.")
    ]


def test_titles_that_differ_in_a_thing_name_two_things() -> None:
    first = read_claims("Redis for page fragments", "The fragment Redis evicts keys.")
    second = read_claims("Redis for sessions", "The session Redis evicts nothing.")
    assert name_two_things(first, second)


def test_titles_that_differ_in_a_value_do_not() -> None:
    first = read_claims("JWT expiry is 15 minutes", "JWT expiry is 15 minutes.")
    second = read_claims("JWT expiry is 24 hours", "JWT expiry is 24 hours.")
    assert not name_two_things(first, second)
