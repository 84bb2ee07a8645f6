"""A text is about a task if they share rare words, or several, or a meaning."""

from __future__ import annotations

from commonplace.context.engine.topic import LEAST_TOPIC, judge_topic
from commonplace.search.matched_words import WordMeasure
from commonplace.search.model import LexicalMatch, LexicalResult, MatchedWords, QueryTerm
from commonplace.search.rarity import idf

MOST = 2.5  # gain of a term that no frequency exceeds


def result(documents: int, **terms: int) -> LexicalResult:
    """A query by how many documents have each of its terms."""
    read = tuple(QueryTerm(term, count, idf(documents, count)) for term, count in terms.items())
    return LexicalResult((), read, documents, MOST * sum(term.idf for term in read))


def topic(asked: LexicalResult, *matched: str, density: float = 0.7) -> float:
    information = {term.term: term.idf for term in asked.terms}
    score = density * MOST * sum(information[term] for term in matched)
    return judge_topic(WordMeasure(asked).measure(LexicalMatch("d", score, matched)), None)


def test_two_rare_words_of_a_long_task_are_enough() -> None:
    asked = result(500, move=30, sprites=0, dragonruby=1, game=6, frames=9, second=12)
    assert topic(asked, "dragonruby", "game", density=0.9) > LEAST_TOPIC
    assert topic(asked, "move", "second") < LEAST_TOPIC


def test_one_common_word_is_not_enough_whatever_the_size_of_the_collection() -> None:
    for documents in (3, 500, 50_000):
        asked = result(documents, write=2, birthday=0, poem=0, grandmother=0)
        assert topic(asked, "write") < LEAST_TOPIC


def test_a_word_that_all_texts_of_a_small_collection_have_still_counts() -> None:
    asked = result(3, database=3, locked=3, two=1, workers=1)
    assert topic(asked, "database", "locked") > LEAST_TOPIC


def test_a_single_word_is_answered_by_the_text_that_is_about_it() -> None:
    assert topic(result(500, moodle=2), "moodle", density=0.75) > LEAST_TOPIC


def test_guesses_at_unknown_words_and_numbers_do_not_count() -> None:
    asked = result(500, photosynthesis=0, **{"10": 5, "000": 7})
    assert topic(asked, "photosynthesis", density=1.0) < LEAST_TOPIC
    assert topic(asked, "10", "000", density=1.0) < LEAST_TOPIC


def test_meaning_decides_where_words_are_weak_and_strong_words_where_a_model_doubts() -> None:
    few = MatchedWords(told=0.7, coverage=0.4, further=0.3)
    assert judge_topic(few, None) < LEAST_TOPIC < judge_topic(few, 0.57)
    name = MatchedWords(told=1.5, coverage=0.35, further=0.7)
    assert judge_topic(name, 0.05) > LEAST_TOPIC
    assert judge_topic(MatchedWords(), 0.3) < LEAST_TOPIC
