"""What a first-time user does on the Instructions page: write a rule, be told what is wrong,
change it, undo, see the graph.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, expect
from tests.browser.conftest import Visitor, call
from tests.server.conformance.program import Served, serve_http

HOSTILE = "<img src=x onerror=\"alert('owned')\">"


def graph(server: Served, key: str | None, query: str) -> tuple[int, dict[str, Any]]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    request = urllib.request.Request(
        f"http://{server.address}/api/graph/mermaid{query}", headers=headers
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as refused:
        return refused.code, json.loads(refused.read())


def add(server: Served, key: str, identity: str, **fields: Any) -> None:
    call(
        server,
        key,
        "instructions_add",
        {"entry": {"id": identity, "title": identity, "body": "Be kind.", **fields}, "lax": True},
    )


def test_a_person_adds_a_rule_corrects_it_changes_it_and_undoes_the_change(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    server, keys, _ = keyed
    add(
        server,
        keys["admin"],
        "hostile-rule",
        title=f"Title {HOSTILE}",
        body=f"Body {HOSTILE}",
        categories=["ops"],
    )
    visitor.sign_in(keys["admin"])
    page = visitor.page
    page.get_by_role("button", name="Instructions").click()
    expect(page.get_by_role("cell", name=f"Title {HOSTILE}")).to_be_visible()
    page.get_by_role("button", name="New").click()
    page.get_by_label("Id", exact=True).fill("roll-back")
    page.get_by_label("Title").fill("Roll back first")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("body is missing")).to_be_visible()
    page.locator(".cm-content").click()
    page.keyboard.type("Roll back before you look for the cause.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("History")).to_be_visible()

    page.get_by_label("Title").fill("Roll back before all else")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog")).to_contain_text(
        "Roll back first -> Roll back before all else"
    )
    page.get_by_role("button", name="Save changes").click()
    expect(page.get_by_role("button", name="Go back to before this")).to_be_visible()
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.get_by_label("Title")).to_have_value("Roll back first")

    visitor.go("/console/instructions")
    page.get_by_label("Search").fill("hostile-rule")
    expect(page.get_by_role("cell", name="hostile-rule", exact=True)).to_be_visible()
    expect(page.get_by_text("Instructions: 1")).to_be_visible()
    page.get_by_label("Search").fill("look for the cause")
    expect(page.get_by_text("Instructions: 1")).to_be_visible()
    page.get_by_role("cell", name="roll-back", exact=True).click()
    expect(page.get_by_text("History")).to_be_visible()
    assert visitor.executed == []
    assert visitor.foreign == []
    assert visitor.problems == []


def test_a_person_sees_the_graph_filters_it_and_reads_its_source(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    server, keys, _ = keyed
    add(server, keys["admin"], "graph-one", categories=["graphs", "ops"])
    add(server, keys["admin"], "graph-two", categories=["graphs"])
    visitor.sign_in(keys["read"])
    page = visitor.page
    visitor.go("/console/instructions?tab=graph")
    drawing = page.locator("svg[aria-roledescription^=flowchart]")
    expect(drawing).to_contain_text("graph-one")
    expect(drawing).to_contain_text("belongs")
    page.get_by_label("Edge types").click()
    page.get_by_role("option", name="belongs").click()
    page.keyboard.press("Escape")
    expect(drawing).not_to_contain_text("belongs")
    page.get_by_role("button", name="Raw").click()
    expect(page.get_by_text("flowchart TB")).to_be_visible()
    assert visitor.problems == []


def test_the_graph_endpoint_answers_as_the_contract_says(
    keyed: tuple[Served, dict[str, str], Path],
) -> None:
    server, keys, _ = keyed
    add(server, keys["admin"], "endpoint-one", categories=["endpoint"])
    status, plain = graph(server, keys["read"], "")
    assert status == 200
    assert set(plain) == {"success", "meta", "mermaid"}
    assert plain["success"] is True
    assert plain["meta"]["graphSchemaVersion"] == 1
    assert "flowchart TB" in plain["mermaid"]
    status, rich = graph(
        server,
        keys["read"],
        "?enrich=true&includeCategoryNodes=1&includeEdgeTypes=primary,belongs&maxEdges=1&includeUsage=true",
    )
    assert status == 200
    assert rich["meta"]["graphSchemaVersion"] == 2
    assert rich["meta"]["edgeCount"] == 1
    assert rich["meta"]["truncated"] is True
    assert graph(server, None, "")[0] == 401
    assert graph(server, keys["read"], "?maxEdges=-1") == (
        400,
        {
            "success": False,
            "error": {
                "code": "INVALID_ARGUMENT",
                "message": "maxEdges must be a whole number, 0 or more.",
            },
        },
    )
    assert graph(server, keys["read"], "?includeEdgeTypes=nonsense")[0] == 400


def test_with_mutation_off_the_page_says_how_to_turn_it_on(
    browser: Browser, tmp_path: Path
) -> None:
    with serve_http(tmp_path) as server:
        visitor = Visitor(browser.new_context(), server.address)
        visitor.go("/console/instructions")
        expect(visitor.page.get_by_text("set MCP_ENABLE_MUTATION=1")).to_be_visible(timeout=60_000)
        expect(visitor.page.get_by_role("button", name="New")).to_have_count(0)
        visitor.page.context.close()


def test_unreadable_values_are_shown_under_governance(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "instructions"
    (folder / "team").mkdir(parents=True)
    (folder / "team" / "b.json").write_text("{}")
    (folder / "a.json").write_text(json.dumps({"id": "a", "body": "x", "priority": "high"}))
    with serve_http(tmp_path, {"INSTRUCTIONS_DIR": str(folder)}) as server:
        visitor = Visitor(browser.new_context(), server.address)
        visitor.go("/console/instructions?tab=governance")
        expect(
            visitor.page.get_by_text('a, priority: "high" cannot be read; it is read as 50')
        ).to_be_visible(timeout=60_000)
        expect(visitor.page.get_by_text("Files in subfolders are not read: team")).to_be_visible()
        visitor.page.context.close()
