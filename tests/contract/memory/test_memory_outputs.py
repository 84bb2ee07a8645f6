"""What the nine tools answer is valid against their own output schemas, and has the contract's
values.
"""

from __future__ import annotations

import re
from typing import Any

import bpe_openai
import jsonschema
import pytest

from commonplace.dispatch.schema import output_schema
from commonplace.memory.toolset import CONTRACT_NAMES, EXTENDED_NAMES
from memory_calls import Calls

O200K = bpe_openai.get_encoding("o200k_base")
ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
CONTENT = (
    "Safari refuses cross-origin requests whose custom header is not listed in "
    "Access-Control-Allow-Headers. " * 3
)


def filled(memory: Calls) -> dict[str, str]:
    """Entries with a link, a contradiction and a cluster to be suggested."""
    first = memory.add("Fix CORS Safari header", CONTENT, tags=["cors", "safari"], project="web")
    memory.add(
        "CORS header refused by Safari",
        CONTENT + " Seen on iOS.",
        tags=["cors", "safari"],
        project="web",
    )
    memory.add(
        "Safari and the CORS header",
        CONTENT + " Seen on macOS too.",
        tags=["cors", "safari"],
        project="web",
    )
    old = memory.add(
        "API timeout", "The gateway closes idle connections after 30 seconds.", type="config"
    )
    memory.add(
        "Gateway timeout", "The gateway closes idle connections after 90 seconds.", type="config"
    )
    return {"first": first, "old": old}


def calls_of(memory: Calls) -> dict[str, dict[str, Any]]:
    ids = filled(memory)
    pairs = memory("rekall_suggest_links", limit=50)["suggestions"]
    return {
        "rekall_help": {},
        "rekall_search": {"query": "safari cors", "why": True},
        "rekall_add": {"type": "bug", "title": "One more"},
        "rekall_show": {"id": ids["first"]},
        "rekall_suggest_links": {},
        "rekall_suggest_generalize": {},
        "rekall_link": {"source_id": ids["first"], "target_id": ids["old"]},
        "rekall_accept_suggestion": {"suggestion_id": pairs[0]["id"]},
        "rekall_reject_suggestion": {"suggestion_id": pairs[1]["id"]},
        "memory_list": {},
        "memory_update": {"id": ids["old"], "tags": ["gateway"]},
        "memory_delete": {"id": ids["old"]},
        "memory_related": {"id": ids["first"]},
        "memory_stale": {},
        "memory_decide": {"decision": "reject", "dry_run": True},
        "memory_confirm": {"id": ids["first"]},
        "memory_timeline": {},
        "memory_purge": {"older_than_days": 0},
        "memory_promote": {"entries": [ids["first"]]},
    }


def test_every_output_is_valid_against_its_schema(memory: Calls) -> None:
    calls = calls_of(memory)
    assert set(calls) == {*CONTRACT_NAMES, *EXTENDED_NAMES}
    for name, arguments in calls.items():
        jsonschema.validate(
            memory(name, **arguments), output_schema(memory.registry.tool(name).output)
        )


@pytest.mark.parametrize("topic", ["search", "capture", "links", "citations", "all"])
def test_help_answers_each_topic_in_fewer_than_500_tokens(memory: Calls, topic: str) -> None:
    answer = memory("rekall_help", topic=topic)
    assert answer["topics_available"] == ["search", "capture", "links", "citations", "all"]
    assert 20 < len(O200K.encode(answer["guide"])) < 500


def test_help_explains_workflows_triggers_and_citations(memory: Calls) -> None:
    text = memory("rekall_help")["guide"]
    for taught in (
        "rekall_search(",
        "rekall_show(",
        "rekall_add(",
        "rekall_link(",
        "[01HX123]",
        "error",
    ):
        assert taught in text


def test_search_results_are_compact_ranked_and_scored_from_0_to_1(memory: Calls) -> None:
    filled(memory)
    answer = memory("rekall_search", query="Safari cross-origin header")
    assert answer["query"] == "Safari cross-origin header"
    assert answer["total"] >= len(answer["results"]) >= 3
    scores = [result["score"] for result in answer["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    for result in answer["results"]:
        assert ULID.fullmatch(result["id"])
        assert len(result["snippet"]) <= 100
        assert "content" not in result
    assert "rekall_show" in answer["hint"]


def test_limit_type_and_project_narrow_a_search(memory: Calls) -> None:
    filled(memory)
    assert len(memory("rekall_search", query="safari gateway", limit=1)["results"]) == 1
    assert {
        r["type"] for r in memory("rekall_search", query="safari gateway", type="config")["results"]
    } == {"config"}
    assert {
        r["type"] for r in memory("rekall_search", query="safari gateway", project="web")["results"]
    } == {"bug"}
    assert (
        memory("rekall_search", query="safari gateway", project="web", type="config")["results"]
        == []
    )


def test_add_returns_a_ulid_and_reports_what_it_did(memory: Calls) -> None:
    added = memory(
        "rekall_add",
        type="bug",
        title="Fix timeout authentication API",
        content="30 s are too few",
        confidence=4,
    )
    assert ULID.fullmatch(added["id"])
    assert (added["title"], added["type"], added["created"]) == (
        "Fix timeout authentication API",
        "bug",
        True,
    )
    assert added["embeddings_calculated"] is False
    assert added["similar_entries"] == []
    assert added["suggestions_created"] == 0


def test_show_returns_all_fields_with_their_defaults(memory: Calls) -> None:
    shown = memory("rekall_show", id=memory.add("Only a title"))
    assert shown["content"] == ""
    assert (shown["tags"], shown["project"], shown["confidence"], shown["status"]) == (
        [],
        None,
        3,
        "active",
    )
    assert shown["memory_type"] == "episodic"
    assert MOMENT.fullmatch(shown["created_at"])
    assert MOMENT.fullmatch(shown["updated_at"])
    assert shown["embeddings"] == {"summary": False, "context": False}
    assert shown["links"] == {"outgoing": [], "incoming": []}


def test_a_link_is_shown_at_both_ends(memory: Calls) -> None:
    ids = filled(memory)
    made = memory(
        "rekall_link", source_id=ids["first"], target_id=ids["old"], relation_type="derived_from"
    )
    assert made["created"] is True
    assert made["source"] == {"id": ids["first"], "title": "Fix CORS Safari header"}
    outgoing = memory("rekall_show", id=ids["first"])["links"]["outgoing"]
    incoming = memory("rekall_show", id=ids["old"])["links"]["incoming"]
    assert outgoing == [
        {"target_id": ids["old"], "target_title": "API timeout", "relation_type": "derived_from"}
    ]
    assert incoming == [
        {
            "source_id": ids["first"],
            "source_title": "Fix CORS Safari header",
            "relation_type": "derived_from",
        }
    ]


def test_accepting_a_generalisation_returns_the_command(memory: Calls) -> None:
    filled(memory)
    [cluster] = memory("rekall_suggest_generalize")["suggestions"]
    assert len(cluster["entries"]) == 3
    accepted = memory("rekall_accept_suggestion", suggestion_id=cluster["id"])
    assert accepted["suggestion_type"] == "generalize"
    assert accepted["link_created"] is None
    assert accepted["generalize_command"] == "rekall generalize " + " ".join(
        sorted(entry["id"] for entry in cluster["entries"])
    )


def test_accepting_a_link_creates_it(memory: Calls) -> None:
    filled(memory)
    suggestion = next(
        s for s in memory("rekall_suggest_links")["suggestions"] if s["suggestion_type"] == "link"
    )
    accepted = memory("rekall_accept_suggestion", suggestion_id=suggestion["id"])
    link = accepted["link_created"]
    assert {link["source_id"], link["target_id"]} == {
        suggestion["entry_a"]["id"],
        suggestion["entry_b"]["id"],
    }
    assert accepted["generalize_command"] is None
    outgoing = memory("rekall_show", id=link["source_id"])["links"]["outgoing"]
    assert [end["target_id"] for end in outgoing] == [link["target_id"]]


def test_a_contradiction_quotes_both_sides_and_becomes_a_contradicts_link(memory: Calls) -> None:
    filled(memory)
    found = [
        s
        for s in memory("rekall_suggest_links")["suggestions"]
        if s["suggestion_type"] == "contradiction"
    ]
    assert len(found) == 1
    assert "30 seconds" in found[0]["reason"]
    assert "90 seconds" in found[0]["reason"]
    link = memory("rekall_accept_suggestion", suggestion_id=found[0]["id"])["link_created"]
    assert link["relation_type"] == "contradicts"


def test_an_undecided_contradiction_is_told_at_add_and_marked_in_search(memory: Calls) -> None:
    old = memory.add("Default branch", "The default branch of the monorepo is master.")
    added = memory(
        "rekall_add",
        type="decision",
        title="Default branch of the monorepo",
        content="The default branch of the monorepo is main.",
    )
    [opposed] = added["contradicts"]
    assert opposed["id"] == old
    assert "master against main" in opposed["reason"]
    assert "supersedes" in added["hint"]

    def marks() -> dict[str, list[str]]:
        results = memory("rekall_search", query="default branch of the monorepo")["results"]
        return {result["id"]: result.get("contradicts", []) for result in results}

    assert marks() == {old: [added["id"]], added["id"]: [old]}
    accepted = memory("rekall_accept_suggestion", suggestion_id=opposed["suggestion_id"])
    assert "relation_type=supersedes" in accepted["action_taken"]
    assert marks() == {old: [added["id"]], added["id"]: [old]}
    newest = memory.add("Default branch, again", "The default branch is called trunk.")
    memory("rekall_link", source_id=added["id"], target_id=old, relation_type="supersedes")
    memory("rekall_link", source_id=newest, target_id=added["id"], relation_type="supersedes")
    assert not any(marks().values())
    results = memory("rekall_search", query="default branch master")["results"]
    outdated = next(result for result in results if result["id"] == old)
    assert outdated["superseded_by"]["id"] == newest


def test_a_rejected_contradiction_is_not_marked(memory: Calls) -> None:
    old = memory.add("Owner", "The billing service is owned by the payments team.")
    added = memory(
        "rekall_add",
        type="decision",
        title="Billing owner",
        content="The billing service is owned by the platform team.",
    )
    memory("rekall_reject_suggestion", suggestion_id=added["contradicts"][0]["suggestion_id"])
    results = memory("rekall_search", query="who owns the billing service")["results"]
    assert {result["id"] for result in results} == {old, added["id"]}
    assert not any("contradicts" in result for result in results)
