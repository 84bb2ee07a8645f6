"""What a sentence denies, removes, orders and names."""

from __future__ import annotations

import pytest

from commonplace.memory.engine.claims.reading import Claim, read_claims


def claim(text: str) -> Claim:
    return read_claims("Note", text).claims[1]


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("The consumer is not idempotent.", {"idempot"}),
        ("The layer has no savepoint support.", {"savepoint"}),
        ("Engineers reach staging without the VPN.", {"vpn"}),
        ("Without a key the limit is 30.", set()),
        ("It was not, however, slow.", set()),
    ],
)
def test_the_word_behind_a_negation_is_denied(text: str, denied: set[str]) -> None:
    assert claim(text).denied == denied


def test_a_removal_names_what_was_removed() -> None:
    assert claim("The v1 quotes API was removed in spring.").removed == {"v1", "quot", "api"}


def test_an_order_has_two_steps() -> None:
    order = claim("Run the migrations before the pods restart.").order
    assert order is not None
    assert order.first_is_earlier
    assert "migr" in order.first
    assert "rest" in order.second


def test_names_have_capitals_inside_or_behind_the_first_word() -> None:
    found = claim("Messages of GeoClient go to Kafka and `spool_dir` on Monday.").names
    assert found == {"GeoClient", "Kafka", "spool_dir"}


def test_an_exception_counts_for_the_whole_entry() -> None:
    assert read_claims("Note", "It is closed. One exception is Easter.").has_exception
