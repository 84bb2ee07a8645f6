"""Ranking and growth of the search of whole texts."""

from __future__ import annotations

import time

from commonplace.search.whole_texts.inverted import RANKED_FROM
from commonplace.search.whole_texts.texts import TextSearch


def index_of(texts: dict[str, tuple[str, str]]) -> TextSearch:
    index = TextSearch(lambda name: "\n".join(texts[name]).lower())
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


def test_texts_with_some_of_the_words_follow_those_with_all_of_them() -> None:
    index = index_of({"a": ("", "alpha beta"), "b": ("", "alpha"), "c": ("", "gamma")})
    strict = index.search("alpha beta", 10)
    assert (strict.names, strict.relaxed) == (["a", "b"], False)
    loose = index.search("how do alpha and beta and delta", 10)
    assert (loose.names, loose.relaxed) == (["a", "b"], True)
    assert index.search("delta", 10).count == 0
    assert index.find_matching("alpha beta delta") == set()


def test_one_accidental_text_with_all_words_does_not_hide_the_rest() -> None:
    texts = {
        "glossary": (
            "Glossary",
            "rotate " + "filler " * 900 + "credentials " + "other " * 900 + "database quarterly",
        ),
        "rotation": ("Credential rotation", "Rotate database credentials with the vault."),
        "access": ("Database access", "Ask for credentials of the database in the portal."),
        "unrelated": ("Colours", "Use the accent for buttons."),
    }
    found = index_of(texts).search("rotate database credentials quarterly", 10)
    assert found.names[0] == "rotation"
    assert set(found.names) == {"glossary", "rotation", "access"}
    assert found.count == 3


def test_parts_of_words_are_found_in_longer_words_and_across_a_hyphen() -> None:
    texts = {
        "build": ("Images", "Write a multi stage dockerfile and copy the artefacts."),
        "pages": ("Paging", "Every list has pages of fifty items."),
        "shell": ("Scripts", "PowerShell scripts need a manifest."),
    }
    index = index_of(texts)
    assert index.search("multi-stage docker", 10).names == ["build"]
    assert index.search("power shell modules", 10).names[0] == "shell"
    assert index.search("multistage images", 10).names[0] == "build"


def test_a_misspelt_word_is_corrected_and_the_correction_is_reported() -> None:
    texts = {
        "cluster": ("Kubernetes", "Deploy to Kubernetes with probes."),
        "image": ("Containers", "Deploy images that are small."),
    }
    index = index_of(texts)
    found = index.search("kuberntes", 10)
    assert (found.names, found.relaxed) == (["cluster"], True)
    assert found.corrected == {"kuberntes": "kubernetes"}
    assert index.search("deploy kuberntes", 10).names[0] == "cluster"
    index.drop("cluster", *texts["cluster"])
    assert index.search("kuberntes", 10).count == 0


def test_comparable_matches_are_ordered_by_standing_and_deprecated_ones_are_last() -> None:
    texts = dict.fromkeys(("dead", "draft", "ready", "review"), ("Retries", "Retry with backoff."))
    index = TextSearch(lambda name: "\n".join(texts[name]).lower())
    standings = {"dead": 3, "draft": 2, "review": 1, "ready": 0}
    for name, (title, body) in texts.items():
        index.put(name, title, body, "", standings[name])
    texts["weak"] = ("Jobs", "Retry a job by hand, unless the operator of the queue says no.")
    index.put("weak", *texts["weak"])
    assert index.search("retry", 10).names == ["ready", "weak", "review", "draft", "dead"]
    assert index.search("retry backoff", 10).names == ["ready", "review", "draft", "weak", "dead"]


def test_labels_are_searched_and_allowed_names_limit_everything() -> None:
    texts = {"a": ("One", "text"), "b": ("Two", "text")}
    labels = {"a": "team-alpha security", "b": "team-beta"}
    index = TextSearch(lambda name: "\n".join((*texts[name], labels[name])).lower())
    for name in texts:
        index.put(name, *texts[name], labels[name])
    assert index.search("security", 10).names == ["a"]
    assert index.search("team-beta", 10).names[0] == "b"
    assert index.search("text", 10, allowed={"b"}).names == ["b"]
    assert index.search("text of the team", 10, allowed={"b"}).count == 1


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
    assert index.search("etc/app.con", 5).names[0] == "file"
    assert index.search("app conf?", 5).names[0] != "file"
    assert index.search("C++", 500).count == len(index.search("C++", 500).names) == RANKED_FROM + 51
