"""What a person does on the pages of instructions, and what the graph shows."""

from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Visitor, VisitorFactory, call
from tests.server.conformance.program import Served, serve_http

HOSTILE = "<img src=x onerror=\"alert('owned')\">"
Keyed = tuple[Served, dict[str, str], Path]


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
    entry = {"id": identity, "title": identity, "body": "Be kind.", **fields}
    call(server, key, "instructions_add", {"entry": entry, "lax": True})


def read(server: Served, key: str, identity: str) -> dict[str, Any]:
    item: dict[str, Any] = call(server, key, "instructions_get", {"id": identity})["item"]
    return item


def drawing(page: Page) -> Any:
    return page.frame_locator("iframe.graph").locator("svg[aria-roledescription^=flowchart]")


def test_a_person_adds_a_rule_corrects_it_changes_it_and_undoes_the_change(
    visitor: Visitor, keyed: Keyed
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
    visitor.allow("status of 422")
    visitor.sign_in(keys["admin"])
    page = visitor.page
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Instructions").click()
    expect(page.get_by_role("cell", name=f"Title {HOSTILE}")).to_be_visible()
    page.get_by_role("link", name="New instruction").click()
    page.get_by_label("Id", exact=True).fill("roll-back")
    page.get_by_label("Title").fill("Roll back first")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("body is missing")).to_be_visible()
    expect(page.get_by_label("Id", exact=True)).to_have_value("roll-back")
    page.get_by_label("Body").fill("Roll back before you look for the cause.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Roll back first")).to_be_visible()

    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Title").fill("Roll back before all else")
    page.get_by_role("button", name="Show changes").click()
    expect(page.locator("pre.diff")).to_contain_text("-title: Roll back first")
    expect(page.locator("pre.diff")).to_contain_text("+title: Roll back before all else")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Roll back before all else")).to_be_visible()
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.get_by_role("heading", name="Roll back first")).to_be_visible()
    page.get_by_role("link", name="History").click()
    expect(page.get_by_role("button", name="Go back to before this").first).to_be_visible()

    visitor.go("/console/instructions")
    page.get_by_label("Search", exact=True).fill("hostile-rule")
    expect(page.get_by_text("Instructions: 1", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="hostile-rule", exact=True)).to_be_visible()
    page.get_by_label("Search", exact=True).fill("look for the cause")
    expect(page.get_by_role("link", name="roll-back", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile("q=look"))
    page.get_by_role("link", name="roll-back", exact=True).click()
    expect(page.get_by_role("link", name="History")).to_be_visible()


def test_a_change_by_somebody_else_is_shown_before_it_is_overwritten(
    visitor: Visitor, keyed: Keyed
) -> None:
    server, keys, _ = keyed
    add(server, keys["admin"], "disputed", body="One.\nTwo.\n")
    visitor.allow("status of 409")
    visitor.sign_in(keys["admin"])
    page = visitor.page
    visitor.go("/console/instructions/disputed/edit")
    page.get_by_label("Body").fill("One.\nMine.\n")
    change = {"entry": {"id": "disputed", "body": "One.\nTheirs.\n"}, "overwrite": True}
    call(server, keys["admin"], "instructions_add", {**change, "lax": True})
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Somebody changed this instruction")).to_be_visible()
    expect(page.locator("pre.diff")).to_contain_text("-Theirs.")
    expect(page.locator("pre.diff")).to_contain_text("+Mine.")
    expect(page.get_by_label("Body")).to_have_value("One.\nMine.\n")
    assert read(server, keys["read"], "disputed")["body"].strip() == "One.\nTheirs."
    page.get_by_role("button", name="Save my version over it").click()
    expect(page.get_by_text("Saved as version")).to_be_visible()
    assert read(server, keys["read"], "disputed")["body"].strip() == "One.\nMine."


def test_unsaved_text_is_offered_again_and_forgotten_once_it_is_saved(
    visitor: Visitor, keyed: Keyed
) -> None:
    server, keys, _ = keyed
    add(server, keys["admin"], "drafted")
    visitor.sign_in(keys["admin"])
    page = visitor.page
    visitor.go("/console/instructions/drafted/edit")
    page.get_by_label("Body").fill("A text that must not be lost.")
    visitor.go("/console/instructions")
    visitor.go("/console/instructions/drafted/edit")
    expect(page.get_by_label("Body")).to_have_value("Be kind.")
    page.get_by_role("button", name="Restore it").click()
    expect(page.get_by_label("Body")).to_have_value("A text that must not be lost.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved as version")).to_be_visible()
    visitor.go("/console/instructions/drafted/edit")
    expect(page.get_by_label("Body")).to_have_value("A text that must not be lost.")
    expect(page.get_by_role("button", name="Restore it")).to_have_count(0)


def test_a_removed_rule_is_brought_back_from_the_message_and_from_its_page(
    visitor: Visitor, keyed: Keyed
) -> None:
    server, keys, _ = keyed
    add(server, keys["admin"], "removable")
    visitor.allow("status of 404")
    visitor.sign_in(keys["admin"])
    page = visitor.page
    for way in ("message", "page"):
        visitor.go("/console/instructions/removable")
        page.get_by_role("link", name="Remove").click()
        page.get_by_role("dialog").get_by_role("button", name="Remove").click()
        expect(page.get_by_text("Removed removable.")).to_be_visible()
        if way == "page":
            visitor.go("/console/instructions/removable")
            expect(page.get_by_text("It was removed; its history is below.")).to_be_visible()
        page.get_by_role("button", name="Undo", exact=True).click()
        expect(page.get_by_role("heading", name="removable")).to_be_visible()
        assert read(server, keys["read"], "removable")["body"] == "Be kind."


def test_selected_rules_are_removed_after_a_question_and_brought_back(
    visitor: Visitor, keyed: Keyed
) -> None:
    server, keys, _ = keyed
    for number in range(3):
        add(server, keys["admin"], f"bulk-{number}", categories=["bulk"])
    visitor.sign_in(keys["admin"])
    page = visitor.page
    visitor.go("/console/instructions?category=bulk")
    page.get_by_role("button", name="Remove selected").click()
    expect(page.get_by_text("Tick the instructions first.")).to_be_visible()
    visitor.wait_for_scripts()
    page.get_by_label("Select all rows").check()
    page.get_by_label("Select bulk-1").uncheck()
    page.get_by_role("button", name="Remove selected").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_text("Removed 2 instructions.")).to_be_visible()
    expect(page.get_by_text("Instructions: 1", exact=True)).to_be_visible()
    assert "category=bulk" in page.url
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.get_by_text("2 changes undone")).to_be_visible()
    visitor.go("/console/instructions?category=bulk")
    expect(page.get_by_text("Instructions: 3", exact=True)).to_be_visible()


def test_filters_order_and_page_are_in_the_address(visitor: Visitor, keyed: Keyed) -> None:
    server, keys, _ = keyed
    entries = [
        {
            "id": f"paged-{number:02}",
            "title": f"Paged {99 - number}",
            "body": "Page.",
            "categories": ["paged"],
            "owner": "team-even" if number % 2 == 0 else "team-odd",
        }
        for number in range(30)
    ]
    call(server, keys["admin"], "instructions_import", {"entries": entries})
    visitor.sign_in(keys["read"])
    page = visitor.page
    visitor.go("/console/instructions?category=paged")
    expect(page.get_by_text("Instructions: 30", exact=True)).to_be_visible()
    page.get_by_role("link", name="Next").click()
    expect(page.get_by_text("Page 2 of 2")).to_be_visible()
    assert "page=2" in page.url
    page.go_back()
    expect(page.get_by_text("Page 1 of 2")).to_be_visible()
    page.locator("th", has_text="Title").get_by_role("link").click()
    expect(page.locator("tbody tr").first).to_contain_text("paged-29")
    page.locator("th", has_text="Title").get_by_role("link").click()
    expect(page.locator("tbody tr").first).to_contain_text("paged-00")
    page.get_by_label("Owner").fill("team-odd")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("Instructions: 15", exact=True)).to_be_visible()
    page.reload()
    expect(page.get_by_text("Instructions: 15", exact=True)).to_be_visible()
    expect(page.get_by_label("Owner")).to_have_value("team-odd")
    visitor.go("/console/instructions?q=zzzznothing")
    expect(page.get_by_text("No instruction fits.")).to_be_visible()


def test_an_open_list_says_that_the_catalogue_has_changed(visitor: Visitor, keyed: Keyed) -> None:
    server, keys, _ = keyed
    visitor.sign_in(keys["read"])
    page = visitor.page
    visitor.go("/console/instructions?q=qnewcomerq")
    expect(page.get_by_text("No instruction fits.")).to_be_visible()
    add(server, keys["admin"], "qnewcomerq")
    page.get_by_role("link", name="Show the changes").click()
    expect(page.get_by_role("link", name="qnewcomerq")).to_be_visible()


def test_a_filtered_list_keeps_one_connection_for_news(visitor: Visitor, keyed: Keyed) -> None:
    server, keys, _ = keyed
    add(server, keys["admin"], "listened")
    visitor.page.add_init_script(
        """
        window.streams = [];
        window.EventSource = class extends EventSource {
          constructor(address) { super(address); window.streams.push(this); }
        };
        """
    )
    visitor.sign_in(keys["read"])
    page = visitor.page
    visitor.go("/console/instructions")
    for words in ("zzz-nothing", "listened", "zzz-nothing", "listened"):
        page.get_by_label("Search", exact=True).fill(words)
        expect(page).to_have_url(re.compile(f"q={words}"))
    expect(page.get_by_role("link", name="listened", exact=True)).to_be_visible()
    count = (
        "[window.streams.length,"
        " window.streams.filter((stream) => stream.readyState !== EventSource.CLOSED).length]"
    )
    until = time.monotonic() + 30
    while (counted := page.evaluate(count)) != [5, 1]:
        assert time.monotonic() < until, counted
        page.wait_for_timeout(100)


def test_a_person_sees_the_graph_filters_it_and_reads_its_source(
    new_visitor: VisitorFactory, tmp_path: Path
) -> None:
    with serve_http(tmp_path, {"MCP_ENABLE_MUTATION": "1"}) as server:
        add(server, "", "graph-first", categories=["graphs", "ops"])
        add(server, "", "graph-second", categories=["graphs"])
        visitor = new_visitor(server.address, permissions=["clipboard-read", "clipboard-write"])
        page = visitor.page
        visitor.go("/console/instructions?tab=graph")
        expect(drawing(page)).to_contain_text("graph-first")
        expect(drawing(page)).to_contain_text("belongs")
        exported = call(
            server,
            "",
            "graph_export",
            {
                "format": "mermaid",
                "enrich": True,
                "includeCategoryNodes": True,
                "includeEdgeTypes": ["primary", "category", "belongs"],
                "maxEdges": 60,
                "full": True,
            },
        )
        nodes = drawing(page).locator(".node")
        assert nodes.count() == len(exported["nodes"])
        edges = drawing(page).locator(".edgePaths > path")
        assert edges.count() == len(exported["edges"])
        assert drawing(page).locator("[marker-end]").count() == 0, "the contract has no arrows"
        page.get_by_role("button", name="Copy source").click()
        expect(page.get_by_text("Copied.")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == exported["mermaid"]
        page.get_by_role("link", name="Raw").click()
        expect(page.locator("pre#graph-source")).to_contain_text("flowchart TB")
        assert page.locator("pre#graph-source").text_content() == exported["mermaid"]
        with page.expect_download() as waiting:
            page.get_by_role("link", name="Download source").click()
        assert waiting.value.path().read_text() == exported["mermaid"]

        page.get_by_role("link", name="Rendered").click()
        page.get_by_label("belongs").uncheck()
        page.get_by_role("button", name="Show").click()
        expect(drawing(page)).to_contain_text("graph-first")
        expect(drawing(page)).not_to_contain_text("belongs")
        light = drawing(page).get_attribute("id") or ""
        page.get_by_role("button", name="Dark theme").click()
        expect(page.frame_locator("iframe.graph").locator("html[data-theme=dark]")).to_have_count(1)
        expect(drawing(page)).not_to_have_attribute("id", light)  # a new drawing
        expect(drawing(page)).to_contain_text("graph-first")
        drawing(page).locator(".node", has_text="graph-second").click()
        expect(page.get_by_role("heading", name="graph-second")).to_be_visible()


def test_the_drawing_has_no_access_to_the_page_and_its_failure_shows_the_source(
    visitor: Visitor, keyed: Keyed
) -> None:
    server, keys, _ = keyed
    add(server, keys["admin"], "framed", categories=["frames"])
    visitor.sign_in(keys["read"])
    page = visitor.page
    visitor.go("/console/instructions?tab=graph")
    expect(drawing(page)).to_be_visible()
    frame = page.frames[1]
    assert frame.evaluate("self.origin") == "null"
    for secret in ("document.cookie", "localStorage.length", "parent.document.title"):
        reached = f"(() => {{ try {{ return {secret}, true; }} catch {{ return false; }} }})()"
        assert frame.evaluate(reached) is False, secret
    expect(page.locator("#graph-source")).to_be_hidden()
    page.evaluate(
        """() => {
          document.querySelectorAll("pre[id^=graph]").forEach((text) => {
            text.textContent = "this is no graph";
          });
          document.dispatchEvent(new CustomEvent("theme"));
        }"""
    )
    expect(page.get_by_text("The graph could not be drawn")).to_be_visible()
    expect(page.locator("iframe.graph")).to_be_hidden()
    expect(page.get_by_text("this is no graph").last).to_be_visible()


def test_the_graph_endpoint_answers_as_the_contract_says(keyed: Keyed) -> None:
    server, keys, _ = keyed
    add(server, keys["admin"], "endpoint-one", categories=["endpoint"])
    status, plain = graph(server, keys["read"], "")
    assert status == 200
    assert set(plain) == {"success", "meta", "mermaid"}
    assert plain["success"] is True
    assert plain["meta"]["graphSchemaVersion"] == 1
    assert "flowchart TB" in plain["mermaid"]
    choices = "enrich=true&includeCategoryNodes=1&includeEdgeTypes=primary,belongs"
    status, rich = graph(server, keys["read"], f"?{choices}&maxEdges=1&includeUsage=true")
    assert status == 200
    assert rich["meta"]["graphSchemaVersion"] == 2
    assert rich["meta"]["edgeCount"] == 1
    assert rich["meta"]["truncated"] is True
    assert graph(server, None, "")[0] == 401
    message = "maxEdges must be a whole number, 0 or more."
    error = {"code": "INVALID_ARGUMENT", "message": message}
    assert graph(server, keys["read"], "?maxEdges=-1") == (400, {"success": False, "error": error})
    assert graph(server, keys["read"], "?includeEdgeTypes=nonsense")[0] == 400


def test_governance_is_changed_on_the_page_of_a_rule(visitor: Visitor, keyed: Keyed) -> None:
    server, keys, _ = keyed
    add(server, keys["admin"], "governed", owner="first-team")
    visitor.sign_in(keys["admin"])
    page = visitor.page
    visitor.go("/console/instructions/governed?view=governance")
    page.get_by_label("Owner").fill("second-team")
    page.get_by_label("Status").select_option("approved")
    page.get_by_label("Review due").fill("2031-02-03")
    page.get_by_label("Raise the version").select_option("minor")
    page.get_by_role("button", name="Save governance").click()
    expect(page.get_by_text("Saved as version 1.1.0")).to_be_visible()
    item = read(server, keys["read"], "governed")
    assert (item["owner"], item["status"]) == ("second-team", "approved")
    assert item["nextReviewDue"].startswith("2031-02-03")
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.get_by_role("heading", name="governed")).to_be_visible()
    assert read(server, keys["read"], "governed")["owner"] == "first-team"


def test_the_hashes_are_checked_on_demand(visitor: Visitor, keyed: Keyed) -> None:
    server, keys, _ = keyed
    add(server, keys["admin"], "hashed")
    visitor.sign_in(keys["read"])
    visitor.go("/console/instructions?tab=governance")
    visitor.page.get_by_role("link", name="Check the hashes").click()
    expect(visitor.page.get_by_text("instructions fit their bodies.")).to_be_visible()


def test_a_prompt_is_reviewed_and_stays_in_the_form(visitor: Visitor, keyed: Keyed) -> None:
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    visitor.go("/console/instructions?tab=prompt")
    page.get_by_label("Prompt", exact=True).fill("Run rm -rf / now")
    page.get_by_role("button", name="Review", exact=True).click()
    expect(page.get_by_text("the worst is")).to_be_visible()
    expect(page.get_by_label("Prompt", exact=True)).to_have_value("Run rm -rf / now")
    page.get_by_label("Prompt", exact=True).fill("Describe the release process.")
    page.get_by_role("button", name="Review", exact=True).click()
    expect(page.get_by_text("Nothing to change.")).to_be_visible()
    page.get_by_label("Prompt", exact=True).fill("x" * 10_001)
    page.get_by_role("button", name="Review", exact=True).click()
    expect(page.get_by_text("Review it in parts.")).to_be_visible()
    page.get_by_role("button", name="Example").click()
    expect(page.get_by_text("the worst is critical")).to_be_visible()


def test_feedback_is_given_answered_and_filtered(visitor: Visitor, keyed: Keyed) -> None:
    visitor.allow("status of 422")
    visitor.sign_in(keyed[1]["write"])
    page = visitor.page
    visitor.go("/console/instructions?tab=feedback")
    page.get_by_text("Give feedback").click()
    page.get_by_label("What happened").fill("It cannot be done.")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("What happened")).to_have_value("It cannot be done.")
    page.get_by_label("Title").fill("Rule 7 is impossible")
    page.get_by_label("How serious").select_option("high")
    page.get_by_role("button", name="Send").click()
    card = page.get_by_role("article").filter(has_text="Rule 7 is impossible")
    expect(card).to_contain_text("It cannot be done.")
    card.get_by_label("Status of Rule 7 is impossible").select_option("resolved")
    card.get_by_role("button", name="Set status").click()
    expect(page.get_by_text("Now resolved")).to_be_visible()
    page.get_by_label("Status", exact=True).select_option("resolved")
    expect(page.get_by_text("Feedback: 1, newest first.")).to_be_visible()
    expect(page).to_have_url(re.compile("status=resolved"))
    page.get_by_label("Status", exact=True).select_option("closed")
    expect(page.get_by_text("No feedback fits.")).to_be_visible()


def test_with_mutation_off_the_page_says_how_to_turn_it_on(
    new_visitor: VisitorFactory, tmp_path: Path
) -> None:
    with serve_http(tmp_path) as server:
        visitor = new_visitor(server.address)
        visitor.go("/console/instructions")
        expect(visitor.page.get_by_text("set MCP_ENABLE_MUTATION=1")).to_be_visible(timeout=60_000)
        expect(visitor.page.get_by_text("The catalogue is empty.")).to_be_visible()
        expect(visitor.page.get_by_role("link", name="New instruction")).to_have_count(0)


def test_unreadable_values_are_shown_under_governance(
    new_visitor: VisitorFactory, tmp_path: Path
) -> None:
    folder = tmp_path / "instructions"
    (folder / "team").mkdir(parents=True)
    (folder / "team" / "b.json").write_text("{}")
    (folder / "a.json").write_text(json.dumps({"id": "a", "body": "x", "priority": "high"}))
    with serve_http(tmp_path, {"INSTRUCTIONS_DIR": str(folder)}) as server:
        visitor = new_visitor(server.address)
        visitor.go("/console/instructions?tab=governance")
        expect(
            visitor.page.get_by_text('a, priority: "high" cannot be read; it is read as 50')
        ).to_be_visible(timeout=60_000)
        expect(visitor.page.get_by_text("Files in subfolders are not read: team")).to_be_visible()


def test_gates_are_shown_with_their_result(new_visitor: VisitorFactory, tmp_path: Path) -> None:
    folder = tmp_path / "instructions"
    folder.mkdir()
    gate = {
        "id": "many",
        "type": "count",
        "op": ">=",
        "value": 5,
        "severity": "error",
        "description": "Five rules are needed.",
        "where": {"requirement": "mandatory"},
    }
    (folder / "gates.json").write_text(json.dumps({"gates": [gate]}))
    with serve_http(tmp_path, {"INSTRUCTIONS_DIR": str(folder)}) as server:
        visitor = new_visitor(server.address)
        visitor.go("/console/instructions?tab=governance")
        expect(visitor.page.get_by_text("1 gate: 1 error, 0 warnings.")).to_be_visible()
        expect(visitor.page.get_by_text("(found 0, wanted >= 5)")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_pages_are_accessible_and_fit_a_narrow_window(
    new_visitor: VisitorFactory, keyed: Keyed, theme: str
) -> None:
    server, keys, _ = keyed
    add(server, keys["admin"], "accessible", categories=["a11y"], body="# Head\n\nText `x`.")
    call(server, keys["admin"], "usage_track", {"id": "accessible"})
    visitor = new_visitor(
        server.address, color_scheme=theme, viewport={"width": 360, "height": 800}
    )
    visitor.sign_in(keys["admin"])
    for path in (
        "instructions",
        "instructions?tab=graph",
        "instructions?tab=graph&look=raw",
        "instructions?tab=governance&verify=1",
        "instructions?tab=prompt",
        "instructions?tab=usage",
        "instructions?tab=feedback&give=1",
        "instructions/accessible",
        "instructions/accessible?view=source",
        "instructions/accessible?view=history",
        "instructions/accessible?view=governance",
        "instructions/accessible?confirm=remove",
        "instructions/accessible/edit",
        "new-instruction",
    ):
        visitor.go(f"/console/{path}")
        if path == "instructions?tab=graph":
            expect(drawing(visitor.page)).to_be_visible()
        assert visitor.axe() == [], path
        assert visitor.overflow() <= 0, path
        assert visitor.page.locator("h1").count() == 1, path


def test_the_pages_work_without_scripts(new_visitor: VisitorFactory, keyed: Keyed) -> None:
    server, keys, _ = keyed
    visitor = new_visitor(server.address, java_script_enabled=False)
    visitor.sign_in(keys["admin"])
    page = visitor.page
    visitor.go("/console/new-instruction")
    page.get_by_label("Id", exact=True).fill("scriptless")
    page.get_by_label("Title").fill("Without scripts")
    page.get_by_label("Body").fill("Works.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Without scripts")).to_be_visible()
    page.get_by_role("link", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.get_by_role("heading", name="Without scripts")).to_be_visible()
    visitor.go("/console/instructions")
    page.get_by_label("Search", exact=True).fill("scriptless")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("Instructions: 1", exact=True)).to_be_visible()
    visitor.go("/console/instructions?tab=graph")
    expect(page.get_by_text("Drawing needs JavaScript; Raw shows the same graph")).to_be_visible()
