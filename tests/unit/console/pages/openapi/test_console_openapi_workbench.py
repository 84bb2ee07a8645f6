"""The OpenAPI page over HTTP, with fixed answers of the tools."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.unit.console.conftest import FakeCaller, hidden_fields, make_browser, make_gate

from commonplace.console.caller import Answer

SUMMARY = {
    "version": "3.1.0",
    "title": "Pets",
    "path_count": 1,
    "operation_count": 1,
    "schema_count": 0,
    "format": "yaml",
}
FOUND = {"valid": True, "error_count": 0, "warning_count": 0, "returned": 0, "errors": []}
CHANGES = {
    "summary": "No changes.",
    "changes": [],
    "breaking_count": 0,
    "total_changes": 0,
}


@pytest.fixture
def caller() -> FakeCaller:
    caller = FakeCaller()
    caller.replies["oas_parse"] = Answer(SUMMARY)
    caller.replies["oas_validate"] = Answer(FOUND)
    caller.replies["oas_diff"] = Answer(CHANGES)
    return caller


@pytest.fixture
def browser(caller: FakeCaller) -> TestClient:
    return make_browser(make_gate(caller, is_open=True))


def post(browser: TestClient, path: str = "/console/openapi", **fields: str) -> Any:
    token = hidden_fields(browser.get("/console/openapi").text)["csrf"]
    return browser.post(path, data={"csrf": token, **fields})


def test_a_named_document_is_asked_for_by_its_name(browser: TestClient, caller: FakeCaller) -> None:
    for name, spec in (
        ("file:apis/a.yaml", {"ref": "file:apis/a.yaml"}),
        ("openapi:apis/a.yaml#/info", {"ref": "openapi:apis/a.yaml#/info"}),
        ("https://example.org/a.yaml", {"url": "https://example.org/a.yaml"}),
    ):
        assert "Pets" in browser.get("/console/openapi", params={"ref": name}).text
        assert caller.calls[-2][1] == {"spec": spec}


def test_the_source_of_a_stored_document_is_read_from_the_project_that_its_reference_names(
    browser: TestClient, caller: FakeCaller
) -> None:
    caller.replies["file_read"] = Answer({"content": "openapi: 3.1.0"})
    browser.get("/console/openapi", params={"ref": "file:my%20apis/a.yaml", "tab": "source"})
    assert ("file_read", {"project": "my apis", "path": "/a.yaml"}) in caller.calls


def test_stored_documents_are_linked_by_a_reference_that_can_be_read_back(
    browser: TestClient, caller: FakeCaller
) -> None:
    caller.replies["file_projects"] = Answer({"projects": [{"project": "my apis/1"}]})
    caller.replies["file_grep"] = Answer({"matches": [{"file_path": "/a.yaml"}]})
    shown = browser.get("/console/openapi/pick").text
    assert "ref=file%3Amy%2520apis%252F1%2Fa.yaml" in shown


def test_a_slow_document_is_left_to_a_second_request(caller: FakeCaller) -> None:
    class SlowCaller(FakeCaller):
        async def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
            await asyncio.sleep(0.5)
            return await super().call(tool, arguments)

    slow = SlowCaller()
    slow.replies = caller.replies
    browser = make_browser(make_gate(slow, is_open=True))
    early = browser.get("/console/openapi?ref=file:a/b").text
    assert "The document is being read." in early
    assert 'data-load="/console/openapi?ref=file%3Aa%2Fb&amp;wait=on&amp;tab=findings"' in early
    assert "Valid" in browser.get("/console/openapi?ref=file:a/b&wait=on").text


def test_a_pasted_document_stays_in_its_field(browser: TestClient, caller: FakeCaller) -> None:
    answer = post(browser, content="openapi: <3>", go="tab=findings")
    assert answer.status_code == 200
    assert "openapi: &lt;3&gt;</textarea>" in answer.text
    assert caller.calls[-2][1]["spec"] == {"content": "openapi: <3>"}


def test_two_named_documents_are_compared_at_an_address(browser: TestClient) -> None:
    answer = post(browser, ref="file:a/b", tab="compare", other="file:a/c", breaking="on")
    assert answer.status_code == 303
    assert answer.headers["location"] == (
        "/console/openapi?ref=file%3Aa%2Fb&other=file%3Aa%2Fc&breaking=on&tab=compare"
    )


def test_the_second_document_of_one_tab_is_not_used_by_another(
    browser: TestClient, caller: FakeCaller
) -> None:
    fields = {"content": "a", "tab": "overlay", "overlay_text": "overlay: 1.0.0"}
    post(browser, **fields, go="tab=compare")
    assert "oas_diff" not in [tool for tool, _ in caller.calls]
    post(browser, content="a", tab="compare", compare_text="b")
    assert caller.calls[-1][1]["revision"] == {"content": "b"}


def test_a_file_that_is_not_text_is_explained(browser: TestClient) -> None:
    token = hidden_fields(browser.get("/console/openapi").text)["csrf"]
    answer = browser.post(
        "/console/openapi", data={"csrf": token}, files={"upload": ("a.yaml", b"\xff")}
    )
    assert "The file is not UTF-8 text." in answer.text


def test_a_failed_call_of_a_download_is_a_page(browser: TestClient, caller: FakeCaller) -> None:
    error = {"code": "SPEC_SYNTAX", "message": "Line 1 is wrong.", "hint": "Mend it."}
    caller.replies["oas_validate"] = Answer(None, error)
    assert "Line 1 is wrong." in browser.get("/console/openapi/download?ref=file:a/b").text
    assert browser.get("/console/openapi/download").status_code == 404
