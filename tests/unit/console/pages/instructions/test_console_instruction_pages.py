"""The list of instructions, its actions, and the tabs beside it."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.unit.console.conftest import FakeCaller, make_browser, make_gate, token_of

from commonplace.console.caller import Answer
from commonplace.console.flash import read_flash
from commonplace.console.pages.instructions.governance import find_unread, make_bars
from commonplace.console.pages.instructions.rules import read_back


def list_of(*ids: str) -> Answer:
    items = [{"id": identity, "title": f"Title of {identity}"} for identity in ids]
    return Answer({"items": items, "total": len(items), "hash": "h"})


@pytest.fixture(autouse=True)
def catalogue(caller: FakeCaller) -> None:
    caller.replies["instructions_capabilities"] = Answer({"mutationEnabled": True})
    caller.replies["instructions_categories"] = Answer({"categories": [{"name": "ops"}]})
    caller.replies["instructions_query"] = list_of("first", "second")
    caller.replies["instructions_get"] = Answer({"notFound": True})


def post(inside: TestClient, path: str, **fields: Any) -> Any:
    token = token_of(inside.get("/console/instructions").text)
    return inside.post(f"/console/{path}", data={**token, **fields})


def flash_of(answer: Any) -> Any:
    return read_flash({"commonplace_flash": answer.cookies.get("commonplace_flash", "")})


def test_the_filters_of_the_address_are_sent(caller: FakeCaller, inside: TestClient) -> None:
    inside.get("/console/instructions?q=word&category=ops&tier=P1&sort=updated&dir=desc&page=3")
    sent = next(arguments for tool, arguments in caller.calls if tool == "instructions_query")
    assert sent["filters"] == {"text": "word", "categories": ["ops"], "priorityTiers": ["P1"]}
    assert sent["sort"] == {"field": "updatedAt", "direction": "desc"}
    assert (sent["limit"], sent["offset"]) == (25, 50)


def test_a_search_shows_the_best_matches_first_and_pages_through_them(
    caller: FakeCaller, inside: TestClient
) -> None:
    found = [{"id": f"hit-{number:02}", "title": "Hit"} for number in range(50, 0, -1)]
    caller.replies["instructions_search"] = Answer({"hash": "h", "count": 60, "items": found})
    page = inside.get("/console/instructions?q=word&status=draft&page=2").text
    sent = next(arguments for tool, arguments in caller.calls if tool == "instructions_search")
    assert sent == {"q": "word", "limit": 50, "full": True, "status": ["draft"]}
    assert "Instructions: 60" in page
    assert page.index("/instructions/hit-25") < page.index("/instructions/hit-01")
    assert "/instructions/hit-26" not in page


def test_an_id_that_is_typed_is_found_first(caller: FakeCaller, inside: TestClient) -> None:
    caller.replies["instructions_get"] = Answer({"item": {"id": "third", "title": "Third"}})
    listed = list_of("first", "second").output
    caller.replies["instructions_search"] = Answer({**listed, "count": 2})
    page = inside.get("/console/instructions?q=third").text
    assert "Instructions: 3" in page
    assert page.index("/instructions/third") < page.index("/instructions/first")


def test_only_filters_of_the_list_lead_back() -> None:
    assert read_back("q=a&page=2&path=x&evil=1") == {"q": "a", "page": "2"}


def test_a_person_without_the_right_to_write_gets_no_boxes() -> None:
    caller = FakeCaller(frozenset({"read"}))
    caller.replies["instructions_capabilities"] = Answer({"mutationEnabled": True})
    caller.replies["instructions_query"] = list_of("first")
    page = make_browser(make_gate(caller, is_open=True)).get("/console/instructions").text
    assert "Your key may read only." in page
    assert "Remove selected" not in page
    assert 'name="ids"' not in page


def test_removing_asks_first_and_offers_to_undo(caller: FakeCaller, inside: TestClient) -> None:
    question = post(inside, "change-instructions", ids=["first"], action="remove", back="q=a")
    assert "Remove 1 instruction?" in question.text
    assert not [tool for tool, _ in caller.calls if tool == "instructions_remove"]
    caller.replies["instructions_remove"] = Answer({"removedIds": ["first"], "errors": []})
    fields = {"ids": ["first"], "action": "remove", "confirmed": "yes", "back": "q=a"}
    done = post(inside, "change-instructions", **fields)
    assert done.headers["location"] == "/console/instructions?q=a"
    flash = flash_of(done)
    assert flash.text == "Removed first."
    assert flash.undo.fields == {"ids": "first"}


def test_undo_stops_at_the_first_failure_and_says_so(
    caller: FakeCaller, inside: TestClient
) -> None:
    def restore(arguments: Any) -> Any:
        if arguments["id"] == "second":
            return Answer(None, {"code": "CHANGE_NOT_FOUND", "message": "No change."})
        return {"restored": True}

    caller.replies["instructions_restore"] = restore
    answer = post(inside, "undo-instructions", ids="first,second,third")
    assert flash_of(answer).text == "1 of 3 undone. second: No change."


def test_reviews_of_several_rules_are_marked_at_once(
    caller: FakeCaller, inside: TestClient
) -> None:
    caller.replies["instructions_governance_update"] = lambda arguments: {
        "changed": True,
        "governanceHash": f"hash-of-{arguments['id']}",
    }
    answer = post(inside, "review-instructions", ids=["first", "second", "first"])
    sent = [arguments for tool, arguments in caller.calls if tool.endswith("governance_update")]
    assert [arguments["id"] for arguments in sent] == ["first", "second"]
    assert all(set(arguments["patch"]) == {"lastReviewedAt"} for arguments in sent)
    flash = flash_of(answer)
    assert flash.text == "2 marked as reviewed"
    caller.replies["instructions_restore"] = Answer({"restored": True})
    post(inside, "undo-instructions", **flash.undo.fields)
    assert [arguments for tool, arguments in caller.calls if tool == "instructions_restore"] == [
        {"id": "first", "expectedHash": "hash-of-first"},
        {"id": "second", "expectedHash": "hash-of-second"},
    ]


def test_files_that_are_not_read_are_listed_with_the_number_of_others() -> None:
    health = {
        "rejectedFiles": [
            {"file": f"{number}.json", "detail": "", "reason": "r"} for number in range(12)
        ],
        "rejectedCount": 40,
        "unreadableValues": [{"id": "a", "field": "priority", "problem": "cannot be read"}],
        "unreadableCount": 1,
        "ignoredFolders": ["team"],
    }
    lines = find_unread(health)
    assert lines[0] == "0.json is not served: r"
    assert "a, priority: cannot be read" in lines
    assert "Files in subfolders are not read: team" in lines
    assert lines[-1] == "30 more: commonplace instructions lint lists all."
    assert find_unread({}) == []


def test_bars_show_the_largest_parts() -> None:
    owners = {f"team-{number}": 10 for number in range(11)}
    bars = make_bars({"total": 110, "counts": {"owner": owners}})
    owner = next(bar for bar in bars if bar["title"] == "Owner")
    assert len(owner["parts"]) == 8
    assert owner["more"] == 3


def test_a_governance_form_that_is_refused_keeps_what_was_typed(
    caller: FakeCaller, inside: TestClient
) -> None:
    item = {
        "id": "rule",
        "title": "Rule",
        "body": "b",
        "priority": 1,
        "priorityTier": "P1",
        "status": "draft",
        "requirement": "optional",
        "version": "1.0.0",
        "updatedAt": "2026-01-01T00:00:00.000Z",
        "categories": ["ops"],
        "primaryCategory": "ops",
        "governanceHash": "h",
        "sourceHash": "s",
    }
    caller.replies["instructions_get"] = Answer({"item": item})
    caller.replies["instructions_governance_update"] = Answer(
        None, {"code": "INVALID_INSTRUCTION", "message": "The owner is too long.", "hint": "Cut."}
    )
    answer = post(inside, "instructions/rule/governance", owner="typed-owner", bump="minor")
    assert answer.status_code == 422
    assert "The owner is too long." in answer.text
    assert 'value="typed-owner"' in answer.text


def test_use_that_is_not_counted_is_explained(caller: FakeCaller, inside: TestClient) -> None:
    caller.replies["usage_hotset"] = Answer({"featureDisabled": True})
    page = inside.get("/console/instructions?tab=usage").text
    assert "Use is not counted on this server." in page


def test_an_unknown_tab_shows_the_list(inside: TestClient) -> None:
    assert "Instructions: 2" in inside.get("/console/instructions?tab=nonsense").text
