"""The tools explorer: the list and its filters, calls, answers and copies."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.unit.console.conftest import KEY, FakeCaller, hidden_fields, token_of

from commonplace.console.caller import Answer
from commonplace.console.pages.tools.answer import make_copies, render_parts


def make_tool(name: str, toolset: str, *, writes: bool = False, tier: str = "core") -> Any:
    schema = {
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["path"],
    }
    return {
        "name": name,
        "description": f"What {name} does.\nMore about it.",
        "inputSchema": schema,
        "annotations": {"readOnlyHint": not writes},
        "_toolset": toolset,
        "_tier": tier,
    }


@pytest.fixture(autouse=True)
def tools(caller: FakeCaller) -> None:
    caller.listed = [
        make_tool("file_read", "files"),
        make_tool("file_write", "files", writes=True),
        make_tool("rekall_search", "memory"),
        make_tool("memory_stale", "memory", tier="extended"),
    ]


def listed(page: str) -> list[str]:
    return re.findall(r'href="/console/tools/(\w+)"', page)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["file_read", "file_write", "rekall_search", "memory_stale"]),
        ("q=READ", ["file_read"]),
        ("toolset=memory", ["rekall_search", "memory_stale"]),
        ("tier=extended", ["memory_stale"]),
        ("access=writes", ["file_write"]),
        ("access=reads&toolset=files", ["file_read"]),
        ("q=%3Cimg%3E", []),
    ],
)
def test_filters_of_the_list_are_in_its_address(
    query: str, names: list[str], inside: TestClient
) -> None:
    page = inside.get(f"/console/tools?{query}").text
    assert listed(page) == names
    assert ("No tool fits." in page) == (not names)


def test_file_tools_are_one_entry(inside: TestClient) -> None:
    page = inside.get("/console/tools").text
    assert page.count(">FileIO<") == 1
    assert ">read</a>" in page


def test_an_unknown_tool_is_not_found(inside: TestClient) -> None:
    answer = inside.get("/console/tools/%3Cimg%3E")
    assert answer.status_code == 404
    assert "No tool is called &lt;img&gt;." in answer.text


def test_a_call_shows_its_answer_and_keeps_the_form(inside: TestClient, caller: FakeCaller) -> None:
    caller.replies["file_read"] = Answer({"content": "<b>x</b>", "lines": [{"number": 1}]})
    page = inside.get("/console/tools/file_read").text
    form = {**token_of(page), "arg.path": "/a&b", "arg.limit": "3"}
    answer = inside.post("/console/tools/file_read", data=form)
    assert caller.calls == [("file_read", {"path": "/a&b", "limit": 3})]
    assert "Answered in" in answer.text
    assert "&lt;b&gt;x&lt;/b&gt;" in answer.text
    assert 'value="/a&amp;b"' in answer.text
    assert '<meta name="saved-draft" content="tool file_read">' in answer.text
    assert "lines (1)" in answer.text


def test_a_refused_call_shows_the_reason(inside: TestClient, caller: FakeCaller) -> None:
    error = {"code": "SCOPE_REQUIRED", "message": "Needs write.", "hint": "Ask an admin."}
    caller.replies["file_write"] = Answer(None, error)
    token = token_of(inside.get("/console/tools/file_write").text)
    page = inside.post("/console/tools/file_write", data={**token, "arg.path": "/a"}).text
    assert "Refused in" in page
    assert "Ask an admin." in page
    assert "SCOPE_REQUIRED" in page


def test_a_wrong_field_sends_nothing_and_keeps_the_text(
    inside: TestClient, caller: FakeCaller
) -> None:
    token = token_of(inside.get("/console/tools/file_read").text)
    form = {**token, "arg.path": "my text", "arg.limit": "many"}
    answer = inside.post("/console/tools/file_read", data=form)
    assert answer.status_code == 422
    assert "limit must be a whole number." in answer.text
    assert 'value="my text"' in answer.text
    assert caller.calls == []


def test_a_call_needs_the_token(inside: TestClient, caller: FakeCaller) -> None:
    answer = inside.post("/console/tools/file_read", data={"arg.path": "/a", "csrf": "guessed"})
    assert answer.status_code == 403
    assert caller.calls == []


@pytest.mark.parametrize("arguments", ["{", "[1]", "null", '"x"'])
def test_wrong_arguments_in_the_address_are_ignored(arguments: str, inside: TestClient) -> None:
    assert inside.get("/console/tools/file_read", params={"args": arguments}).status_code == 200


def test_arguments_in_the_address_fill_the_form(inside: TestClient) -> None:
    page = inside.get("/console/tools/file_read", params={"args": '{"path":"/a","limit":5}'}).text
    assert 'value="/a"' in page
    assert 'value="5"' in page


def test_no_copy_contains_the_key(browser: TestClient, caller: FakeCaller) -> None:
    caller.replies["file_read"] = Answer({})
    page = browser.get("/console/login").text
    browser.post("/console/login", data={**hidden_fields(page), "key": KEY})
    token = token_of(browser.get("/console/tools/file_read").text)
    page = browser.post("/console/tools/file_read", data={**token, "arg.path": "/a"}).text
    assert "Authorization: Bearer $COMMONPLACE_KEY" in html.unescape(page)
    assert KEY not in page


def test_copies_quote_the_arguments_for_a_shell() -> None:
    copies = {
        copy.title: copy.text
        for copy in make_copies("file_read", {"path": "it's $(x)"}, "http://a/mcp", False)
    }
    assert copies["Command line"].endswith("""--args '{"path":"it'"'"'s $(x)"}'""")
    assert "Authorization" not in copies["curl"]
    assert copies["curl"].startswith("curl -s http://a/mcp")
    assert copies["Address of this form"].startswith("/console/tools/file_read?args=")


def test_answers_are_split_into_tables_texts_and_json() -> None:
    parts = render_parts({"rows": [{"a": 1}, {"b": None}], "deep": {"x": [1]}, "n": 3, "none": []})
    assert [(part.name, part.kind) for part in parts] == [
        ("rows", "table"),
        ("deep", "json"),
        ("n", "text"),
        ("none", "text"),
    ]
    assert (parts[0].columns, parts[0].rows) == (["a", "b"], [["1", ""], ["", ""]])
    assert render_parts("plain")[0].text == "plain"
