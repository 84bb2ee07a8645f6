"""One subject or two things of one name."""

from __future__ import annotations

import pytest

from commonplace.memory.engine.claims.agreement import (
    ClaimPair,
    are_contrasted_by_titles,
    cover_titles,
    have_other_subjects,
    name_two_things,
    name_whole_and_part,
    pair_claims,
    titles_have_other_subjects,
)
from commonplace.memory.engine.claims.reading import read_claims


def pair_of_contents(a: tuple[str, str], b: tuple[str, str]) -> ClaimPair:
    pairs = pair_claims(read_claims(*a), read_claims(*b))
    return next(pair for pair in pairs if not pair.a.is_title and not pair.b.is_title)


@pytest.mark.parametrize(
    ("title_a", "a", "title_b", "b"),
    [
        (
            "Java client",
            "The Java client of the store is safe.",
            "Python client",
            "The Python client of the store is not safe.",
        ),
        (
            "Pull-ups on rev B",
            "Rev B boards have no pull-ups.",
            "Schematic of rev C",
            "From rev C on there are pull-ups on boards.",
        ),
        (
            "Note",
            "Application logs are kept for a month.",
            "Memo",
            "Audit logs are kept for a year.",
        ),
    ],
)
def test_a_shared_word_with_two_modifiers_names_two_things(
    title_a: str, a: str, title_b: str, b: str
) -> None:
    pair = pair_of_contents((title_a, a), (title_b, b))
    assert pair.is_modified_otherwise(pair.shared)


def test_opposite_modifiers_are_what_is_stated() -> None:
    title_a, title_b = "Enable HTTP/2 on the proxy", "Disable HTTP/2 on the proxy"
    pair = pair_of_contents((title_a, f"{title_a}."), (title_b, f"{title_b}."))
    assert not pair.is_modified_otherwise(pair.shared)


def test_claims_without_a_common_word_are_not_paired() -> None:
    first = read_claims("Cache", "The cache expires. Uploads are small.")
    second = read_claims("Queue", "Uploads are large. The queue is full.")
    pairs = pair_claims(first, second)
    assert [(pair.a.sentence.text, pair.b.sentence.text) for pair in pairs] == [
        ("Uploads are small.", "Uploads are large.")
    ]


def test_titles_that_differ_in_a_thing_name_two_things() -> None:
    first = read_claims("Redis for page fragments", "The fragment Redis evicts keys.")
    second = read_claims("Redis for sessions", "The session Redis evicts nothing.")
    assert name_two_things(first, second)


def test_titles_that_differ_in_a_value_do_not() -> None:
    first = read_claims("JWT expiry is 15 minutes", "JWT expiry is 15 minutes.")
    second = read_claims("JWT expiry is 24 hours", "JWT expiry is 24 hours.")
    assert not name_two_things(first, second)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (
            ("Winches of the pier are greased", "Winches get grease each 18 days at the pier."),
            ("Pulleys of the pier are oiled", "Pulleys get oil each 72 hours at the pier."),
        ),
        (
            ("Les treuils du quai", "Les treuils du quai sont graissés tous les mois."),
            ("Les poulies du quai", "Les poulies du quai sont huilées chaque semaine."),
        ),
        (
            (
                "Winches of the pier",
                "Winches get grease each 18 days. Pulleys have their own plan.",
            ),
            ("Pulleys of the pier", "Pulleys get oil each 72 hours."),
        ),
    ],
)
def test_titles_that_name_what_only_their_entry_speaks_of_have_other_subjects(
    a: tuple[str, str], b: tuple[str, str]
) -> None:
    assert have_other_subjects(read_claims(*a), read_claims(*b))
    assert have_other_subjects(read_claims(*b), read_claims(*a))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (
            ("Winches are greased", "Winches of the pier get grease each 18 days."),
            ("Care of the pier", "The winches of the pier get grease each week."),
        ),
        (
            ("Graissage des treuils", "Les treuils du quai sont graissés tous les mois."),
            ("Entretien du quai", "Au quai, les treuils sont graissés chaque semaine."),
        ),
    ],
)
def test_a_word_that_both_entries_say_is_no_subject_of_one(
    a: tuple[str, str], b: tuple[str, str]
) -> None:
    assert not have_other_subjects(read_claims(*a), read_claims(*b))


def test_titles_with_words_that_tell_apart_are_contrasted_even_if_an_entry_names_both() -> None:
    traces = read_claims("Traces of the pier", "Traces last a day. For trends look at the metrics.")
    metrics = read_claims("Metrics of the pier", "Metrics last a year.")
    memo = read_claims("How long we look back", "Metrics last a week.")
    assert are_contrasted_by_titles(traces, metrics)
    assert not are_contrasted_by_titles(metrics, memo)
    photos = read_claims("Photos du quai", "Les photos restent un an.")
    videos = read_claims("Vidéos du quai", "Les vidéos restent un mois, les photos un an.")
    assert are_contrasted_by_titles(photos, videos)


def test_titles_that_go_on_otherwise_behind_a_shared_word_have_other_subjects() -> None:
    texts = read_claims("Recipe texts are in MongoDB", "They are irregular.")
    vouchers = read_claims("Recipe vouchers are in MariaDB", "They need transactions.")
    storage = read_claims("Where recipe texts are", "Recipe texts are in MariaDB.")
    assert titles_have_other_subjects(texts, vouchers)
    assert not titles_have_other_subjects(texts, storage)


def test_a_word_before_an_article_is_no_modifier() -> None:
    pair = pair_of_contents(
        ("Feed", "We deleted the harbour feed."), ("Feed", "Skippers read the harbour feed.")
    )
    assert not pair.is_modified_otherwise(pair.shared)
    pair = pair_of_contents(
        ("Note", "Big harbours publish coastal feeds."), ("Memo", "Coastal feeds of harbours stop.")
    )
    assert not pair.is_modified_otherwise(pair.shared)


def test_titles_cover_each_other_if_each_entry_says_what_the_other_one_names() -> None:
    price = read_claims("Cache lifetime of fares", "Fares are cached for five minutes.")
    cache = read_claims("Fare cache", "The fare cache has a lifetime of an hour.")
    assert cover_titles(price, cache)
    assert not cover_titles(price, read_claims("Tide cache", "Tides are cached for a day."))


def test_one_word_of_a_title_may_be_unsaid_if_its_own_entry_does_not_repeat_it() -> None:
    feed = read_claims("Tide feed", "The tide feed is signed with HMAC.")
    verifying = read_claims("Verifying the tide feed", "The tide feed carries an RSA signature.")
    assert cover_titles(feed, verifying)
    carried = read_claims("Tide feed carried over", "A tide feed is carried over to Monday.")
    assert not cover_titles(feed, carried)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (("Queue crane", "crane keeps a day."), ("Queue crane-dlq", "crane-dlq keeps a week.")),
        (("Table berth", "berth is kept."), ("Table berth_audit", "berth_audit is purged.")),
        (
            ("Mooring pool", "The pool has ten places."),
            ("Mooring pool of the marina", "The marina has twenty places."),
        ),
    ],
)
def test_a_thing_and_what_is_named_after_it_are_two_things(
    a: tuple[str, str], b: tuple[str, str]
) -> None:
    assert name_whole_and_part(read_claims(*a), read_claims(*b))
    assert name_whole_and_part(read_claims(*b), read_claims(*a))


def test_a_title_with_a_part_that_both_entries_name_is_of_one_thing() -> None:
    pool = read_claims("Mooring pool", "The pool of the marina has ten places.")
    marina = read_claims("Mooring pool of the marina", "The marina has twenty places.")
    assert not name_whole_and_part(pool, marina)
    signed = read_claims("Sign-in", "Sign-in asks for a code.")
    assert not name_whole_and_part(signed, read_claims("Sign", "The sign-in asks for nothing."))
