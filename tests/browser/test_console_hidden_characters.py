"""The console reveals hidden characters in every stored field."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import expect
from tests.browser.conftest import Visitor, call
from tests.server.conformance.program import Served

from commonplace.kernel.hidden_characters import find_hidden

HIDDEN = (
    "w\u202exw\u2066xw\u200bxw\u2060xw\u2062xw\U000e0041xw\ufe01\ufe02x"
    "w\ufff9xw\u00ad\u00adxw\u3164xw\ufdd0xw\u009bxw\u2028x"
)
ORDINARY = "می‌خواهم क्‍ष 👩🏽‍💻 ⚠️ שלום‏!"
TEXT = f"plain {HIDDEN} {ORDINARY}"
PROJECT = f"p{HIDDEN[:12]}"
ALL_TEXT = """() => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) {
    const owner = texts.currentNode.parentElement;
    if (!owner.closest('.editor, textarea, input, script, style')) {
      found.push(texts.currentNode.nodeValue);
    }
  }
  const names = ['title', 'aria-label', 'alt', 'placeholder', 'data-title'];
  document.querySelectorAll('*').forEach((element) => {
    names.forEach((name) => found.push(element.getAttribute(name) ?? ''));
  });
  return found;
}"""


def plant(server: Served, key: str) -> str:
    rule = {
        "id": "hidden-rule",
        "title": TEXT,
        "body": TEXT,
        "owner": TEXT[:80],
        "rationale": TEXT,
        "audience": "all",
        "categories": ["a"],
    }
    added = call(server, key, "instructions_add", {"entry": rule, "lax": True})
    assert any("U+202E" in warning for warning in added["warnings"])
    call(
        server,
        key,
        "feedback_submit",
        {"type": "issue", "severity": "low", "title": TEXT, "description": TEXT},
    )
    document = {
        "openapi": "3.0.3",
        "info": {"title": TEXT, "version": "1"},
        "paths": {"/a": {"get": {"summary": TEXT, "responses": {}}}},
    }
    for path, content in (
        ("/note.md", TEXT),
        ("/api.json", json.dumps(document, ensure_ascii=False)),
    ):
        call(
            server,
            key,
            "file_write",
            {"project": PROJECT, "path": path, "content": content, "mode": "TRUNCATE"},
        )
    fields = {"content": TEXT, "tags": [TEXT[:50]], "context": TEXT, "project": PROJECT}
    return str(call(server, key, "rekall_add", {"type": "bug", "title": TEXT[:90], **fields})["id"])


def test_every_page_shows_hidden_characters_and_keeps_ordinary_joiners(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    memory = plant(keyed[0], keyed[1]["admin"])
    visitor.sign_in(keyed[1]["admin"])
    page = visitor.page
    project = quote(PROJECT, safe="")
    api = f"/console/openapi?ref={quote(f'file:{PROJECT}/api.json', safe='')}"
    files = f"/console/files?project={project}"
    edited = f"/console/files/edit?project={project}&path=/note.md"
    for path, text, shows in (
        ("/console/instructions?q=plain", "Instructions:", True),
        ("/console/instructions/hidden-rule", "Relations", True),
        ("/console/instructions/hidden-rule/edit", "Edit hidden-rule", False),
        ("/console/instructions?tab=feedback", "Feedback:", True),
        ("/console/files", "Project", True),
        (files, "note.md", True),
        (f"{files}&path=/note.md", "plain", True),
        (f"{files}&q=plain", "Passages found", True),
        (edited, "Text of /note.md", True),
        (f"/console/memory?project={project}", "Entries:", True),
        (f"/console/memory/{memory}", "plain", True),
        (f"{api}&tab=operations", "Operations:", True),
        (f"{api}&tab=operations&item=0", "As it is written", True),
        (f"{api}&tab=source", "openapi", True),
        ("/console/instructions?tab=graph&look=raw", "flowchart", False),
        ("/console/memory?q=plain", "plain", True),
        ("/console/find?q=plain", "Instructions", True),
        ("/console/audit?reads=1", "Audit", False),
        ("/console/tools/instructions_get", "instructions_get", False),
    ):
        visitor.go(path)
        expect(page.get_by_role("main"), path).to_contain_text(text)
        if shows:
            page.get_by_text("<U+202E>").first.wait_for(state="attached")
        for shown in page.evaluate(ALL_TEXT):
            assert find_hidden(shown) == [], (path, shown)
    visitor.go("/console/instructions?tab=feedback")
    expect(page.get_by_text(ORDINARY).first).to_be_visible()
    assert visitor.problems == []


def test_a_record_and_an_answer_reveal_them(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    memory = plant(keyed[0], keyed[1]["admin"])
    visitor.sign_in(keyed[1]["admin"])
    page = visitor.page
    visitor.go("/console/audit?tool=rekall_add")
    page.locator("#records").get_by_role("link", name="rekall_add").first.click()
    expect(page.locator("pre.code").first).to_contain_text("<U+202E>")
    visitor.go("/console/tools/rekall_show")
    page.get_by_label("id *").fill(memory)
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page.locator(".results-card")).to_contain_text("<U+202E>")
    for shown in page.evaluate(ALL_TEXT):
        assert find_hidden(shown) == [], shown
    visitor.wait_for_scripts()
    visitor.page.keyboard.press("Control+k")
    page.keyboard.type("plain")
    expect(page.get_by_role("dialog")).to_contain_text("<U+202E>")


def test_an_editor_keeps_the_characters_and_names_them(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    plant(keyed[0], keyed[1]["admin"])
    visitor.sign_in(keyed[1]["admin"])
    page = visitor.page
    visitor.go(f"/console/files/edit?project={quote(PROJECT, safe='')}&path=/note.md")
    expect(page.locator(".notice").first).to_contain_text("RIGHT-TO-LEFT OVERRIDE")
    page.get_by_label("Text of /note.md").press("Control+Home")
    page.keyboard.type("more ")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved /note.md.")).to_be_visible()
    read = call(keyed[0], keyed[1]["admin"], "file_read", {"project": PROJECT, "path": "/note.md"})
    assert read["content"] == f"more {TEXT}"
