"""The end of a key's life as people write it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.credentials.key_records import parse_expiry

NOW = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "until"),
    [
        ("12h", "2030-01-01T12:00:00.000Z"),
        ("90d", "2030-04-01T00:00:00.000Z"),
        ("4w", "2030-01-29T00:00:00.000Z"),
        ("2030-06-01", "2030-06-01T00:00:00.000Z"),
        ("2030-06-01T10:00:00Z", "2030-06-01T10:00:00.000Z"),
        ("2030-06-01T10:00:00+02:00", "2030-06-01T08:00:00.000Z"),
    ],
)
def test_an_end_is_a_span_or_a_time(text: str, until: str) -> None:
    assert parse_expiry(text, NOW) == until


@pytest.mark.parametrize("text", ["", "0d", "-1d", "90", "90 d", "soon", "2029-12-31", "99999w9"])
def test_an_end_that_is_not_in_the_future_is_refused(text: str) -> None:
    with pytest.raises(CommonplaceError) as caught:
        parse_expiry(text, NOW)
    assert caught.value.details["field"] == "expires"


@pytest.mark.parametrize(
    ("text", "problem"), [("2s", "is not a time"), ("2029-12-31", "is not in the future")]
)
def test_the_message_says_what_is_wrong_with_an_end(text: str, problem: str) -> None:
    with pytest.raises(CommonplaceError, match=problem):
        parse_expiry(text, NOW)
