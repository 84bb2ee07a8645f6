"""For any text, terms are bounded, snippets fit, and a document is found by its words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from commonplace.search.lexical.text import MAX_TERM_CHARS, analyze, matches, query_terms, snippet


@given(st.text(max_size=400))
def test_terms_are_short_and_never_empty(text: str) -> None:
    assert all(0 < len(term) <= MAX_TERM_CHARS for term in analyze(text))


@given(st.text(max_size=300), st.integers(1, 200))
def test_a_snippet_fits_its_width(text: str, width: int) -> None:
    assert len(snippet(text, query_terms(text[:40]), width)) <= width


@given(st.lists(st.from_regex(r"[a-z]{3,12}", fullmatch=True), min_size=1, max_size=8))
def test_any_word_of_a_document_finds_it(words: list[str]) -> None:
    found = set(analyze(" ".join(words)))
    meaningful = [word for word in words if set(analyze(word)) <= found]
    assert meaningful
    for word in meaningful:
        assert any(matches(" ".join(words), query_terms(word)))


@given(st.text(max_size=200))
def test_matches_are_ordered_and_inside_the_text(text: str) -> None:
    spans = [(start, end) for start, end, _ in matches(text, analyze(text))]
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert spans == sorted(spans)
