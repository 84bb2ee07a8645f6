"""Find: groups of findings, groups that fail or are late, and permissions."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.unit.console.conftest import FakeCaller, make_browser, make_gate

from commonplace.console.caller import Answer
from commonplace.console.page import NAVIGATION


class LateCaller(FakeCaller):
    """Never answers one tool."""

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        if tool == "rekall_search":
            await asyncio.Event().wait()
        return await super().call(tool, arguments)


def fill(caller: FakeCaller) -> None:
    caller.listed = [{"name": "rule_check", "title": "Check"}, {"name": "other", "title": ""}]
    caller.replies["instructions_search"] = Answer(
        {"items": [{"id": "a b/c", "title": "<b>Rule</b>"}]}
    )
    caller.replies["rekall_search"] = Answer(
        {"results": [{"id": "m1", "title": "Lesson", "type": "bug"}]}
    )
    caller.replies["file_projects"] = Answer({"projects": [{"project": "demo"}]})
    chunk = {"file_path": "/a.md", "chunk_content": "some\n  text"}
    caller.replies["file_search"] = Answer({"chunks": [chunk, chunk]})
    found = {"ref": "openapi:demo/api.yaml#/paths/~1rules/get", "title": "GET /rules"}
    caller.replies["search_all"] = Answer({"results": [{**found, "snippet": "List rules"}]})


def titles(page: str) -> list[str]:
    return re.findall(r"<h2>([^<]+)</h2>", page)


def links(page: str) -> list[str]:
    return re.findall(r'<li><a href="([^"]+)"><span>', page.partition("palette-results")[0])


@pytest.fixture(autouse=True)
def filled(caller: FakeCaller) -> None:
    fill(caller)


def test_nothing_typed_shows_the_pages(inside: TestClient, caller: FakeCaller) -> None:
    page = inside.get("/console/find?part=1").text
    assert titles(page) == ["Pages"]
    assert len(links(page)) == len(NAVIGATION)
    assert caller.calls == []


def test_pages_tools_and_content_are_found(inside: TestClient) -> None:
    page = inside.get("/console/find?part=1&q=rule").text
    assert titles(page) == [
        "Tools",
        "Instructions",
        "Files",
        "Memory",
        "API operations",
        "Search on a page",
    ]
    assert links(page) == [
        "/console/tools/rule_check",
        "/console/instructions/a%20b%2Fc",
        "/console/files?project=demo&amp;path=%2Fa.md&amp;q=rule",
        "/console/memory/m1",
        "/console/open?ref=openapi%3Ademo%2Fapi.yaml%23%2Fpaths%2F~1rules%2Fget",
        "/console/instructions?q=rule",
        "/console/memory?q=rule",
    ]
    assert "&lt;b&gt;Rule&lt;/b&gt;" in page


def test_files_are_searched_in_the_project_of_the_page(
    inside: TestClient, caller: FakeCaller
) -> None:
    page = inside.get("/console/find?part=1&q=rule&project=other").text
    assert "/console/files?project=other&amp;q=rule" in page
    arguments = next(arguments for tool, arguments in caller.calls if tool == "file_search")
    assert arguments["project"] == "other"


def test_without_a_known_project_all_projects_are_searched(
    inside: TestClient, caller: FakeCaller
) -> None:
    projects = [{"project": "a"}, {"project": "b"}]
    caller.replies["file_projects"] = Answer({"projects": projects})
    found = [
        {"ref": f"file:b/x%20y.md#L{line}-L{line}", "title": "", "snippet": "text"}
        for line in (1, 9)
    ]
    caller.replies["search_all"] = Answer({"results": found})
    page = inside.get("/console/find?part=1&q=rule").text
    assert page.count("<span>b/x y.md</span>") == 1
    asked = [arguments["kinds"] for tool, arguments in caller.calls if tool == "search_all"]
    assert asked == [["file"], ["openapi"]]


def test_a_group_that_fails_does_not_break_the_others(
    inside: TestClient, caller: FakeCaller
) -> None:
    error = {"code": "SCOPE_REQUIRED", "message": "Your key may not read instructions."}
    caller.replies["instructions_search"] = Answer(None, error)
    page = inside.get("/console/find?part=1&q=rule").text
    assert "Your key may not read instructions." in page
    assert "/console/memory/m1" in page


def test_a_group_that_is_late_does_not_delay_the_others() -> None:
    caller = LateCaller()
    fill(caller)
    page = make_browser(make_gate(caller, is_open=True)).get("/console/find?part=1&q=rule").text
    assert "Still searching" in page
    assert page.count("data-late") == 1
    assert "/console/instructions/a%20b%2Fc" in page


def test_a_revoked_key_leads_to_the_sign_in_page(inside: TestClient, caller: FakeCaller) -> None:
    caller.replies["rekall_search"] = Answer(None, {"code": "UNAUTHENTICATED", "message": "No."})
    assert inside.get("/console/find?part=1&q=rule").status_code == 303


def test_the_page_has_the_same_findings(inside: TestClient) -> None:
    page = inside.get("/console/find?q=rule").text
    assert "/console/memory/m1" in links(page)
    assert 'value="rule"' in page
