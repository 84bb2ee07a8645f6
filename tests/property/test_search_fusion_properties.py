"""Fusion returns every candidate once, in order, and more evidence never ranks lower."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from commonplace.search.fusion import SMALL, Weights, fuse, size_prior
from commonplace.search.model import LexicalMatch, LexicalResult, QueryTerm

KEYS = st.text("abcdef", min_size=1, max_size=3)
TERMS = tuple(QueryTerm(name, 3, idf) for name, idf in (("one", 1.0), ("two", 2.5), ("three", 6.0)))
CEILING = 2.5 * sum(term.idf for term in TERMS)


@st.composite
def results(draw: st.DrawFn) -> LexicalResult:
    scores = draw(st.dictionaries(KEYS, st.floats(0, CEILING), max_size=8))
    held = st.lists(st.sampled_from([term.term for term in TERMS]), unique=True)
    matches = tuple(LexicalMatch(key, score, tuple(draw(held))) for key, score in scores.items())
    return LexicalResult(matches, TERMS, draw(st.integers(1, 10_000)), CEILING)


COSINES = st.none() | st.dictionaries(KEYS, st.floats(-1, 1), max_size=8)
FIXED = st.none() | st.builds(Weights, st.floats(0, 1), st.floats(0, 1))


@given(results(), COSINES, FIXED)
def test_every_candidate_appears_once_in_order_of_its_score(
    result: LexicalResult, cosines: dict[str, float] | None, fixed: Weights | None
) -> None:
    hits = fuse(result, cosines, fixed=fixed)
    assert {hit.key for hit in hits} == {match.key for match in result.matches} | set(cosines or {})
    assert len({hit.key for hit in hits}) == len(hits)
    assert all(0 <= hit.score <= 1 for hit in hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@given(
    results(),
    st.dictionaries(KEYS, st.floats(-1, 1), min_size=1, max_size=8),
    st.floats(0, 0.5),
    st.data(),
)
def test_a_higher_cosine_never_ranks_a_document_lower(
    result: LexicalResult, cosines: dict[str, float], more: float, data: st.DataObject
) -> None:
    key = data.draw(st.sampled_from(sorted(cosines)))
    before = [hit.key for hit in fuse(result, cosines)].index(key)
    after = [
        hit.key for hit in fuse(result, {**cosines, key: min(1.0, cosines[key] + more)})
    ].index(key)
    assert after <= before


@given(st.integers(0, 2000), st.integers(0, 2000), st.booleans())
def test_a_smaller_collection_never_lowers_a_score_and_a_large_one_leaves_it(
    few: int, many: int, with_meaning: bool
) -> None:
    few, many = sorted((few, many))
    if few:
        assert (
            size_prior(few, with_meaning=with_meaning)
            >= size_prior(many, with_meaning=with_meaning)
            >= 0
        )
    if many >= SMALL:
        assert size_prior(many, with_meaning=with_meaning) == 0
