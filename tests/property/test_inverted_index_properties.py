"""The inverted index against the simplest thing that could be right."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.search.inverted import InvertedIndex, stems_of

WORDS = st.sampled_from(
    ["error", "Errors", "getUserName", "e-mail", "the", "log", "logging", "été", "İx", "数据库", "a.b", "->", "x1", "HTTP2Server"]
)
TEXT = st.lists(WORDS | st.text("abE -._İß\n", max_size=4), max_size=8).map(" ".join)
WRITES = st.lists(st.tuples(st.sampled_from("pqrst"), st.none() | st.tuples(TEXT, TEXT)), max_size=12)


def build(writes: list[tuple[str, tuple[str, str] | None]], queries: list[str]) -> tuple[InvertedIndex, dict[str, tuple[str, str]]]:
    """Apply writes, asking in between so that everything the index keeps is kept true by later writes."""
    present: dict[str, tuple[str, str]] = {}
    index = InvertedIndex(lambda name: "\n".join(present[name]).lower() if name in present else "")
    for name, fields in writes:
        if name in present:
            index.drop(name, *present.pop(name))
        if fields is not None:
            present[name] = fields
            index.put(name, *fields)
        for query in queries:
            index.search(query, 3)
    return index, present


@settings(max_examples=150, deadline=None)
@given(WRITES, TEXT)
def test_every_text_that_contains_the_query_is_found_whatever_was_written_before(
    writes: list[tuple[str, tuple[str, str] | None]], query: str
) -> None:
    index, present = build(writes, [query])
    needle = query.strip().lower()
    expected = {name for name, fields in present.items() if needle and any(needle in field.lower() for field in fields)}
    found = index.search(query, 1000)
    assert expected <= set(found.names)
    assert expected <= index.matching(query)
    assert found.count == len(found.names) == len(set(found.names))
    assert set(found.names) <= present.keys()


@settings(max_examples=100, deadline=None)
@given(WRITES, TEXT, st.integers(1, 4))
def test_answers_depend_on_what_is_there_and_not_on_how_it_came(
    writes: list[tuple[str, tuple[str, str] | None]], query: str, limit: int
) -> None:
    index, present = build(writes, [query, "error"])
    fresh, _ = build(sorted(present.items()), [])
    assert index.search(query, limit) == fresh.search(query, limit)
    assert index.search(query, 1000).names[:limit] == index.search(query, limit).names
    assert index.matching(query) == fresh.matching(query)


@given(TEXT)
def test_stems_of_a_query_are_distinct(query: str) -> None:
    stems = stems_of(query)
    assert len(stems) == len(set(stems))
