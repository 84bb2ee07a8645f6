"""Search and `rules_for` by meaning: the same answers from a folder and from PostgreSQL."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from commonplace.kernel.auth import local_user
from meaning_words import FolderSemantics

BOUND_SECONDS = 20.0
OUTSIDER = replace(local_user(), may_read=frozenset())


@pytest.fixture
def semantics(place: Any) -> FolderSemantics:
    return FolderSemantics(place.data / "vectors")


@pytest.fixture
def desk(desks: Callable[..., Any], semantics: FolderSemantics) -> Any:
    made = desks(semantics=semantics, governance={"restrict_reads": True})
    made.add("pets", "Feed every cat twice.")
    made.add("build", "Compile with warnings as errors.")
    made.add("old", "Feed every kitten once.", status="deprecated")
    made.add("idea", "Feed every kitten slowly.", status="draft")
    made.add("secret", "The code of the cat.", classification="restricted")
    made.service.meaning.embed_now()
    return made


def search(desk: Any, query: str, auth: Any = None, **filters: Any) -> Any:
    outcome = desk.outcome("instructions_search", {"q": query, **filters}, auth)
    assert outcome.error is None, outcome.error
    return outcome.output


def ids(found: Any) -> list[str]:
    return [item["id"] for item in found["items"]]


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + BOUND_SECONDS
    while not holds():
        assert time.monotonic() < end, "not within the bound"
        time.sleep(0.01)


def test_meaning_and_words_rank_together(desk: Any) -> None:
    found = search(desk, "feline feed every")
    assert ids(found) == ["pets", "idea", "old"]
    assert ids(search(desk, "feline twice"))[0] == "pets"
    assert ids(search(desk, "feline", status=["draft"])) == ["idea"]
    assert ids(search(desk, "compille")) == ["build"]


def test_scores_do_not_depend_on_the_store(desk: Any) -> None:
    meaning = desk.service.meaning.usable
    vector, _ = meaning.embed_query("feline")
    near = meaning.nearest(vector, 10)
    assert {name: round(cosine, 2) for name, cosine in sorted(near.cosines.items())} == {
        "build": 0.21,
        "idea": 0.57,
        "old": 0.59,
        "pets": 0.57,
        "secret": 0.44,
    }


def test_restricted_rules_are_not_near_for_outsiders(desk: Any) -> None:
    found = search(desk, "feline code", OUTSIDER)
    assert "secret" not in ids(found)
    assert found["count"] == len(found["items"])
    assert "secret" in ids(search(desk, "feline code"))


def test_changes_of_another_process_are_embedded(
    desks: Callable[..., Any], semantics: FolderSemantics
) -> None:
    desk = desks(semantics=semantics)
    desk.add("pets", "Feed every cat twice.")
    search(desk, "feline")  # from the first search on vectors follow the catalogue
    desk.file("dogs.json", {"id": "dogs", "body": "Walk the dog."})
    desk.do("reload")
    wait_until(lambda: ids(search(desk, "canine"))[:1] == ["dogs"])
    desk.files.delete("dogs.json")
    desk.do("reload")
    wait_until(lambda: desk.service.meaning.usable.find_names() == {"pets"})
    assert "dogs" not in ids(search(desk, "canine"))


def test_a_second_process_uses_the_vectors_of_the_first(
    desk: Any, desks: Callable[..., Any], place: Any
) -> None:
    again = FolderSemantics(place.data / "vectors")
    other = desks(semantics=again, governance={"restrict_reads": True})
    assert ids(search(other, "feline feed every")) == ["pets", "idea", "old"]
    assert again.embedder.embedded == []


def test_words_answer_while_the_model_fails(desk: Any, semantics: FolderSemantics) -> None:
    search(desk, "feline")
    semantics.embedder.failure = "the model is broken"
    answer = search(desk, "cat twice")
    assert ids(answer)[0] == "pets"
    assert ids(search(desk, "feline slowly")) == ["idea"]


def test_description_rules_are_judged_by_meaning(desk: Any) -> None:
    desk.add("vets", "Call one.", title="Cat", description="Cat care", activation="description")
    desk.add("kennel", "Clean it.", title="Dog", description="Dog walks", activation="description")
    desk.service.meaning.embed_now()
    answer = desk.call("rules_for", task="groom the kitten")
    (rule,) = [rule for rule in answer["rules"] if rule["ref"] == "instruction:vets"]
    assert rule["why"] == ["its description fits the task by meaning"]
    assert [item["ref"] for item in answer["offered"]] == ["instruction:kennel"]
    assert answer == desk.call("rules_for", task="groom the kitten")
