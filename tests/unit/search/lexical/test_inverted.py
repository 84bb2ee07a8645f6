"""Ranking and growth of the inverted index."""

from __future__ import annotations

import time

from commonplace.search.lexical.inverted import RANKED_FROM, InvertedIndex


def index_of(texts: dict[str, tuple[str, str]]) -> InvertedIndex:
    index = InvertedIndex(lambda name: "\n".join(texts[name]).lower())
    for name, (title, body) in texts.items():
        index.put(name, title, body)
    return index


def test_a_title_counts_more_than_a_body_and_a_rare_word_more_than_a_common_one() -> None:
    texts = {
        "body": ("Style", "Write about caching once."),
        "title": ("Caching", "Write about style."),
        "both": ("Caching", "Caching layers and caching keys."),
        "common": ("Write", "Write write write."),
    }
    index = index_of(texts)
    assert index.search("caching", 10).names == ["both", "title", "body"]
    assert index.search("write caching", 10).names[0] in ("title", "body", "both")


def test_the_exact_phrase_comes_before_the_scattered_words() -> None:
    texts = {
        "scattered": ("", "The error was seen. Use the handler of the module. Error."),
        "phrase": (
            "",
            (
                "The error handler is a function that many modules of this large system share and "
                "that everybody calls."
            ),
        ),
    }
    assert index_of(texts).search("error handler", 10).names == ["phrase", "scattered"]


def test_all_words_are_needed_and_most_are_offered_when_no_text_has_all() -> None:
    index = index_of({"a": ("", "alpha beta"), "b": ("", "alpha"), "c": ("", "gamma")})
    strict = index.search("alpha beta", 10)
    assert (strict.names, strict.relaxed) == (["a"], False)
    assert index.search("alpha gamma", 10).count == 0
    loose = index.search("how do alpha and beta and delta", 10)
    assert (loose.names, loose.relaxed) == (["a"], True)
    assert index.search("delta", 10).count == 0
    assert index.find_matching("alpha beta delta") == set()


def test_identifiers_are_found_by_their_parts_and_pieces() -> None:
    index = index_of({"a": ("", "Call getUserName in v1.2.3 of the e-mail module.")})
    for query in ("user name", "getusername", "UserNa", "1.2", "e-mail", "mail mod", "getUserName"):
        assert index.search(query, 10).names == ["a"], query


def test_frequent_words_rank_the_same_with_and_without_the_cache() -> None:
    texts = {
        f"n{number:04}": (
            "",
            "error " * (1 + number % 7) + "handler " * (1 + number % 3) + "filler " * (number % 11),
        )
        for number in range(3 * RANKED_FROM)
    }
    index = index_of(texts)
    first = index.search("error handler", 1000).names
    assert index.search("error handler", 20).names == first[:20]
    index.drop("n0006", *texts["n0006"])
    index.put("n0006", *texts["n0006"])
    assert index.search("error handler", 1000).names == first
    assert index.search("error", 5).names == index_of(texts).search("error", 5).names


def test_a_search_costs_far_less_than_ten_times_as_much_in_ten_times_as_many_texts() -> None:
    def cost(size: int) -> float:
        index = index_of(
            {
                f"n{number}": ("", f"error common words number{number} " * 4)
                for number in range(size)
            }
        )
        queries = ("error", "or", "error common", "number7", "zzz")
        for query in queries:
            index.search(query, 10)
        spent = []
        for _ in range(15):
            begun = time.thread_time()
            for query in queries:
                index.search(query, 10)
            spent.append(time.thread_time() - begun)
        return min(spent)

    assert cost(5_000) < 8 * cost(500)


def test_a_query_with_signs_ranks_literal_matches_first() -> None:
    texts = {
        f"c-{number}": ("C", "Prefer C where C is used.") for number in range(RANKED_FROM + 50)
    }
    texts |= {
        "plus": (
            "Languages",
            "Some of this is written in C++, and that is fine for what it does. " * 3,
        )
    }
    texts |= {
        "file": (
            "Paths",
            "Settings are in etc/app.conf.d, beside the others, for every one of the services.",
        )
    }
    texts |= {f"conf-{number}": ("app conf", "app etc conf d") for number in range(3)}
    index = index_of(texts)
    assert index.find_matching("c++") == {
        "plus",
        *(f"c-{number}" for number in range(RANKED_FROM + 50)),
    }
    for query, first in (("C++", "plus"), ("etc/app.conf", "file"), ("app.conf.d", "file")):
        assert index.search(query, 5).names[0] == first
    assert index.search("etc/app.con", 5).names == ["file"]
    assert index.search("app conf?", 5).names[0] != "file"
    assert index.search("C++", 500).count == len(index.search("C++", 500).names) == RANKED_FROM + 51
