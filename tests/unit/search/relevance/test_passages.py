"""Touching chunks become one passage, and one file does not crowd out others."""

from __future__ import annotations

from commonplace.search.relevance.passages import MOST_BYTES, RankedRange, choose_passages


def ranges(*rows: tuple[str, int, int, float]) -> list[RankedRange]:
    return [RankedRange(at, *row) for at, row in enumerate(rows)]


def test_touching_chunks_are_merged_in_the_order_of_the_file() -> None:
    ranked = ranges(("/a", 100, 200, 0.9), ("/b", 0, 50, 0.8), ("/a", 0, 100, 0.7))
    first, second = choose_passages(ranked, 5)
    assert (first.path, first.start, first.end, first.score) == ("/a", 0, 200, 0.9)
    assert [part.at for part in first.parts] == [0, 2]
    assert second.path == "/b"


def test_a_chunk_between_two_passages_joins_them() -> None:
    ranked = ranges(("/a", 0, 100, 0.9), ("/a", 200, 300, 0.9), ("/a", 100, 200, 0.9))
    (passage,) = choose_passages(ranked, 5)
    assert (passage.start, passage.end) == (0, 300)


def test_a_file_whose_passages_became_one_is_discounted_less() -> None:
    joined = (("/a", 0, 100, 0.9), ("/a", 200, 300, 0.9), ("/a", 100, 200, 0.9))
    ranked = ranges(*joined, ("/a", 1_000, 1_100, 0.8), ("/b", 0, 100, 0.6))
    found = [(passage.path, passage.start) for passage in choose_passages(ranked, 2)]
    assert found == [("/a", 0), ("/a", 1_000)]


def test_chunks_that_do_not_touch_stay_apart() -> None:
    ranked = ranges(("/a", 0, 100, 0.9), ("/a", 101, 200, 0.8))
    assert len(choose_passages(ranked, 5)) == 2


def test_a_much_worse_neighbour_is_not_read_on() -> None:
    ranked = ranges(("/a", 0, 100, 0.9), ("/a", 100, 200, 0.1))
    assert [p.end for p in choose_passages(ranked, 5)] == [100, 200]


def test_a_merged_passage_stays_readable() -> None:
    size = MOST_BYTES // 2 + 1
    ranked = ranges(("/a", 0, size, 0.9), ("/a", size, 2 * size, 0.9))
    assert len(choose_passages(ranked, 5)) == 2


def test_further_passages_of_a_file_rank_behind_equally_good_ones_of_others() -> None:
    ranked = ranges(("/a", 0, 10, 0.9), ("/a", 20, 30, 0.89), ("/b", 0, 10, 0.88))
    assert [passage.path for passage in choose_passages(ranked, 5)] == ["/a", "/b", "/a"]
    scores = [passage.score for passage in choose_passages(ranked, 5)]
    assert scores == sorted(scores, reverse=True)


def test_the_limit_counts_passages() -> None:
    ranked = ranges(("/a", 0, 10, 0.9), ("/a", 10, 20, 0.8), ("/b", 0, 10, 0.7), ("/c", 0, 9, 0.6))
    assert [p.path for p in choose_passages(ranked, 2)] == ["/a", "/b"]
