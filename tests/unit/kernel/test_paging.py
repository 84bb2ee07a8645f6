"""Pages of results."""

from __future__ import annotations

from commonplace.kernel.paging import ResultPage, counted_page, slice_page, trim_page


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
