"""Markup in stored fields stays text on every page of the console."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import Visitor, call
from tests.server.conformance.program import Served

IMAGE = "<img src=http://elsewhere.invalid/x.png onerror=\"alert('owned')\">"
SCRIPT = "<script>alert('owned')</script>"
MERMAID = "\"]; click n0 javascript:alert(1) %%{init: {'securityLevel': 'loose'}}%%"
VUE = "{{ constructor.constructor('alert(1)')() }}"
LINK = "[x](javascript:alert(1))"
EVIL = f"{IMAGE}{SCRIPT}{MERMAID}{VUE}{LINK}"
SHORT = f"{IMAGE}{VUE}"[:95]
PROJECT = "<img src=x onerror=alert(1)>{{1+1}}"
RULE = "evil-rule"


def plant(server: Served, key: str) -> str:
    """Every field that people and agents can fill; the id of a memory that is linked."""
    rule = {
        "id": RULE,
        "title": EVIL[:190],
        "body": EVIL,
        "owner": EVIL[:80],
        "audience": "all",
        "categories": ["evil"],
        "status": "approved",
    }
    extra = {
        "rationale": EVIL,
        "nextReviewDue": "2020-01-01T00:00:00.000Z",
        "semanticSummary": EVIL,
        "deprecatedBy": EVIL[:60],
    }
    call(server, key, "instructions_add", {"entry": {**rule, **extra}, "lax": True})
    call(server, key, "instructions_add", {"entry": {**rule, "id": "evil-other"}, "lax": True})
    call(
        server,
        key,
        "instructions_add",
        {"entry": {"id": RULE, "body": f"changed {EVIL}"}, "overwrite": True, "lax": True},
    )
    call(server, key, "usage_track", {"id": RULE})
    tags = {"context": {"x": EVIL}, "tags": [EVIL], "metadata": {"y": EVIL}}
    call(
        server,
        key,
        "feedback_submit",
        {"type": "security", "severity": "critical", "title": EVIL, "description": EVIL, **tags},
    )
    evil, image = json.dumps(EVIL), json.dumps(IMAGE)  # quoted as YAML and JSON both read it
    schema = (
        f"{{description: {evil}, properties: {{{image}: {{type: string, description: {evil}}}}}}}"
    )
    document = (
        f"openapi: 3.0.3\ninfo:\n  title: {evil}\n  version: '1'\n  description: "
        f"{evil}\nservers:\n  - url: {image}\npaths:\n"
        f"  {json.dumps('/' + IMAGE)}:\n    get:\n      operationId: {evil}\n      summary: "
        f"{evil}\n      tags: [{evil}]\n"
        "      parameters:\n"
        f"        - {{name: {image}, in: query, description: {evil}, schema: {{type: string}}}}\n"
        f"      responses:\n        '200': {{description: {evil}, {evil}: 1}}\n"
        f"components:\n  schemas:\n    Evil: {schema}\n"
    )
    for path, content in (
        ("/evil.md", EVIL),
        ("/evil.html", EVIL),
        ("/api.yaml", document),
        ("/gone.md", EVIL),
    ):
        call(
            server,
            key,
            "file_write",
            {"project": PROJECT, "path": path, "content": content, "mode": "TRUNCATE"},
        )
    call(server, key, "file_delete", {"project": PROJECT, "path": "/gone.md"})
    fields = {"content": EVIL, "tags": [EVIL[:60]], "context": EVIL, "project": PROJECT}
    first = call(server, key, "rekall_add", {"type": "bug", "title": SHORT, **fields})["id"]
    second = call(server, key, "rekall_add", {"type": "bug", "title": f"a{SHORT[:90]}", **fields})[
        "id"
    ]
    call(server, key, "rekall_link", {"source_id": first, "target_id": second})
    lost = call(
        server,
        key,
        "rekall_add",
        {"type": "pattern", "title": f"b{SHORT[:90]}", **fields, "content": f"lost {EVIL}"},
    )["id"]
    call(server, key, "memory_delete", {"id": lost})
    for _ in range(600):
        if call(server, key, "file_index_status", {"project": PROJECT})["up_to_date"]:
            break
    return str(first)


def views(memory: str) -> list[tuple[str, str]]:
    from urllib.parse import quote

    project = quote(PROJECT, safe="")
    api = f"/console/openapi?ref={quote(f'file:{PROJECT}/api.yaml', safe='')}"
    return [
        ("/console/", "Calls per second"),
        ("/console/instructions?q=owned", "Instructions:"),
        (
            f"/console/instructions?q={quote(IMAGE)}&owner={quote(IMAGE)}&category={quote(IMAGE)}",
            "No instruction fits",
        ),
        ("/console/instructions?tab=graph&usage=1", "Copy source"),
        ("/console/instructions?tab=graph&look=raw", "flowchart TB"),
        ("/console/instructions?tab=governance", "Review overdue"),
        ("/console/instructions?tab=usage", "last used"),
        ("/console/instructions?tab=feedback", "Feedback:"),
        (f"/console/instructions/{RULE}", "History"),
        (f"/console/instructions/{project}", "No instruction is called"),
        (f"/console/files?project={project}&path=/evil.md&q=owned", "Passages found"),
        (f"/console/files?project={project}&path=/evil.html&q={quote(IMAGE)}", "files"),
        (f"/console/memory?project={project}", "Entries:"),
        ("/console/memory?q=owned", "Why:"),
        ("/console/memory?tab=suggestions", "Suggestions"),
        ("/console/memory?tab=stale&days=1", "Not read for days"),
        ("/console/memory?tab=deleted", "Deleted:"),
        (f"/console/memory/{memory}", "Around it"),
        (api, "Choose a finding to go"),
        (f"{api}&tab=operations", "Operations:"),
        (f"{api}&tab=schemas&schema=Evil", "Properties:"),
        (
            f"{api}&tab=compare&other={quote(f'file:{PROJECT}/api.yaml', safe='')}",
            "Nothing changed",
        ),
        (f"{api}&tab=overlay", "Preview"),
        (f"{api}&tab=generate", "Package"),
        (f"/console/tools?q={quote(IMAGE)}", "No tool has this word"),
        (f"/console/tools/{project}", "No tool is called"),
        (f"/console/audit?tool={project}", "No record fits"),
        ("/console/audit?reads=1", "Choose one to see it whole"),
    ]


@pytest.fixture(scope="module")
def memory(keyed: tuple[Served, dict[str, str], Path]) -> str:
    return plant(keyed[0], keyed[1]["admin"])


def test_markup_in_every_stored_field_stays_text_on_every_page(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path], memory: str
) -> None:
    visitor.sign_in(keyed[1]["admin"])
    page = visitor.page
    for path, text in views(memory):
        visitor.go(path)
        page.get_by_text(text).first.wait_for()
        page.wait_for_timeout(150)
        assert page.locator("img[src*=elsewhere], img[src=x], script:text('owned')").count() == 0, (
            path
        )
        assert (visitor.executed, visitor.foreign) == ([], []), path
    visitor.go("/console/audit?tool=rekall_add")
    page.get_by_role("button", name="rekall_add").first.click()
    expect(page.get_by_role("dialog")).to_contain_text("<img src")
    visitor.go(views(memory)[19][0])
    page.get_by_role("button", name="/<img").click()
    expect(page.get_by_role("dialog")).to_contain_text("<img src")
    visitor.go(views(memory)[8][0])
    expect(page.locator(".cm-content")).to_contain_text("<script>")
    page.get_by_label("Title").fill(f"{SCRIPT} again")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog")).to_contain_text("<script>")
    assert visitor.executed == []
    assert visitor.foreign == []
    assert visitor.problems == []


def test_a_read_key_is_offered_no_changes(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path], memory: str
) -> None:
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    offers = (
        "Save|New|New "
        "file|Upload|Restore|Append|Rename|Delete|Remove|Undo|Add|Correct|Link|Accept|Reject|Bring "
        "back|Store|Mark as reviewed"
    )
    for path, text in views(memory):
        if path.startswith(("/console/audit", "/console/tools")):
            continue
        visitor.go(path)
        page.get_by_text(text).first.wait_for()
        for name in offers.split("|"):
            assert page.get_by_role("button", name=name, exact=True).count() == 0, (
                f"{path} offers {name}"
            )
