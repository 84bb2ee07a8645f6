"""What search finds beside the contract's matches, and in which order, on both catalogues."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from commonplace.dispatch.call import Call, to_json
from commonplace.kernel.auth import local_user


@pytest.fixture
def rules(desk: Any) -> Any:
    desk.add("images", "Write a multi stage dockerfile.", title="Container images")
    desk.add("cluster", "Set probes and limits.", title="Kubernetes", categories=["operations"])
    desk.add(
        "glossary",
        "rotate " + "word " * 1500 + "database " + "other " * 1500 + "credentials quarterly",
        title="Glossary",
    )
    desk.add(
        "rotation", "Rotate the credentials of a database.", title="Rotation", tags=["secrets"]
    )
    return desk


def ids(answer: Any) -> list[str]:
    return [item["id"] for item in answer["items"]]


def test_parts_of_words_are_found(rules: Any) -> None:
    assert ids(rules.do("search", q="multi-stage docker")) == ["images"]


def test_a_typo_is_corrected_and_reported(rules: Any) -> None:
    answer = rules.do("search", q="kuberntes")
    assert ids(answer) == ["cluster"]
    assert answer["corrected"] == {"kuberntes": "kubernetes"}
    assert answer["relaxed"] is True
    assert "corrected" not in rules.do("search", q="kubernetes")


def test_an_accidental_match_of_all_words_does_not_hide_the_rest(rules: Any) -> None:
    answer = rules.do("search", q="rotate database credentials quarterly")
    assert ids(answer) == ["rotation", "glossary"]
    assert answer["count"] == 2


def test_ids_categories_and_tags_are_searched(rules: Any) -> None:
    assert ids(rules.do("search", q="operations")) == ["cluster"]
    assert ids(rules.do("search", q="secrets")) == ["rotation"]
    assert ids(rules.do("search", q="images"))[0] == "images"


def test_every_match_of_the_contract_is_counted_whatever_else_is_found(rules: Any) -> None:
    for number in range(120):
        rules.add(f"n{number:03}", f"Rule about rotatexyz {number}", title="Numbered")
    answer = rules.do("search", q="tatexy", limit=5)
    assert (answer["count"], len(answer["items"])) == (120, 5)
    answer = rules.do("search", q="about rotatexyz", limit=1000)
    assert answer["count"] == len(answer["items"]) >= 120


def test_approved_rules_come_before_drafts_and_deprecated_ones_last_and_marked(desk: Any) -> None:
    for id_, status in (("a", "deprecated"), ("b", "draft"), ("c", "review"), ("d", "approved")):
        desk.add(id_, "Retry with backoff.", title="Retries", status=status)
    desk.add("z", "Retry with backoff.", title="Retries", deprecatedBy="d")
    for query in ("backoff", "retry backoff", "retrys backof"):
        answer = desk.do("search", q=query)
        assert ids(answer) == ["d", "c", "b", "a", "z"], query
    call = Call("instructions_search", {"q": "backoff"}, local_user(), from_agent=True)
    outcome = asyncio.run(desk.pipeline.run(call))
    items = to_json(outcome.output)["items"]
    assert [item.get("deprecated") for item in items] == [None, None, None, True, True]
    assert items[-1]["deprecatedBy"] == "d"


def test_filters_limit_the_search(rules: Any) -> None:
    rules.add("idea", "Rotate keys.", title="Idea", status="draft", workspaceId="w1")
    rules.add("python", "Rotate logs.", title="Logs", appliesTo=["src/**/*.py"])
    assert ids(rules.do("search", q="rotate", status=["draft"])) == ["idea"]
    assert ids(rules.do("search", q="rotate", workspaceId="w1")) == ["idea"]
    assert "python" in ids(rules.do("search", q="rotate", path="src/app/main.py"))
    assert "python" not in ids(rules.do("search", q="rotate", path="docs/guide.md"))
    assert rules.do("search", q="rotate", categories=["operations"])["count"] == 0
