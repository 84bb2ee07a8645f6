"""Markup in files, documents, names and addresses stays text on every page.

Instructions and memories are in `test_console_hostile_rules.py`.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import Visitor, call
from tests.server.conformance.program import Served

IMAGE = "<img src=http://elsewhere.invalid/x.png onerror=\"alert('owned')\">"
SCRIPT = "<script>alert('owned')</script>"
TEMPLATE = "{{ constructor.constructor('alert(1)')() }}{% for x in y %}"
LINK = "[x](javascript:alert(1)) ![i](http://elsewhere.invalid/y.png)"
BREAKOUT = '"\' onfocus=alert(1) autofocus x="</textarea></pre></title></dialog>'
EVENTS = "\n\nevent: file-text\ndata: <img src=x onerror=alert(1)>\n\n"
EVIL = f"{IMAGE}{SCRIPT}{TEMPLATE}{LINK}{BREAKOUT}{EVENTS}"
PROJECT = "<img src=x onerror=alert(1)>{{1+1}}"
PLANTED = "img[src*=elsewhere], img[src=x], main script, [onfocus], [onerror]"
OFFERS = "Save|New file|Upload|Restore|Append|Rename|Delete|Undo|Edit|Store|Create|Deleted files"
Keyed = tuple[Served, dict[str, str], Path]


def document() -> str:
    """Return an OpenAPI document with markup in every field."""
    evil, image = json.dumps(EVIL), json.dumps(IMAGE)  # quoted as YAML and JSON both read it
    schema = (
        f"{{description: {evil}, properties: {{{image}: {{type: string, description: {evil}}}}}}}"
    )
    return (
        f"openapi: 3.0.3\ninfo:\n  title: {evil}\n  version: '1'\n  description: {evil}\n"
        f"servers:\n  - url: {image}\npaths:\n  {json.dumps('/' + IMAGE)}:\n    get:\n"
        f"      operationId: {evil}\n      summary: {evil}\n      tags: [{evil}]\n"
        "      parameters:\n"
        f"        - {{name: {image}, in: query, description: {evil}, schema: {{type: string}}}}\n"
        f"      responses:\n        '200': {{description: {evil}, {evil}: 1,\n"
        f"          headers: {{{image}: {{description: {evil}, schema: {{type: string}}}}}}}}\n"
        f"components:\n  securitySchemes: {{{image}: {{type: http, scheme: {evil}}}}}\n"
        f"  schemas:\n    Evil: {schema}\n    Other: {{$ref: '#/components/schemas/Evil'}}\n"
    )


@pytest.fixture(scope="module")
def planted(keyed: Keyed) -> Keyed:
    """Fill every field of files that people and agents can fill."""
    server, keys, _ = keyed

    def ask(tool: str, **arguments: object) -> object:
        return call(server, keys["admin"], tool, {"project": PROJECT, **arguments})

    newer = document().replace("operationId", "x-operationId").replace("Evil:", "Worse:")
    texts = {"/evil.md": EVIL, "/evil.html": EVIL, "/dir/lost.md": EVIL, "/dir/kept.md": EVIL}
    for path, text in {**texts, "/api.yaml": document(), "/newer.yaml": newer}.items():
        ask("file_write", path=path, content=text, mode="TRUNCATE")
    spelled = {"path": "/_x3Cimg_x3E.md", "source_path": "/<img>.md"}
    ask("file_write", content=EVIL, mode="TRUNCATE", **spelled)
    ask("file_delete", path="/dir/lost.md")
    until = time.monotonic() + 60
    while not call(server, keys["admin"], "file_index_status", {"project": PROJECT})["up_to_date"]:
        assert time.monotonic() < until, "the index did not catch up"
        time.sleep(0.2)
    return keyed


def views() -> list[tuple[str, str]]:
    """Return each view with a text that shows that it is complete."""
    project, image = quote(PROJECT, safe=""), quote(IMAGE, safe="")
    files, place = f"/console/files?project={project}", f"project={project}&path=/evil.md"
    ref = quote(f"file:{PROJECT}/api.yaml", safe="")
    other = quote(f"file:{PROJECT}/newer.yaml", safe="")
    api = f"/console/openapi?ref={ref}"
    return [
        ("/console/", "Recent changes"),
        ("/console/files", PROJECT),
        (files, "evil.html"),
        (f"{files}&path=/evil.md", "constructor.constructor"),
        (f"{files}&path=/evil.md&look=rendered", "constructor.constructor"),
        (f"{files}&path=/evil.html", "constructor.constructor"),
        (f"{files}&path=/_x3Cimg_x3E.md", "/<img>.md"),
        (f"{files}&path=/evil.md&confirm=delete", "Delete /evil.md?"),
        (f"{files}&path=/evil.md&start={image}&end={image}&offset={image}", "constructor"),
        (f"{files}&path={image}", "INVALID_PATH"),
        (f"{files}&q=owned", "Passages found"),
        (f"{files}&q={image}&below={image}&mode={image}", "Find"),
        (f"{files}&q=owned&mode=text", "Lines found"),
        (f"{files}&q={image}&mode=regex", "Find"),
        (f"/console/files/edit?{place}", "Text of /evil.md"),
        (f"/console/files/append?{place}", "Append to evil.md"),
        (f"/console/files/rename?{place}", "Rename or move"),
        (f"/console/files/new?project={project}&path={image}&name={image}", "New file"),
        (f"/console/files/upload?project={project}&path={image}", "Upload text files"),
        (f"/console/files/deleted?project={project}", "/dir/lost.md"),
        (api, "Choose a line number"),
        *((f"{api}&tab={tab}&item=0", "As it is written") for tab in ("operations", "schemas")),
        *(
            (f"{api}&tab={tab}", "Count by")
            for tab in (
                "operations",
                "schemas",
                "parameters",
                "responses",
                "headers",
                "security",
                "paths",
                "refs",
            )
        ),
        (f"{api}&tab=operations&group_by=tag", "Group"),
        (f"{api}&tab=schemas&schema=Evil", "Properties: 1"),
        (f"{api}&tab=operations&path={image}&tag={image}&method={image}", "Count by"),
        (f"{api}&tab=refs&item={image}", "Uses: 0"),
        (f"{api}&tab=source&line=3", "openapi: 3.0.3"),
        (f"{api}&tab=compare&other={other}", "was "),
        (f"{api}&tab=fix", "repair"),
        (f"{api}&tab=convert&target=3.1", "onverted"),
        (f"{api}&tab=convert&target={image}", "Version"),
        (f"{api}&tab=join&other={other}", "Join"),
        (f"{api}&tab=overlay", "Preview"),
        (f"{api}&tab=generate&package=api&client=on", "Generate"),
        (f"{api}&tab=generate&package={image}", "INVALID_ARGUMENT"),
        (f"/console/openapi?ref={image}", "PATH_NOT_ALLOWED"),
        (f"/console/openapi/pick?project={project}", "/api.yaml"),
        (f"/console/tools?q={image}", "No tool"),
        (f"/console/tools/{project}", "No tool is called"),
        (f"/console/audit?tool={project}", "No record fits"),
        ("/console/audit?reads=1", "Audit"),
        (f"/console/find?q={image}", "Find"),
        (f"/console/{image}", "Not found"),
    ]


def test_markup_stays_text_on_every_page(visitor: Visitor, planted: Keyed) -> None:
    visitor.allow("status of 4(04|22)")
    visitor.sign_in(planted[1]["admin"])
    page = visitor.page
    for path, text in views():
        visitor.go(path)
        expect(page.get_by_role("main"), path).to_contain_text(text)
        assert page.locator(PLANTED).count() == 0, path
        assert page.locator("a[href^='javascript:']").count() == 0, path
        assert visitor.faults() == [], path


def test_live_parts_and_the_tree_show_markup_as_text(visitor: Visitor, planted: Keyed) -> None:
    server, keys, _ = planted
    visitor.sign_in(keys["admin"])
    page = visitor.page
    visitor.go(f"/console/files?project={quote(PROJECT, safe='')}&path=/dir/kept.md")
    changed = {"project": PROJECT, "path": "/dir/kept.md", "content": f"changed\n{EVIL}"}
    call(server, keys["admin"], "file_write", {**changed, "mode": "TRUNCATE"})
    expect(page.locator("#file-text")).to_contain_text("changed")
    expect(page.locator("#file-text")).to_contain_text("event: file-text")
    assert page.locator(PLANTED).count() == 0
    visitor.go(f"/console/files?project={quote(PROJECT, safe='')}")
    page.get_by_role("button", name="Entries of dir").click()
    expect(page.get_by_role("link", name="kept.md")).to_be_visible()


def test_typed_markup_stays_text_when_a_form_is_shown_again(
    visitor: Visitor, planted: Keyed
) -> None:
    visitor.allow("status of 4(09|22)")
    visitor.sign_in(planted[1]["admin"])
    page = visitor.page
    visitor.go("/console/files/new?project=demo")
    page.get_by_label("Path").fill(EVIL)
    page.get_by_label("Text", exact=True).fill(EVIL)
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("Text", exact=True)).to_have_value(EVIL)
    visitor.go("/console/openapi")
    page.get_by_label("OpenAPI document", exact=True).fill(EVIL)
    page.get_by_role("button", name="Check").last.click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.get_by_label("OpenAPI document", exact=True).fill(document())
    page.get_by_role("button", name="Check").last.click()
    expect(page.get_by_text("1 path, 1 operation, 2 schemas")).to_be_visible()
    page.get_by_role("navigation", name="Views").get_by_text("Operations").click()
    page.get_by_role("button", name="/<img src").click()
    expect(page.get_by_text("As it is written")).to_be_visible()
    page.reload()  # the draft with markup is offered
    page.get_by_role("button", name="Restore it").first.click()
    assert page.locator(PLANTED).count() == 0
    visitor.go("/console/files/upload?project=demo")
    page.locator("input[type=file]").set_input_files(
        {"name": "<img src=x onerror=alert(1)>.bin", "mimeType": "a/b", "buffer": b"\xff"}
    )
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_text("is not UTF-8 text")).to_be_visible()
    assert page.locator(PLANTED).count() == 0


def test_a_stored_page_is_never_run_by_the_browser(visitor: Visitor, planted: Keyed) -> None:
    visitor.sign_in(planted[1]["read"])
    address = f"/console/files/raw?project={quote(PROJECT, safe='')}&path=/evil.html"
    answer = visitor.page.context.request.get(f"http://{visitor.address}{address}")
    assert answer.text() == EVIL
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"].startswith("sandbox")
    visitor.go(address)
    assert visitor.page.locator("img, script").count() == 0


def test_a_read_key_is_offered_no_changes(visitor: Visitor, planted: Keyed) -> None:
    visitor.allow("status of 404")
    visitor.sign_in(planted[1]["read"])
    main = visitor.page.get_by_role("main")
    for path, _ in views():
        if "/console/files" not in path and "/console/openapi" not in path:
            continue
        if any(form in path for form in ("/edit?", "/append?", "/rename?", "/new?", "/upload?")):
            continue
        visitor.go(path)
        for name in OFFERS.split("|"):
            for role in ("button", "link"):
                offered = main.get_by_role(role, name=name, exact=True)  # type: ignore[arg-type]
                assert offered.count() == 0, f"{path} offers {name}"


def test_a_form_without_its_token_changes_nothing(visitor: Visitor, planted: Keyed) -> None:
    server, keys, _ = planted
    visitor.sign_in(keys["admin"])
    request = visitor.page.context.request
    form = {"project": PROJECT, "path": "/evil.md", "new_path": "/x", "text": "y", "csrf": "no"}
    for action in ("edit", "new", "append", "rename", "delete", "restore", "upload"):
        answer = request.post(f"http://{server.address}/console/files/{action}", form=form)
        assert answer.status == 403, action
    for action in ("openapi", "openapi/store", "openapi/download"):
        answer = request.post(f"http://{server.address}/console/{action}", form=form)
        assert answer.status == 403, action
    read = call(server, keys["read"], "file_read", {"project": PROJECT, "path": "/evil.md"})
    assert read["content"] == EVIL
