"""Fusion: evidence, order, scores between 0 and 1, fixed weights, and what an explanation says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from commonplace.search.fusion import (
    DEFAULT,
    Weights,
    calibrate_score,
    fuse,
    lexical_evidence,
    semantic_evidence,
)
from commonplace.search.model import LexicalMatch, LexicalResult, QueryTerm

TERMS = (
    QueryTerm("boundari", 40, 3.5),
    QueryTerm("layer", 60, 3.0),
    QueryTerm("slipstream", 2, 6.0),
)
CEILING = 2.2 * sum(term.idf for term in TERMS)


def result(*matches: tuple[str, float, tuple[str, ...]]) -> LexicalResult:
    return LexicalResult(tuple(LexicalMatch(*match) for match in matches), TERMS, 1400, CEILING)


def test_scores_lie_between_0_and_1_and_decide_the_order() -> None:
    hits = fuse(
        result(("a", 12.0, ("slipstream",)), ("b", 3.0, ("layer",))),
        {"a": 0.4, "c": 0.7, "d": -0.2},
    )
    assert [hit.key for hit in hits] == sorted(
        (hit.key for hit in hits), key=lambda key: -next(h.score for h in hits if h.key == key)
    )
    assert all(0 <= hit.score <= 1 for hit in hits)


def test_a_document_found_by_both_sides_beats_the_same_found_by_one() -> None:
    words, meaning = (
        result(("both", 10.0, ("slipstream",)), ("words", 10.0, ("slipstream",))),
        {"both": 0.6, "meaning": 0.6},
    )
    assert fuse(words, meaning)[0].key == "both"


def test_covering_every_rare_word_beats_repeating_a_common_one() -> None:
    hits = fuse(
        result(
            ("covers", 12.0, ("boundari", "layer", "slipstream")), ("repeats", 12.0, ("layer",))
        ),
        {},
    )
    assert [hit.key for hit in hits] == ["covers", "repeats"]


def test_an_exact_match_beats_a_vague_similarity() -> None:
    hits = fuse(
        result(("exact", 20.0, ("boundari", "layer", "slipstream"))), {"exact": 0.2, "vague": 0.5}
    )
    assert hits[0].key == "exact"


def test_a_close_paraphrase_beats_a_few_shared_common_words() -> None:
    hits = fuse(result(("words", 3.5, ("layer",))), {"words": 0.3, "paraphrase": 0.75})
    assert hits[0].key == "paraphrase"


def test_evidence_grows_with_each_of_its_signals() -> None:
    assert semantic_evidence(0.7) > semantic_evidence(0.6) > semantic_evidence(0.0) > 0
    base = lexical_evidence(0.5, 0.5, 10.0, 1000)
    assert lexical_evidence(0.6, 0.5, 10.0, 1000) > base
    assert lexical_evidence(0.5, 0.6, 10.0, 1000) > base
    assert lexical_evidence(0.5, 0.5, 12.0, 1000) > base
    assert lexical_evidence(0.5, 0.5, 10.0, 100_000) < base
    assert lexical_evidence(0.5, 0.5, 0.0, 0) == 0.0


@pytest.mark.parametrize("evidence", [0.0, 1e-12, 0.1, 1.0, 50.0])
def test_the_calibrated_score_is_a_probability(evidence: float) -> None:
    assert 0 <= calibrate_score(evidence) <= 1


def test_calibration_keeps_the_order() -> None:
    values = [calibrate_score(0.01 * step) for step in range(1, 300)]
    assert values == sorted(values)
    assert 0 < DEFAULT.abstain_below < 0.5


def test_without_a_semantic_side_words_decide_and_semantic_scores_are_none() -> None:
    hits = fuse(result(("a", 12.0, ("slipstream",)), ("b", 3.0, ("layer",))), None)
    assert [hit.key for hit in hits] == ["a", "b"]
    assert all(hit.semantic is None and "cosine" not in hit.explain for hit in hits)


def test_words_count_for_more_without_a_semantic_side() -> None:
    words = result(("a", 12.0, ("boundari", "layer", "slipstream")))
    alone, contradicted = fuse(words, None)[0], fuse(words, {"a": 0.0})[0]
    assert alone.score > 2 * contradicted.score > 0


def test_components_and_explanation_stay_visible() -> None:
    hit = fuse(result(("a", 12.0, ("slipstream",))), {"a": 0.5})[0]
    assert hit.lexical == pytest.approx(12.0 / CEILING, abs=1e-6)
    assert hit.semantic == 0.5
    assert hit.explain["matched"] == ["slipstream"]
    assert hit.explain["missing"] == ["boundari", "layer"]
    total = hit.explain["lexical_evidence"] + hit.explain["semantic_evidence"]
    assert calibrate_score(total) == pytest.approx(hit.score, abs=1e-3)


def test_documents_like_the_leaders_move_up_and_the_best_cosine_stays() -> None:
    words, cosines = (
        result(("lead", 18.0, ("boundari", "slipstream"))),
        {"lead": 0.6, "kin": 0.45, "stranger": 0.46},
    )
    vectors = {
        "lead": np.array([1.0, 0.0, 0.0]),
        "kin": np.array([0.9, 0.43589, 0.0]),
        "stranger": np.array([0.0, 0.0, 1.0]),
    }
    assert [hit.key for hit in fuse(words, cosines)] == ["lead", "stranger", "kin"]
    hits = fuse(words, cosines, vectors=vectors)
    assert [hit.key for hit in hits] == ["lead", "kin", "stranger"]
    assert hits[0].explain["consensus"] == 0.0
    assert hits[2].explain["consensus"] < 0
    assert hits[1].semantic == 0.45  # what is shown stays the cosine with the query itself


def test_fixed_weights_ignore_the_consensus() -> None:
    words, vectors = (
        result(("a", 12.0, ("slipstream",))),
        {"a": np.array([1.0, 0.0]), "b": np.array([0.0, 1.0])},
    )
    fixed = Weights(semantic=0.5, lexical=0.5)
    assert fuse(words, {"a": 0.5, "b": 0.4}, fixed=fixed, vectors=vectors) == fuse(
        words, {"a": 0.5, "b": 0.4}, fixed=fixed
    )


def test_fixed_weights_stretch_each_list_and_take_the_weighted_mean() -> None:
    words, meaning = (
        result(("a", 12.0, ("slipstream",)), ("b", 3.0, ("layer",))),
        {"b": 0.8, "c": 0.2},
    )
    scores = {
        hit.key: hit.score
        for hit in fuse(words, meaning, fixed=Weights(semantic=0.65, lexical=0.35))
    }
    assert scores == {"b": 0.65, "a": 0.35, "c": 0.0}


def test_equal_scores_are_ordered_by_key() -> None:
    hits = fuse(result(("b", 5.0, ("layer",)), ("a", 5.0, ("layer",))), {})
    assert [hit.key for hit in hits] == ["a", "b"]


def test_no_more_than_six_parameters_and_two_of_the_calibration() -> None:
    assert len(DEFAULT.__slots__) <= 8
    assert all(math.isfinite(getattr(DEFAULT, name)) for name in DEFAULT.__slots__)
