"""The overview when some questions fail."""

from __future__ import annotations

from starlette.testclient import TestClient
from tests.unit.console.conftest import FakeCaller

from commonplace.console.caller import Answer

REFUSED = Answer(None, {"code": "SCOPE_REQUIRED", "message": "Needs admin.", "hint": "Ask."})


def test_an_overview_without_any_answer_is_still_a_page(
    inside: TestClient, caller: FakeCaller
) -> None:
    answer = inside.get("/console/")
    assert answer.status_code == 200
    assert "No tool is called server_status." in answer.text
    assert "The audit trail is shown to keys with scope admin." in answer.text


def test_what_works_is_shown_beside_what_fails(inside: TestClient, caller: FakeCaller) -> None:
    caller.replies["server_status"] = REFUSED
    caller.replies["memory_list"] = Answer({"total": 12})
    page = inside.get("/console/").text
    assert "Needs admin." in page
    assert ">12</div>" in page


def test_a_key_that_was_revoked_leads_to_the_sign_in_page(
    inside: TestClient, caller: FakeCaller
) -> None:
    gone = Answer(None, {"code": "UNAUTHENTICATED", "message": "Revoked."})
    caller.replies["server_status"] = gone
    answer = inside.get("/console/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/console/login")
