"""The files pages over HTTP, with fixed answers of the tools."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.unit.console.conftest import FakeCaller, hidden_fields, make_browser, make_gate

from commonplace.console.caller import Answer

USAGE = {"size_bytes": 1, "limit_bytes": 100, "files": 1, "retention_days": 30}
INDEX = {"pending": 2, "processing": 0, "dead": 1, "embedding": 0, "waiting_credential": 0}
READ = {
    "content": "a\r\nb\r\n",
    "content_hash": "h1",
    "size": 6,
    "file_seek_start_bytes": 0,
    "file_seek_end_bytes": 6,
}
CHANGED = {"code": "CONTENT_CHANGED", "message": "The file is not the one you read."}


@pytest.fixture
def caller() -> FakeCaller:
    caller = FakeCaller()
    caller.replies |= {
        "file_projects": Answer({"projects": [{"project": "p", "files": 1, "size_bytes": 1}]}),
        "file_usage": Answer(USAGE),
        "file_index_status": Answer({**INDEX, "dead_letters": [{"path": "/bad.md"}]}),
        "file_browse": Answer({"entries": [], "next": None}),
        "file_read": Answer(READ),
        "file_write": Answer({"content_hash": "h2", "size": 6, "bytes_written": 6}),
        "file_stat": Answer({"exists": False, "type": None}),
        "file_delete": Answer({"deleted": 1}),
    }
    return caller


@pytest.fixture
def browser(caller: FakeCaller) -> TestClient:
    return make_browser(make_gate(caller, is_open=True))


def post(browser: TestClient, action: str, **fields: str) -> Any:
    token = hidden_fields(browser.get("/console/files/new").text)["csrf"]
    return browser.post(f"/console/files/{action}", data={"csrf": token, **fields})


def test_the_only_project_is_opened_at_once(browser: TestClient) -> None:
    answer = browser.get("/console/files")
    assert answer.headers["location"] == "/console/files?project=p"


def test_several_projects_are_listed(browser: TestClient, caller: FakeCaller) -> None:
    projects = [{"project": name, "files": 1, "size_bytes": 1} for name in "ab"]
    caller.replies["file_projects"] = Answer({"projects": projects})
    assert "/console/files?project=b" in browser.get("/console/files").text


def test_the_state_of_the_index_names_what_waits_and_what_failed(browser: TestClient) -> None:
    text = browser.get("/console/files?project=p").text
    assert "2 files wait for the search index" in text
    assert "1 file could not be indexed" in text
    assert "/bad.md" in text


def test_a_saved_text_gets_the_line_ends_of_the_file(
    browser: TestClient, caller: FakeCaller
) -> None:
    answer = post(browser, "edit", project="p", path="/a", hash="h1", text="a\r\nnew\r\n")
    assert answer.status_code == 303
    written = next(arguments for tool, arguments in caller.calls if tool == "file_write")
    assert (written["content"], written["if_match"]) == ("a\r\nnew\r\n", "h1")


def test_a_conflict_shows_both_texts_and_keeps_the_person_s(
    browser: TestClient, caller: FakeCaller
) -> None:
    caller.replies["file_write"] = Answer(None, CHANGED)
    answer = post(browser, "edit", project="p", path="/a", hash="h0", text="mine\nb\n")
    assert answer.status_code == 409
    assert "+mine" in answer.text
    assert "-a" in answer.text
    assert "mine\nb\n</textarea>" in answer.text
    assert hidden_fields(answer.text)["hash"] == "h1"


def test_a_refused_text_stays_in_the_form(browser: TestClient, caller: FakeCaller) -> None:
    error = {"code": "QUOTA_EXCEEDED", "message": "The project is full.", "hint": "Delete files."}
    caller.replies["file_write"] = Answer(None, error)
    for action, fields in (
        ("edit", {"path": "/a", "hash": "h1"}),
        ("new", {"path": "/a"}),
        ("append", {"path": "/a"}),
    ):
        answer = post(browser, action, project="p", text="mine", **fields)
        assert answer.status_code == 422, action
        assert "The project is full." in answer.text
        assert "mine</textarea>" in answer.text


def test_a_file_with_nul_characters_is_not_edited(browser: TestClient, caller: FakeCaller) -> None:
    caller.replies["file_read"] = Answer({**READ, "content": "a\0b"})
    answer = browser.get("/console/files/edit?project=p&path=/a")
    assert answer.headers["location"] == "/console/files?project=p&path=%2Fa"


def test_after_a_deletion_the_nearest_folder_is_shown(
    browser: TestClient, caller: FakeCaller
) -> None:
    caller.replies["file_stat"] = lambda arguments: {"exists": arguments["path"] == "/a"}
    answer = post(browser, "delete", project="p", path="/a/b/c.md")
    assert answer.headers["location"] == "/console/files?project=p&path=%2Fa"
    caller.replies["file_stat"] = Answer({"exists": False})
    answer = post(browser, "delete", project="p", path="/a/b/c.md")
    assert answer.headers["location"] == "/console/files?project=p"


def test_an_entry_behind_the_first_page_of_a_large_folder_is_in_the_tree(
    browser: TestClient, caller: FakeCaller
) -> None:
    entry = {"name": "a.md", "path": "/a.md", "type": "FILE", "size": 1, "updated_at": None}
    caller.replies["file_browse"] = Answer({"entries": [entry], "next": "/a.md"})
    stat = {"exists": True, "type": "FILE", "size": 6, "content_hash": "h1"}
    caller.replies["file_stat"] = Answer({**stat, "updated_at": "", "created_at": ""})
    text = browser.get("/console/files?project=p&path=/z.md").text
    assert '<a href="/console/files?project=p&amp;path=%2Fz.md" aria-current="true">z.md' in text
    assert "Show more" in text


def test_the_raw_file_is_plain_text(browser: TestClient) -> None:
    answer = browser.get("/console/files/raw?project=p&path=/a.html&download=1")
    assert answer.content == b"a\r\nb\r\n"
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''a.html"


def test_an_address_without_a_project_is_explained(browser: TestClient) -> None:
    assert browser.get("/console/files/edit").status_code == 404
