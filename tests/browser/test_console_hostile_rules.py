"""Markup in stored instructions, feedback and memories stays text, also in drawings and forms."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import Visitor, call
from tests.server.conformance.program import Served

IMAGE = "<img src=http://elsewhere.invalid/x.png onerror=\"alert('owned')\">"
SCRIPT = "<script>alert('owned')</script>"
MERMAID = "\"]; click n0 javascript:alert(1) %%{init: {'securityLevel': 'loose'}}%%"
TEMPLATE = "{{ constructor.constructor('alert(1)')() }}{% for x in y %}"
LINK = "[x](javascript:alert(1)) ![i](http://elsewhere.invalid/y.png)"
BREAKOUT = '"\' onfocus=alert(1) autofocus x="</textarea></pre></title></dialog>'
EVIL = f"{IMAGE}{SCRIPT}{MERMAID}{TEMPLATE}{LINK}{BREAKOUT}"
SHORT = f"{IMAGE}{TEMPLATE}"[:95]
PROJECT = "<img src=x onerror=alert(1)>{{1+1}}"
RULE = "evil-rule"
OFFERS = (
    "Save|New instruction|Remove|Remove selected|Undo|Edit|Add|Correct|Link|Delete|Accept|Reject|"
    "Bring back|Mark as reviewed|Mark as obsolete|Set status|Save governance"
)
Keyed = tuple[Served, dict[str, str], Path]


def plant(server: Served, key: str) -> str:
    """Fill every field that people and agents can fill; return a memory that is linked."""
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
    change = {"id": RULE, "body": f"changed {EVIL}"}
    call(server, key, "instructions_add", {"entry": change, "overwrite": True, "lax": True})
    call(server, key, "usage_track", {"id": RULE})
    feedback = {"type": "security", "severity": "critical", "title": EVIL, "description": EVIL}
    details = {"context": {"x": EVIL}, "tags": [EVIL], "metadata": {"y": EVIL}}
    call(server, key, "feedback_submit", {**feedback, **details})
    fields = {"content": EVIL, "tags": [EVIL[:60]], "context": EVIL, "project": PROJECT}
    first = call(server, key, "rekall_add", {"type": "bug", "title": SHORT, **fields})["id"]
    other = {"type": "bug", "title": f"a{SHORT[:90]}", **fields}
    second = call(server, key, "rekall_add", other)["id"]
    call(server, key, "rekall_link", {"source_id": first, "target_id": second})
    lost = {"type": "pattern", "title": f"b{SHORT[:90]}", **fields, "content": f"lost {EVIL}"}
    call(server, key, "memory_delete", {"id": call(server, key, "rekall_add", lost)["id"]})
    return str(first)


def views(memory: str) -> list[tuple[str, str]]:
    """Return each view with a text that shows that it is complete."""
    project, image = quote(PROJECT, safe=""), quote(IMAGE)
    rule = f"/console/instructions/{RULE}"
    return [
        ("/console/instructions?q=owned", "Instructions:"),
        (f"/console/instructions?q={image}&owner={image}&category={image}", "No instruction fits"),
        (f"/console/instructions?sort={image}&dir={image}&owner=nobody", "No instruction"),
        ("/console/instructions?tab=graph&usage=1", "Copy source"),
        ("/console/instructions?tab=graph&look=raw", "flowchart TB"),
        (f"/console/instructions?tab=graph&edges={image}&most={image}", "Copy source"),
        ("/console/instructions?tab=governance", "Review overdue"),
        ("/console/instructions?tab=usage", "Last used"),
        ("/console/instructions?tab=feedback", "Feedback:"),
        (rule, "Relations"),
        (f"{rule}?view=source", "Entry"),
        (f"{rule}?view=history", "Change log"),
        (f"{rule}?view=governance", "Governance hash"),
        (f"{rule}/edit", "Edit evil-rule"),
        (f"/console/instructions/{project}", "No instruction is called"),
        (f"/console/memory?project={project}", "Entries:"),
        ("/console/memory?q=owned", "Why:"),
        (f"/console/memory?q={image}&context={image}&tag={image}", "Why:"),
        ("/console/memory?tab=suggestions", "Suggestions"),
        ("/console/memory?tab=stale&days=1", "Not read for days"),
        ("/console/memory?tab=deleted", "Deleted:"),
        (f"/console/memory/{memory}", "Around it"),
        (f"/console/memory/{memory}?view=raw", "Around it"),
        (f"/console/memory/{memory}?confirm=delete", "Around it"),
        (f"/console/memory/{memory}/edit", "Correct this entry"),
        (f"/console/memory/{memory}/link?q=owned&relation={image}", "Link this entry"),
        (f"/console/memory/{project}", "Not found"),
    ]


@pytest.fixture(scope="module")
def memory(keyed: Keyed) -> str:
    return plant(keyed[0], keyed[1]["admin"])


def test_markup_in_rules_and_memories_stays_text(
    visitor: Visitor, keyed: Keyed, memory: str
) -> None:
    visitor.allow("status of 4(04|09|22)")
    visitor.sign_in(keyed[1]["admin"])
    page = visitor.page
    for path, text in views(memory):
        visitor.go(path)
        expect(page.get_by_role("main")).to_contain_text(text)
        if page.locator("iframe.graph").count():
            drawing = page.frame_locator("iframe.graph").locator("svg[aria-roledescription]")
            expect(drawing).to_be_visible()
            assert drawing.locator("image, img, a, script, foreignObject").count() == 0, path
        planted = "img[src*=elsewhere], img[src=x], main script, [onfocus], [onerror]"
        assert page.locator(planted).count() == 0, path
        assert page.locator("a[href^='javascript:']").count() == 0, path
        assert visitor.faults() == [], path


def test_typed_markup_stays_text_when_a_form_is_shown_again(
    visitor: Visitor, keyed: Keyed, memory: str
) -> None:
    visitor.allow("status of 4(09|22)")
    visitor.sign_in(keyed[1]["admin"])
    page = visitor.page
    visitor.go(f"/console/instructions/{RULE}/edit")
    expect(page.get_by_label("Body")).to_have_value(f"changed {EVIL}")
    page.get_by_label("Title").fill(f"{SCRIPT} again")
    page.get_by_role("button", name="Show changes").click()
    expect(page.locator("pre.diff")).to_contain_text("+title: <script>")
    expect(page.get_by_label("Title")).to_have_value(f"{SCRIPT} again")
    visitor.go("/console/new-instruction")
    page.get_by_label("Id", exact=True).fill(EVIL)
    page.get_by_label("Body").fill(EVIL)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("Id", exact=True)).to_have_value(EVIL)
    visitor.go("/console/instructions?tab=prompt")
    page.get_by_label("Prompt", exact=True).fill(EVIL)
    page.get_by_role("button", name="Review", exact=True).click()
    expect(page.locator("#issues")).to_be_visible()
    visitor.go(f"/console/memory/{memory}/edit")
    expect(page.get_by_label("What to remember")).to_have_value(EVIL)
    page.get_by_label("Title").fill(EVIL)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("Title")).to_have_value(EVIL)


def test_a_read_key_is_offered_no_changes(visitor: Visitor, keyed: Keyed, memory: str) -> None:
    visitor.allow("status of 404")
    visitor.sign_in(keyed[1]["read"])
    main = visitor.page.get_by_role("main")
    for path, _ in views(memory):
        visitor.go(path)
        for name in OFFERS.split("|"):
            for role in ("button", "link"):
                offered = main.get_by_role(role, name=name, exact=True)  # type: ignore[arg-type]
                assert offered.count() == 0, f"{path} offers {name}"


def test_a_form_without_its_token_changes_nothing(
    visitor: Visitor, keyed: Keyed, memory: str
) -> None:
    server, keys, _ = keyed
    visitor.sign_in(keys["admin"])
    request = visitor.page.context.request
    form = {"ids": RULE, "action": "remove", "confirmed": "yes", "csrf": "guess"}
    for path in (
        f"instructions/{RULE}/remove",
        f"instructions/{RULE}/edit",
        f"instructions/{RULE}/restore",
        f"instructions/{RULE}/governance",
        "change-instructions",
        "review-instructions",
        "new-instruction",
        "feedback",
        f"memory/{memory}/delete",
        f"memory/{memory}/edit",
        f"memory/{memory}/link",
        "restore-memories",
        "retire-memories",
        "memory-suggestions",
        "new-memory",
    ):
        answer = request.post(f"http://{server.address}/console/{path}", form=form)
        assert answer.status == 403, path
    assert call(server, keys["read"], "instructions_get", {"id": RULE})["item"]
    assert call(server, keys["read"], "rekall_show", {"id": memory})["id"] == memory
