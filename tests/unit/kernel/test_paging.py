"""Pages of results, and batches of work."""

from __future__ import annotations

from collections.abc import Iterator

from commonplace.kernel.paging import (
    ResultPage,
    counted_page,
    in_batches,
    slice_page,
    trim_page,
)


def test_a_slice_tells_whether_more_follows() -> None:
    numbers = list(range(5))
    assert slice_page(numbers, 2) == ResultPage([0, 1], True, 5)
    assert slice_page(numbers, 2, 3) == ResultPage([3, 4], False, 5)
    assert slice_page(numbers, 2, 9) == ResultPage([], False, 5)


def test_a_counted_page_compares_with_the_total() -> None:
    assert counted_page(["a", "b"], 3, 6) == ResultPage(["a", "b"], True, 6)
    assert counted_page(["a", "b"], 4, 6) == ResultPage(["a", "b"], False, 6)


def test_the_extra_result_is_dropped_and_means_more() -> None:
    assert trim_page([1, 2, 3], 2) == ResultPage([1, 2], True)
    assert trim_page([1, 2], 2) == ResultPage([1, 2], False)


def test_a_batch_ends_before_it_would_be_too_large() -> None:
    assert list(in_batches([3, 3, 4, 1, 9, 2], int, 10)) == [[3, 3, 4], [1, 9], [2]]


def test_an_item_above_the_size_is_alone() -> None:
    assert list(in_batches([1, 20, 1], int, 10)) == [[1], [20], [1]]


def test_a_batch_has_at_most_a_number_of_items() -> None:
    assert list(in_batches("abcde", len, 100, 2)) == [["a", "b"], ["c", "d"], ["e"]]


def test_nothing_makes_no_batch() -> None:
    assert list(in_batches([], len, 10)) == []


def test_items_are_read_only_as_they_are_needed() -> None:
    read: list[int] = []

    def items() -> Iterator[int]:
        for number in range(100):
            read.append(number)
            yield number

    assert next(in_batches(items(), lambda _: 1, 10)) == list(range(10))
    assert len(read) == 11
