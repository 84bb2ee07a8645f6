"""The inverted index agrees with a linear scan."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.search.whole_texts.bits import bits_of, numbers_in, those_in
from commonplace.search.whole_texts.inverted import RANKED_FROM
from commonplace.search.whole_texts.texts import TextSearch
from commonplace.search.whole_texts.words import stems_of

WORDS = st.sampled_from(
    [
        "error",
        "Errors",
        "getUserName",
        "e-mail",
        "the",
        "log",
        "logging",
        "été",
        "İx",
        "数据库",
        "a.b",
        "->",
        "x1",
        "HTTP2Server",
    ]
)
TEXT = st.lists(WORDS | st.text("abE -._İß\n", max_size=4), max_size=8).map(" ".join)
WRITES = st.lists(
    st.tuples(st.sampled_from("pqrst"), st.none() | st.tuples(TEXT, TEXT)), max_size=12
)


def build(
    writes: list[tuple[str, tuple[str, str] | None]],
    queries: list[str],
    ranked_from: int = RANKED_FROM,
) -> tuple[TextSearch, dict[str, tuple[str, str]]]:
    """Apply writes and search in between, so that later writes must update the caches."""
    present: dict[str, tuple[str, str]] = {}

    def text_of(name: str) -> str:
        return "\n".join(present[name]).lower() if name in present else ""

    index = TextSearch(text_of, ranked_from)
    for name, fields in writes:
        if name in present:
            index.drop(name, *present.pop(name))
        if fields is not None:
            present[name] = fields
            index.put(name, *fields)
        for query in queries:
            index.search(query, 3)
    return index, present


@settings(max_examples=150)
@given(WRITES, TEXT)
def test_every_text_that_contains_the_query_is_found_whatever_was_written_before(
    writes: list[tuple[str, tuple[str, str] | None]], query: str
) -> None:
    index, present = build(writes, [query])
    needle = query.strip().lower()
    expected = {
        name
        for name, fields in present.items()
        if needle and any(needle in field.lower() for field in fields)
    }
    found = index.search(query, 1000)
    assert expected <= set(found.names)
    assert expected <= index.find_matching(query)
    assert found.count == len(found.names) == len(set(found.names))
    assert set(found.names) <= present.keys()


@settings(max_examples=100)
@given(WRITES, TEXT, st.integers(1, 4))
def test_answers_depend_on_the_content_and_not_on_the_order_of_writes(
    writes: list[tuple[str, tuple[str, str] | None]], query: str, limit: int
) -> None:
    fresh_answers = None
    for ranked_from in (RANKED_FROM, 1):  # 1: every stem is cached in order, as frequent ones are
        index, present = build(writes, [query, "error"], ranked_from)
        fresh, _ = build(sorted(present.items()), [], ranked_from)
        answers = index.search(query, limit), index.find_matching(query)
        assert answers == (fresh.search(query, limit), fresh.find_matching(query))
        assert index.search(query, 1000).names[:limit] == answers[0].names
        assert fresh_answers in (None, answers)
        fresh_answers = answers


@given(TEXT)
def test_stems_of_a_query_are_distinct(query: str) -> None:
    stems = stems_of(query)
    assert len(stems) == len(set(stems))


NUMBERS = st.sets(st.integers(0, 300), max_size=80)


@given(NUMBERS, NUMBERS)
def test_bit_sets_equal_the_sets_they_encode(numbers: set[int], others: set[int]) -> None:
    bits = bits_of(numbers)
    assert list(numbers_in(bits)) == sorted(numbers)
    assert bits.bit_count() == len(numbers)
    assert set(numbers_in(bits & bits_of(others))) == numbers & others
    assert set(numbers_in(bits & ~bits_of(others))) == numbers - others
    assert those_in(bits, sorted(others)) == sorted(numbers & others)
