"""The pages of the memory: search, forms, conflicts, selections and drawings."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.unit.console.conftest import FakeCaller, token_of

from commonplace.console.caller import Answer
from commonplace.console.flash import read_flash
from commonplace.console.form_data import FormData
from commonplace.console.pages.memory.drawing import MAX_LABEL, draw_links, make_label
from commonplace.console.pages.memory.editing import read_values
from commonplace.console.pages.memory.entries import explain
from commonplace.console.pages.memory.entry import draw_around, find_verb

ENTRY: dict[str, Any] = {
    "id": "01A",
    "type": "bug",
    "title": "Title",
    "content": "One.\nTwo.",
    "tags": ["a"],
    "project": None,
    "confidence": 3,
    "status": "active",
    "memory_type": "episodic",
    "created_at": "2026-01-01T00:00:00.000Z",
    "updated_at": "2026-01-02T00:00:00.000Z",
    "last_accessed": None,
    "access_count": 0,
    "links": {"outgoing": [], "incoming": []},
}
FORM = {
    "base": ENTRY["updated_at"],
    "title": "Title",
    "type": "bug",
    "content": "One.\r\nTwo.",
    "tags": "a",
    "project": "",
    "confidence": "3",
    "memory_type": "episodic",
    "status": "active",
}


@pytest.fixture(autouse=True)
def memory(caller: FakeCaller) -> None:
    caller.replies["rekall_show"] = Answer(ENTRY)
    caller.replies["memory_list"] = Answer({"entries": [], "total": 0})
    caller.replies["memory_update"] = Answer({"entry": ENTRY, "changed": [], "revisions": 1})
    caller.replies["memory_related"] = Answer({"entries": [], "links": [], "truncated": False})


def post(inside: TestClient, path: str, **fields: Any) -> Any:
    token = token_of(inside.get("/console/memory").text)
    return inside.post(f"/console/{path}", data={**token, **fields})


def flash_of(answer: Any) -> Any:
    return read_flash({"commonplace_flash": answer.cookies.get("commonplace_flash", "")})


def sent(caller: FakeCaller, name: str) -> list[dict[str, Any]]:
    return [arguments for tool, arguments in caller.calls if tool == name]


def test_a_label_contains_nothing_that_mermaid_could_read() -> None:
    label = make_label('<img src=x> "]; click n0 %%{init}%% `a|b`')
    assert not set(label) & set('"<>`#;%{}[]|&*\\')
    assert make_label("") == "-"
    assert len(make_label("x" * 100)) == MAX_LABEL


def test_links_to_entries_that_are_not_shown_are_left_out() -> None:
    source = draw_links({"a": "A", "b": "B"}, [("a", "b", "related"), ("a", "c", "related")], "a")
    assert source.splitlines() == [
        "flowchart LR",
        '  n0["A"]',
        '  n1["B"]',
        '  n0 -->|"related"| n1',
        "  style n0 stroke-width:3px",
    ]


def test_an_entry_without_links_is_not_drawn() -> None:
    assert draw_around(ENTRY, {"entries": [], "links": []}) == ({}, "")


def test_the_reason_of_a_finding_is_put_into_words() -> None:
    why = {"terms": ["canari"], "lexical": 0.5, "semantic": 0.25}
    assert explain(why, "the canary dies") == (
        "Why: words found: canary; closeness in meaning 0.25; match of words 0.50"
    )
    assert explain(None, "x") == "Why: closest of what is remembered"


def test_relations_are_read_as_sentences() -> None:
    assert find_verb("supersedes") == "replaces"
    assert find_verb("contradicts") == "contradicts"


def test_tags_are_separated_and_the_confidence_is_a_number() -> None:
    values = read_values(FormData({"tags": ["a, b,"], "confidence": ["5"]}))
    assert values["tags"] == ["a", "b"]
    assert values["confidence"] == 5
    assert read_values(FormData({"confidence": ["12"]}))["confidence"] == "12"


def test_a_search_sends_context_and_filters(caller: FakeCaller, inside: TestClient) -> None:
    caller.replies["rekall_search"] = Answer({"results": [], "hint": "Try other words."})
    page = inside.get("/console/memory?q=canary&kind=bug&project=p&context=release&tag=t").text
    assert sent(caller, "rekall_search") == [
        {
            "query": "canary",
            "limit": 20,
            "why": True,
            "type": "bug",
            "project": "p",
            "context": "release",
        }
    ]
    assert "Try other words." in page


def test_findings_show_what_replaced_and_contradicts_them(
    caller: FakeCaller, inside: TestClient
) -> None:
    found = {
        "id": "01A",
        "title": "Old <b>",
        "type": "bug",
        "score": 0.5,
        "snippet": "a canary",
        "tags": [],
        "superseded_by": {"id": "01B", "title": "New"},
        "contradicts": ["01C"],
    }
    caller.replies["rekall_search"] = Answer({"results": [found], "tokens": 7, "mode": "lexical"})
    page = inside.get("/console/memory?q=canary").text
    assert "Replaced by: New" in page
    assert 'href="/console/memory/01C"' in page
    assert "<mark>canary</mark>" in page
    assert "Old &lt;b&gt;" in page


def test_only_changed_fields_are_corrected(caller: FakeCaller, inside: TestClient) -> None:
    answer = post(inside, "memory/01A/edit", **{**FORM, "title": "New"})
    assert answer.status_code == 303
    assert sent(caller, "memory_update") == [{"id": "01A", "title": "New"}]
    assert flash_of(answer).saved_draft == "memory:01A"
    post(inside, "memory/01A/edit", **FORM)
    assert len(sent(caller, "memory_update")) == 1


def test_a_stale_form_is_a_conflict_that_keeps_the_text(
    caller: FakeCaller, inside: TestClient
) -> None:
    answer = post(inside, "memory/01A/edit", **{**FORM, "base": "before", "content": "Mine."})
    assert answer.status_code == 409
    assert "+Mine." in answer.text
    assert "Mine.</textarea>" in answer.text
    assert sent(caller, "memory_update") == []


def test_selected_entries_are_retired_and_the_message_leads_back(
    caller: FakeCaller, inside: TestClient
) -> None:
    answer = post(inside, "retire-memories", ids=["01A", "01B"], days="7")
    assert sent(caller, "memory_update") == [
        {"id": "01A", "status": "obsolete"},
        {"id": "01B", "status": "obsolete"},
    ]
    assert answer.headers["location"] == "/console/memory?tab=stale&days=7"
    undo = flash_of(answer).undo
    assert undo.fields == {"ids": "01A,01B", "status": "active", "days": "7"}
    post(inside, "retire-memories", **undo.fields)
    assert sent(caller, "memory_update")[-1] == {"id": "01B", "status": "active"}
    nothing = post(inside, "retire-memories")
    assert flash_of(nothing).text == "Tick what no longer holds."


def test_deleted_entries_are_brought_back_until_one_fails(
    caller: FakeCaller, inside: TestClient
) -> None:
    def restore(arguments: Any) -> Any:
        if arguments["id"] == "01B":
            return Answer(None, {"code": "DUPLICATE_ENTRY", "message": "It exists."})
        return {"id": arguments["id"]}

    caller.replies["memory_delete"] = restore
    answer = post(inside, "restore-memories", ids=["01A", "01B", "01C"])
    assert flash_of(answer).text == "1 of 3 brought back. It exists."


def test_a_suggestion_that_is_accepted_says_what_was_done(
    caller: FakeCaller, inside: TestClient
) -> None:
    caller.replies["rekall_accept_suggestion"] = Answer(
        {"action_taken": "Accepted", "generalize_command": "rekall generalize a b"}
    )
    answer = post(inside, "memory-suggestions", id="s", decision="accept")
    assert flash_of(answer).text == "Accepted: rekall generalize a b"
    caller.replies["rekall_reject_suggestion"] = Answer({"rejected": True})
    assert flash_of(post(inside, "memory-suggestions", id="s")).text == "Rejected"


def test_the_side_of_a_contradiction_that_holds_replaces_the_other(
    caller: FakeCaller, inside: TestClient
) -> None:
    ends = {"source": {"id": "01A", "title": "Main"}, "target": {"id": "01B", "title": "Master"}}
    caller.replies["rekall_link"] = Answer(ends)
    answer = post(inside, "memory-suggestions", holds="01A", other="01B", kind="contradiction")
    link = {"source_id": "01A", "target_id": "01B", "relation_type": "supersedes"}
    assert sent(caller, "rekall_link") == [link]
    assert flash_of(answer).text == "Main replaces Master"
    assert "kind=contradiction" in answer.headers["location"]
    caller.replies["rekall_link"] = Answer(None, {"code": "X", "message": "It is gone."})
    assert flash_of(post(inside, "memory-suggestions", holds="01A")).text == "It is gone."


DECIDED: dict[str, Any] = {
    "decision": "accepted",
    "matched": 2,
    "matched_by_type": {"duplicate": 1, "link": 1},
    "decided": 2,
    "links_created": 1,
    "merged": 1,
    "remaining": 0,
}
PENDING: dict[str, Any] = {
    "id": "S1",
    "type": "duplicate",
    "score": 0.95,
    "reason": "Says the same",
    "entries": [{"id": "01A", "title": "One"}, {"id": "01B", "title": "Two"}],
}


def test_suggestions_are_filtered_and_offered_for_one_decision(
    caller: FakeCaller, inside: TestClient
) -> None:
    caller.replies["memory_decide"] = Answer({**DECIDED, "suggestions": [PENDING]})
    address = "/console/memory?tab=suggestions&kind=duplicate&least=0.9&project=shop"
    text = inside.get(f"{address}&confirm=reject").text
    asked = sent(caller, "memory_decide")[0]
    assert (asked["types"], asked["min_score"], asked["project"]) == (["duplicate"], 0.9, "shop")
    assert asked["dry_run"] is True
    assert 'form="bulk" name="ids" value="S1"' in text
    assert ">Merge</button>" in text
    assert "Reject 2 suggestions?" in text
    assert "Rejected suggestions never return." in text
    inside.get("/console/memory?tab=suggestions&kind=nonsense&least=much")
    assert "types" not in sent(caller, "memory_decide")[1]
    assert "min_score" not in sent(caller, "memory_decide")[1]


def test_the_ticked_or_all_suggestions_are_decided_together(
    caller: FakeCaller, inside: TestClient
) -> None:
    caller.replies["memory_decide"] = Answer(DECIDED)
    answer = post(inside, "memory-decisions", decision="accept", ids=["S1", "S2"])
    assert flash_of(answer).text == "2 accepted, 1 linked, 1 merged"
    assert sent(caller, "memory_decide")[0] == {"decision": "accept", "ids": ["S1", "S2"]}
    post(inside, "memory-decisions", decision="reject", which="all", kind="link")
    assert sent(caller, "memory_decide")[1] == {"decision": "reject", "types": ["link"]}
    nothing = post(inside, "memory-decisions", decision="accept")
    assert flash_of(nothing).text == "Tick the suggestions to decide."


def test_the_timeline_groups_events_by_day(caller: FakeCaller, inside: TestClient) -> None:
    event = {"at": "2026-01-02T10:20:30.000Z", "kind": "contradicted", "detail": "30 or 90"}
    sides = {"entry": {"id": "01A", "title": "One"}, "other": {"id": "01B", "title": ""}}
    caller.replies["memory_timeline"] = Answer(
        {
            "events": [{**event, **sides}, {"at": "2026-01-01T00:00:00.000Z", "kind": "purged"}],
            "by_day": [{"day": "2026-01-02", "counts": {"contradicted": 1}}],
            "total": 2,
            "has_more": False,
        }
    )
    text = inside.get("/console/memory?tab=timeline&days=7&kind=contradicted").text
    asked = sent(caller, "memory_timeline")[0]
    assert (asked["days"], asked["kinds"]) == (7, ["contradicted"])
    assert "<h2>2026-01-02</h2>" in text
    assert "1 contradicted" in text
    assert ">01B</a>" in text
    inside.get("/console/memory?tab=timeline&days=none&page=x&kind=y")
    assert sent(caller, "memory_timeline")[1] == {"days": 30, "limit": 100, "offset": 0}


def test_an_entry_that_cannot_be_linked_leaves_the_form_open(
    caller: FakeCaller, inside: TestClient
) -> None:
    caller.replies["rekall_search"] = Answer({"results": []})
    caller.replies["rekall_link"] = Answer(
        None, {"code": "LINK_ALREADY_EXISTS", "message": "They are linked.", "hint": ""}
    )
    answer = post(inside, "memory/01A/link", target="01B", relation="contradicts", q="words")
    assert answer.status_code == 422
    assert "They are linked." in answer.text
    assert 'value="words"' in answer.text


def test_secrets_that_were_masked_are_named(caller: FakeCaller, inside: TestClient) -> None:
    caller.replies["rekall_add"] = Answer(
        {"id": "01N", "created": True, "secrets_masked": ["api key"]}
    )
    answer = post(inside, "new-memory", **FORM)
    assert "Secrets were masked: api key." in flash_of(answer).text
    assert "status" not in sent(caller, "rekall_add")[0]


def test_an_empty_memory_says_how_to_begin(inside: TestClient) -> None:
    assert "Nothing is remembered yet." in inside.get("/console/memory").text
    assert "No entry fits." in inside.get("/console/memory?tag=x").text
    assert "Nothing was deleted." in inside.get("/console/memory?tab=deleted").text
