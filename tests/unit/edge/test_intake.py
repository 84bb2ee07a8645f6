"""The budget of bytes that wait to be decoded."""

from __future__ import annotations

import pytest

from commonplace.edge.intake import MessageRefused, UndecodedBytes


def test_undecoded_bytes_are_bounded_in_all_and_per_caller() -> None:
    budget = UndecodedBytes(most=100, most_per_caller=60)
    budget.take("a", 50)
    with pytest.raises(MessageRefused) as refused:
        budget.take("a", 20)
    assert refused.value.error.data["code"] == "SERVER_BUSY"
    assert refused.value.error.data["retryable"]
    budget.take("b", 50)
    with pytest.raises(MessageRefused):
        budget.take("c", 1)
    budget.give_back("a", 50)
    budget.take("c", 40)
    assert budget.total == 90
    for caller, size in (("b", 50), ("c", 40)):
        budget.give_back(caller, size)
    assert (budget.total, dict(budget.by_caller)) == (0, {})
