"""Token buckets: sustained rate, bursts, names apart from each other."""

from __future__ import annotations

import pytest

from commonplace.kernel.token_bucket import MAX_BUCKETS, TokenBuckets


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_is_taken_at_once_and_then_the_rate_counts() -> None:
    clock = Clock()
    buckets = TokenBuckets(2.0, 3, clock)
    assert [buckets.try_take("a") for _ in range(4)] == [0, 0, 0, pytest.approx(0.5)]
    clock.now += 0.5
    assert buckets.try_take("a") == 0
    assert buckets.try_take("a") > 0


def test_a_bucket_never_holds_more_than_its_burst() -> None:
    clock = Clock()
    buckets = TokenBuckets(2.0, 2, clock)
    buckets.take("a")
    clock.now += 3600
    assert [buckets.try_take("a") > 0 for _ in range(3)] == [False, False, True]


def test_names_have_their_own_buckets() -> None:
    buckets = TokenBuckets(1.0, 1, Clock())
    assert buckets.try_take("a") == 0
    assert buckets.try_take("b") == 0
    assert buckets.try_take("a") > 0


def test_waiting_takes_nothing() -> None:
    buckets = TokenBuckets(1.0, 1, Clock())
    assert [buckets.wait("a") for _ in range(5)] == [0] * 5
    assert buckets.try_take("a") == 0


def test_a_rate_of_zero_means_no_limit() -> None:
    buckets = TokenBuckets(0.0, 1, Clock())
    assert all(buckets.try_take("a") == 0 for _ in range(100))


def test_the_number_of_buckets_is_bounded() -> None:
    buckets = TokenBuckets(1.0, 1, Clock())
    for number in range(MAX_BUCKETS + 1):
        buckets.take(str(number))
    assert buckets.try_take("0") == 0, "the oldest bucket was dropped and is full again"
    assert buckets.try_take(str(MAX_BUCKETS)) > 0
