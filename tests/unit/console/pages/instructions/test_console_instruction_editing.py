"""Forms of instructions: values, differences, conflicts and refusals."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.unit.console.conftest import FakeCaller, token_of

from commonplace.console.caller import Answer
from commonplace.console.form_data import FormData
from commonplace.console.pages.instructions.editing import keep_line_ends, read_values

ITEM: dict[str, Any] = {
    "id": "rule",
    "title": "Title",
    "body": "One.\nTwo.",
    "priority": 50,
    "requirement": "optional",
    "audience": "all",
    "owner": "team",
    "categories": ["a", "b"],
    "governanceHash": "hash-1",
    "version": "1.0.0",
    "updatedAt": "2026-01-01T00:00:00.000Z",
}
FORM = {
    "base": "hash-1",
    "title": "Title",
    "body": "One.\r\nTwo.",
    "priority": "50",
    "requirement": "optional",
    "audience": "all",
    "owner": "team",
    "categories": "a, b",
}


@pytest.fixture(autouse=True)
def catalogue(caller: FakeCaller) -> None:
    caller.replies["instructions_capabilities"] = Answer({"mutationEnabled": True})
    caller.replies["instructions_get"] = Answer({"item": ITEM})
    caller.replies["instructions_add"] = Answer(
        {"id": "rule", "version": "1.0.1", "governanceHash": "hash-2"}
    )


def send(inside: TestClient, path: str, **fields: str) -> Any:
    token = token_of(inside.get("/console/new-instruction").text)
    return inside.post(f"/console/{path}", data={**token, **FORM, **fields})


def added(caller: FakeCaller) -> list[dict[str, Any]]:
    return [arguments for tool, arguments in caller.calls if tool == "instructions_add"]


def test_categories_are_separated_and_a_wrong_priority_stays_a_text() -> None:
    values = read_values(FormData({"categories": [" a,, b "], "priority": ["high"]}))
    assert values["categories"] == ["a", "b"]
    assert values["priority"] == "high"
    assert read_values(FormData({"priority": ["7"]}))["priority"] == 7


@pytest.mark.parametrize(
    ("typed", "saved", "kept"),
    [
        ("a\nb", "a\r\nc", "a\r\nb"),
        ("a\nb", "a\r\nb", "a\r\nb"),
        ("a\nb", "a\nc", "a\nb"),
        ("a\nb\nc", "a\r\nb\nc", "a\r\nb\nc"),
        ("a\nb\nd", "a\r\nb\nc", "a\nb\nd"),
    ],
)
def test_line_ends_of_the_saved_text_are_kept(typed: str, saved: str, kept: str) -> None:
    assert keep_line_ends(typed, saved) == kept


def test_only_changed_fields_are_sent_with_the_hash_that_was_read(
    caller: FakeCaller, inside: TestClient
) -> None:
    answer = send(inside, "instructions/rule/edit", title="New")
    assert answer.status_code == 303
    assert added(caller) == [
        {
            "entry": {"id": "rule", "title": "New"},
            "lax": True,
            "overwrite": True,
            "expectedHash": "hash-1",
        }
    ]


def test_an_unchanged_form_sends_nothing(caller: FakeCaller, inside: TestClient) -> None:
    assert send(inside, "instructions/rule/edit").status_code == 303
    assert added(caller) == []


def test_a_stale_form_is_a_conflict_that_keeps_the_text(
    caller: FakeCaller, inside: TestClient
) -> None:
    answer = send(inside, "instructions/rule/edit", base="hash-0", body="Mine.")
    assert answer.status_code == 409
    assert "Somebody changed this instruction" in answer.text
    assert "Mine." in answer.text
    assert 'name="base" value="hash-1"' in answer.text
    assert added(caller) == []


def test_a_change_between_reading_and_saving_is_a_conflict_too(
    caller: FakeCaller, inside: TestClient
) -> None:
    caller.replies["instructions_add"] = Answer(
        None, {"code": "HASH_MISMATCH", "message": "Changed."}
    )
    assert send(inside, "instructions/rule/edit", title="New").status_code == 409


def test_a_refused_form_names_the_fields_and_keeps_the_text(
    caller: FakeCaller, inside: TestClient
) -> None:
    caller.replies["instructions_add"] = Answer(
        {
            "error": "invalid_fields",
            "feedbackHint": "Give a body.",
            "validation": [{"field": "body", "problem": "is missing"}],
        }
    )
    answer = send(inside, "new-instruction", id="new-rule", body="")
    assert answer.status_code == 422
    assert "body is missing" in answer.text
    assert 'value="new-rule"' in answer.text


def test_an_id_that_exists_is_not_overwritten(caller: FakeCaller, inside: TestClient) -> None:
    caller.replies["instructions_add"] = Answer({"id": "rule", "skipped": True})
    answer = send(inside, "new-instruction", id="rule")
    assert answer.status_code == 422
    assert "An instruction with this id is there already." in answer.text


def test_a_rule_that_was_removed_meanwhile_is_reported(
    caller: FakeCaller, inside: TestClient
) -> None:
    caller.replies["instructions_get"] = Answer({"notFound": True})
    answer = send(inside, "instructions/rule/edit", title="New")
    assert answer.status_code == 404
    assert "Your text is kept as a draft." in answer.text


def test_a_scope_is_read_shown_and_removed(caller: FakeCaller, inside: TestClient) -> None:
    item = {**ITEM, "appliesTo": ["src/**/*.{ts,tsx}", "!src/gen/**"], "languages": ["go"]}
    caller.replies["instructions_get"] = Answer({"item": item})
    page = inside.get("/console/instructions/rule/edit").text
    assert "src/**/*.{ts,tsx}\n!src/gen/**</textarea>" in page
    send(inside, "instructions/rule/edit", appliesTo="lib/**\r\n", languages="go", activation="")
    assert added(caller)[-1]["entry"] == {"id": "rule", "appliesTo": ["lib/**"]}
    send(inside, "instructions/rule/edit", appliesTo="", languages="", activation="manual")
    assert added(caller)[-1]["entry"] == {
        "id": "rule",
        "appliesTo": None,
        "languages": None,
        "activation": "manual",
    }


def test_a_form_without_the_scope_leaves_it_as_it_is(
    caller: FakeCaller, inside: TestClient
) -> None:
    caller.replies["instructions_get"] = Answer({"item": {**ITEM, "appliesTo": ["src/**"]}})
    send(inside, "instructions/rule/edit", title="Other")
    assert added(caller)[-1]["entry"] == {"id": "rule", "title": "Other"}
