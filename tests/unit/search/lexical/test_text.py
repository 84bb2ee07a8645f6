"""Text analysis: folding, stemming, identifiers, stop words, any Unicode, snippets."""

from __future__ import annotations

import subprocess
import sys

import pytest

from commonplace.search.lexical.text import MAX_TERM_CHARS, analyze, matches, query_terms, snippet


def test_terms_keep_order_and_repetition() -> None:
    assert analyze("server error, server restarted") == ["server", "error", "server", "restart"]


def test_query_terms_are_distinct() -> None:
    assert query_terms("Server server SERVER error") == ["server", "error"]


def test_case_and_accents_do_not_matter() -> None:
    assert (
        analyze("Élévation RÉSEAU")
        == analyze("elevation reseau")
        == analyze("Ele\u0301vation re\u0301seau")
    )


@pytest.mark.parametrize(
    "name", ["getUserName", "get_user_name", "get-user-name", "GetUserName", "GET_USER_NAME"]
)
def test_an_identifier_is_found_whole_and_by_its_parts_however_it_is_written(name: str) -> None:
    assert analyze(name) == ["getusername", "get", "user", "name"]


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("HTTPServer", "server"),
        ("HTTPServer", "http"),
        ("utf8", "utf8"),
        ("utf8", "8"),
        ("v10.13.1", "10.13.1"),
        ("10.13.1", "10.13.1"),
        ("C++ code", "c++"),
        ("in C#", "c#"),
    ],
)
def test_acronyms_digits_versions_and_languages_are_terms(text: str, term: str) -> None:
    assert term in analyze(text)


def test_english_and_french_inflections_share_a_term() -> None:
    assert analyze("connections") == analyze("connected") == analyze("connecting")
    assert set(query_terms("les vérifications nationales")) & set(
        analyze("la vérification nationale est faite")
    )
    assert set(query_terms("comment utiliser le cache")) & set(
        analyze("l'utilisation du cache dans le service")
    )


def test_a_french_document_is_found_by_a_query_without_any_sign_of_french() -> None:
    document = analyze("Les connexions à la base de données sont refusées par le serveur.")
    assert set(query_terms("connexion serveur")) <= set(document)


def test_stop_words_are_dropped_unless_there_is_nothing_else() -> None:
    assert analyze("what is the state of it") == ["state"]
    assert analyze("quelle est la cause de l'erreur")[0] == "caus"
    assert analyze("to be or not to be") == ["to", "be", "or", "not", "to", "be"]


def test_words_whose_stem_looks_like_a_stop_word_stay() -> None:
    assert analyze("willing canned") == ["willing", "canned"]


def test_english_words_that_are_french_stop_words_stay() -> None:
    assert analyze("main car AI son") == ["main", "car", "ai", "son"]


def test_scripts_without_spaces_give_pairs_and_ideographs_themselves_too() -> None:
    assert analyze("東京タワー") == ["東京", "京タ", "タワ", "ワー", "東", "京"]
    assert analyze("京") == ["京"]
    assert set(query_terms("タワー")) <= set(analyze("東京タワー2024を見る"))
    assert query_terms("東京タワー 猫") == [
        "東京",
        "京タ",
        "タワ",
        "ワー",
        "猫",
    ]  # not what any text with one of the two characters holds
    assert set(query_terms("猫")) <= set(analyze("二匹の黒猫がいる"))


def test_korean_words_are_found_without_their_particles() -> None:
    assert set(query_terms("파일 검색")) <= set(analyze("파일을 검색하는 방법"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("блокировка базы данных", "Блокировки баз данных"),
        ("сетевой", "сетевых"),
        ("ёлка", "елки"),
        ("مكتبة", "المكتبة"),
        ("किताब", "किताबें"),
        ("δίκτυο", "δίκτυα"),
    ],
)
def test_inflections_share_a_term_in_other_alphabets(one: str, other: str) -> None:
    assert query_terms(one) == query_terms(other)


def test_vowel_signs_stay_in_their_word() -> None:
    assert analyze("हिन्दी") == ["हिन्द"]  # one word, and its stem


@pytest.mark.parametrize(
    "text",
    [
        "a" * 100_000,
        "-".join(["part"] * 5_000),
        "_" * 10_000,
        "aB" * 5_000,
        "\ud800",
        "\u0301" * 500,
        "\uff11\uff12",
        "🙂🙂",
        "\x00",
    ],
)
def test_hostile_text_gives_bounded_terms(text: str) -> None:
    assert all(0 < len(term) <= MAX_TERM_CHARS for term in analyze(text))


def test_matches_give_the_callers_offsets() -> None:
    text = "Le réseau est lent; re\u0301seaux lents."
    found = [text[start:end] for start, end, _ in matches(text, query_terms("réseau"))]
    assert found == ["réseau", "re\u0301seaux"]


def test_a_snippet_shows_the_densest_place_within_its_width() -> None:
    text = (
        "cache "
        + "filler words here " * 200
        + "the cache eviction policy drops entries "
        + "more filler text " * 200
    )
    shown = snippet(text, query_terms("cache eviction policy"), 80)
    assert "eviction policy" in shown
    assert len(shown) <= 80
    assert shown.startswith("…")
    assert shown.endswith("…")


def test_a_snippet_shows_the_last_of_its_matches_too() -> None:
    text = (
        "x " * 60
        + "the retry of a request that failed is logged with its reason and its times, then it "
        + "ends here for now and here too, and so do I, and so do all of you. "
        + "class RetryMiddleware: is what was sought\n"
        + "y " * 200
    )
    assert "class RetryMiddleware" in snippet(text, query_terms("class RetryMiddleware"), 200)


def test_a_short_text_is_its_own_snippet() -> None:
    assert snippet("one\n  two", ["two"], 100) == "one two"


def test_a_snippet_without_a_match_is_the_beginning() -> None:
    assert snippet("alpha beta " * 50, ["zeta"], 40).startswith("alpha beta")


def test_the_module_is_imported_without_numpy() -> None:
    code = "import sys, commonplace.search.lexical.text; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
