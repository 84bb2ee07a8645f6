"""One subject or two things of one name."""

from __future__ import annotations

import pytest

from commonplace.memory.engine.claims.agreement import (
    is_modified_otherwise,
    name_two_things,
    shared_subject,
)
from commonplace.memory.engine.claims.reading import read_claims


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
    first, second = read_claims(title_a, a), read_claims(title_b, b)
    claim_a, claim_b = first.claims[1], second.claims[1]
    shared = shared_subject(first, second, claim_a, claim_b)
    assert is_modified_otherwise(first, second, claim_a, claim_b, shared)


def test_opposite_modifiers_are_what_is_stated() -> None:
    first = read_claims("Enable HTTP/2 on the proxy", "Enable HTTP/2 on the proxy.")
    second = read_claims("Disable HTTP/2 on the proxy", "Disable HTTP/2 on the proxy.")
    claim_a, claim_b = first.claims[1], second.claims[1]
    shared = shared_subject(first, second, claim_a, claim_b)
    assert not is_modified_otherwise(first, second, claim_a, claim_b, shared)


def test_titles_that_differ_in_a_thing_name_two_things() -> None:
    first = read_claims("Redis for page fragments", "The fragment Redis evicts keys.")
    second = read_claims("Redis for sessions", "The session Redis evicts nothing.")
    assert name_two_things(first, second)


def test_titles_that_differ_in_a_value_do_not() -> None:
    first = read_claims("JWT expiry is 15 minutes", "JWT expiry is 15 minutes.")
    second = read_claims("JWT expiry is 24 hours", "JWT expiry is 24 hours.")
    assert not name_two_things(first, second)
