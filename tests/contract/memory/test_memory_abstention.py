"""Searches that nothing answers, in doubt, in another language and with a context."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.kernel.settings import MemorySettings
from memory_calls import Calls, WordEmbedder

TEXT = "The gateway closes idle connections after thirty seconds."


class NamedEmbedder(WordEmbedder):
    """Has the name of a model whose lines are known, and reads English only."""

    identity = "all-MiniLM-L6-v2/int8/test"

    def legibility(self, text: str) -> float:
        return 0.25 if "é" in text else 1.0


@pytest.fixture
def judging_memory(tmp_path: Path, url: str) -> Iterator[Calls]:
    calls = Calls(tmp_path, embedder=NamedEmbedder(), url=url)
    calls.add("Idle connections", TEXT)
    calls.add("Lunch menu", "Soup on friday and bread with every meal of the week.")
    yield calls
    calls.close()


def test_nothing_near_gives_no_results_and_says_so(judging_memory: Calls) -> None:
    answer = judging_memory("rekall_search", query="How is the satellite antenna calibrated?")
    assert (answer["results"], answer["total"]) == ([], 0)
    assert answer["hint"].startswith("Nothing in memory seems to answer this")
    assert {entry["title"] for entry in answer["nearest"]} <= {"Idle connections", "Lunch menu"}


def test_the_verdict_does_not_depend_on_the_limit(judging_memory: Calls) -> None:
    for number in range(10):
        judging_memory.add(f"Canteen {number}", f"Bread of kind {number} is baked for the canteen.")
    for query in ("Which bread for satellite antenna crews of the moon?", "Who repairs antennas?"):
        answers = [judging_memory("rekall_search", query=query, limit=n) for n in (1, 5, 20)]
        assert len({(bool(a["results"]), a.get("doubtful", False)) for a in answers}) == 1


def test_an_answer_is_returned_without_a_mark(judging_memory: Calls) -> None:
    answer = judging_memory("rekall_search", query="When are idle connections closed?")
    assert answer["results"][0]["title"] == "Idle connections"
    assert "doubtful" not in answer
    assert "nearest" not in answer


def test_mixed_evidence_is_returned_with_a_mark(judging_memory: Calls) -> None:
    query = "Which bread and meal for satellite antenna crews?"
    answer = judging_memory("rekall_search", query=query)
    assert answer["results"][0]["title"] == "Lunch menu"
    assert answer["doubtful"] is True
    assert "may not answer" in answer["hint"]


def test_a_long_entry_that_has_every_word_of_a_query_is_not_ruled_out(
    judging_memory: Calls,
) -> None:
    filler = "The schedule of the canteen hangs beside the door of the hall. " * 150
    wanted = judging_memory.add(
        "Notes of the shift", f"{filler}The valve of tank 3 leaks. {filler}"
    )
    answer = judging_memory("rekall_search", query="leaking tank valve")
    assert [result["id"] for result in answer["results"]][:1] == [wanted]
    answer = judging_memory("rekall_search", query="leaking submarine valve")
    assert answer["results"] == []


@pytest.mark.parametrize(("abstain", "results"), [("doubt", 0), ("nothing", 2), ("never", 2)])
def test_the_setting_decides_what_a_doubtful_query_gets(
    tmp_path: Path, abstain: str, results: int
) -> None:
    memory = Calls(tmp_path, settings=MemorySettings(abstain=abstain), embedder=NamedEmbedder())
    memory.add("Idle connections", TEXT)
    memory.add("Lunch menu", "Soup on friday and bread with every meal of the week.")
    answer = memory("rekall_search", query="Which bread and meal for satellite antenna crews?")
    assert len(answer["results"]) == results
    assert (len(answer.get("nearest", [])) == 2) is (abstain == "doubt")
    memory.close()


def test_with_never_the_nearest_are_returned_as_doubtful(tmp_path: Path) -> None:
    memory = Calls(tmp_path, settings=MemorySettings(abstain="never"), embedder=NamedEmbedder())
    memory.add("Idle connections", TEXT)
    answer = memory("rekall_search", query="How is the satellite antenna calibrated?")
    assert (len(answer["results"]), answer["doubtful"]) == (1, True)
    memory.close()


def test_an_answer_in_another_language_is_doubtful_and_not_ruled_out(
    judging_memory: Calls,
) -> None:
    answer = judging_memory("rekall_search", query="pourquoi la passerelle coupe-t-elle les gens ?")
    assert len(answer["results"]) == 2
    assert answer["doubtful"] is True


def test_an_unread_language_is_named_instead_of_a_weak_match(judging_memory: Calls) -> None:
    judging_memory.add("Délai", "Les connexions inactives sont fermées après trente secondes.")
    query = "pourquoi les connexions inactives sont-elles fermées à midi"
    answer = judging_memory("rekall_search", query=query)
    assert answer["results"][0]["title"] == "Délai"
    assert "does not read French" in answer["hint"]
    assert "commonplace models install multilingual" in answer["hint"]
    assert "weak" not in answer["hint"]


@pytest.mark.parametrize("embedder", [None, NamedEmbedder()], ids=["words", "model"])
def test_the_example_of_the_contract_comes_first(
    tmp_path: Path, url: str, embedder: WordEmbedder | None
) -> None:
    memory = Calls(tmp_path, embedder=embedder, url=url)
    memory.add("Fin du support d'Internet Explorer", "Une page aide à changer de navigateur.")
    memory.add("Archive refermée en cas d'erreur", "L'import ouvrait une archive sans la fermer.")
    wanted = memory.add(
        "Fix CORS Safari header",
        "Safari ne supporte pas certains headers CORS...",
        tags=["cors", "safari", "ios"],
    )
    answer = memory(
        "rekall_search",
        query="erreur navigateur Apple",
        context="Bug CORS sur Safari iOS",
        limit=3,
    )
    assert answer["results"][0]["id"] == wanted
    memory.close()


def test_the_newest_lines_of_a_conversation_count_most(judging_memory: Calls) -> None:
    old = "We spoke about the lunch menu, soup on friday and bread.\n" * 60
    talk = f"{old}Now the gateway closes idle connections after thirty seconds."
    answer = judging_memory("rekall_search", query="what was decided", context=talk)
    assert answer["results"][0]["title"] == "Idle connections"


class EnglishEmbedder(NamedEmbedder):
    """Reads nothing of a text in another script."""

    def legibility(self, text: str) -> float:
        return 1.0 if text.isascii() else 0.0


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("ошибка в браузере", "Cyrillic"),
        ("ブラウザの漢字漢字", "Japanese"),
        ("浏览器错误", "Chinese"),
        ("브라우저 오류", "Korean"),
        ("σφάλμα περιηγητή", "Greek"),
    ],
)
def test_an_unread_script_finds_words_only_and_is_named(
    tmp_path: Path, query: str, named: str
) -> None:
    memory = Calls(tmp_path, embedder=EnglishEmbedder())
    memory.add("Idle connections", TEXT)
    answer = memory("rekall_search", query=query)
    assert (answer["results"], answer["mode"]) == ([], "lexical")
    assert f"does not read {named}" in answer["hint"]
    memory.add("Idle gateway", f"{query} {query}")
    answer = memory("rekall_search", query=query)
    assert [result["title"] for result in answer["results"]] == ["Idle gateway"]
    answer = memory("rekall_search", query=query, context="The gateway closes idle connections")
    assert {result["title"] for result in answer["results"]} >= {"Idle connections"}
    memory.close()


def test_a_weak_answer_without_a_model_names_the_language_that_it_needs(tmp_path: Path) -> None:
    memory = Calls(tmp_path)
    memory.add("Délai", "Les connexions inactives sont fermées après trente secondes.")
    weak = memory("rekall_search", query="pourquoi la passerelle nous coupe-t-elle ?")
    assert "No embedding model is in use that reads French" in weak["hint"]
    strong = memory("rekall_search", query="les connexions inactives sont fermées")
    assert "model" not in strong["hint"]
    english = memory("rekall_search", query="What is the satellite antenna?")
    assert "model" not in english["hint"]
    memory.close()
