"""Whether matches answer a query, by their evidence."""

from __future__ import annotations

import pytest

from commonplace.memory.engine.answerability import (
    EvidenceLines,
    MatchEvidence,
    Verdict,
    judge,
    judge_words,
    language_of,
    lines_of,
    script_of,
)

LINES = EvidenceLines(words_weight=0.5, nothing=0.3, doubtful=0.4)


@pytest.mark.parametrize(
    ("cosine", "words", "verdict"),
    [
        (0.45, 0.0, Verdict.LIKELY),
        (0.20, 0.5, Verdict.LIKELY),
        (0.35, 0.0, Verdict.DOUBTFUL),
        (0.25, 0.0, Verdict.NOTHING),
    ],
)
def test_meaning_and_words_add_up(cosine: float, words: float, verdict: Verdict) -> None:
    assert judge([MatchEvidence(cosine, words)], LINES) is verdict


def test_the_best_of_several_matches_counts() -> None:
    evidence = [MatchEvidence(0.1, 0.0), MatchEvidence(0.5, 0.0)]
    assert judge(evidence, LINES) is Verdict.LIKELY


def test_a_match_that_does_not_stand_out_from_the_others_is_no_answer() -> None:
    lines = EvidenceLines(0.5, nothing=0.2, doubtful=0.4, background_share=0.5)
    alone = [MatchEvidence(0.3, 0.0), *[MatchEvidence(0.1, 0.0)] * 9]
    crowded = [MatchEvidence(0.3, 0.0), *[MatchEvidence(0.28, 0.0)] * 9]
    assert judge(alone, lines) is Verdict.DOUBTFUL
    assert judge(crowded, lines) is Verdict.NOTHING
    assert judge(crowded, lines, may_answer=True) is Verdict.DOUBTFUL


def test_five_answers_are_not_background() -> None:
    lines = EvidenceLines(0.5, nothing=0.2, doubtful=0.4, background_share=0.5)
    assert judge([MatchEvidence(0.3, 0.0)] * 5, lines) is Verdict.DOUBTFUL


def test_a_small_memory_has_the_usual_background() -> None:
    lines = EvidenceLines(0.5, 0.2, 0.4, background_share=0.5, usual_background=0.1)
    assert judge([MatchEvidence(0.24, 0.0)], lines) is Verdict.NOTHING
    assert judge([MatchEvidence(0.26, 0.0)], lines) is Verdict.DOUBTFUL


def test_lines_rise_with_the_number_of_entries() -> None:
    lines = EvidenceLines(0.5, nothing=0.3, doubtful=0.4, growth=0.03)
    assert judge([MatchEvidence(0.42, 0.0)], lines, entries=100) is Verdict.LIKELY
    assert judge([MatchEvidence(0.42, 0.0)], lines, entries=1_000) is Verdict.DOUBTFUL
    assert judge([MatchEvidence(0.32, 0.0)], lines, entries=30) is Verdict.DOUBTFUL
    assert judge([MatchEvidence(0.32, 0.0)], lines, entries=1_000) is Verdict.NOTHING


def test_a_french_answer_is_not_ruled_out_beside_a_thousand_documents() -> None:
    """Lines that rise as much as the English ones ruled it out (ADR 0353)."""
    lines = lines_of("multilingual-e5-small/int8/0", "french")
    assert lines is not None
    matches = [MatchEvidence(0.44, 0.0), *[MatchEvidence(0.31, 0.0)] * 9]
    assert judge(matches, lines, entries=64) is Verdict.DOUBTFUL
    assert judge(matches, lines, entries=1_564) is Verdict.DOUBTFUL
    assert judge([MatchEvidence(0.38, 0.0), *matches[1:]], lines, entries=64) is Verdict.NOTHING


def test_what_may_answer_for_another_reason_is_not_ruled_out() -> None:
    assert judge([MatchEvidence(0.1, 0.0)], LINES, may_answer=True) is Verdict.DOUBTFUL


def test_no_match_is_no_answer() -> None:
    assert judge([], LINES, may_answer=True) is Verdict.NOTHING
    assert judge_words([]) is Verdict.NOTHING


@pytest.mark.parametrize(
    ("entries", "words", "verdict"),
    [
        (1, 0.03, Verdict.NOTHING),
        (1, 0.1, Verdict.LIKELY),
        (1_000, 0.1, Verdict.NOTHING),
        (1_000, 0.25, Verdict.LIKELY),
    ],
)
def test_words_alone_rule_out_less_in_a_small_memory(
    entries: int, words: float, verdict: Verdict
) -> None:
    assert judge_words([MatchEvidence(0.9, words)], entries=entries) is verdict


def test_words_of_an_answer_in_another_language_rule_nothing_out() -> None:
    hardly = [MatchEvidence(0.3, 0.0)]
    assert judge_words(hardly, entries=100, may_answer=True) is Verdict.DOUBTFUL


def test_a_model_has_lines_by_its_name_and_an_unknown_one_has_none() -> None:
    english = lines_of("multilingual-e5-small/int8/abc", None)
    french = lines_of("multilingual-e5-small/int8/abc", "french")
    assert english is not None
    assert french is not None
    assert english.doubtful < french.doubtful
    assert lines_of("words/1", None) is None
    assert lines_of("all-MiniLM-L6-v2/int8/x", "french") == lines_of("all-MiniLM-L6-v2", None)


def test_the_language_of_a_query_is_told_by_its_common_words() -> None:
    assert language_of("pourquoi l'annuaire est-il lent") == "french"
    assert language_of("why is the directory slow") is None


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("ошибка redis", "cyrillic"),
        ("漢字のエラー", "japanese"),
        ("浏览器错误", "chinese"),
        ("متصفح خطأ", "arabic"),
        ("größe limit", None),
        ("π in a long sentence of English words", None),
        ("😀", None),
        ("\uff01\uff1f", None),
        ("", None),
    ],
)
def test_the_script_of_most_letters_is_named_unless_it_is_latin(
    text: str, script: str | None
) -> None:
    assert script_of(text) == script
