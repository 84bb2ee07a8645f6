"""What people do on the OpenAPI page: check documents, see their parts, compare and change them."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Visitor, VisitorFactory, call, held_request, wait_for
from tests.server.conformance.program import Served

HOSTILE = "<img src=x onerror=alert(1)>"
DOCUMENT = f"""openapi: 3.0.3
info:
  title: "Pets {HOSTILE}"
  version: '1'
paths:
  /pets/{{id}}:
    get:
      operationId: listPets
      summary: "All {HOSTILE}"
      tags: [pets]
      parameters:
        - {{name: limit, in: query, schema: {{type: integer}}}}
      responses:
        '200':
          descriptio: ok
components:
  schemas:
    Pet: {{type: object, required: [name], properties: {{name: {{type: string}}}}}}
"""
NEWER = "openapi: 3.1.0\ninfo: {title: Pets, version: 2.0.0}\npaths: {}\n"
SLOW_DATABASE = """
window.kept = 0;
Object.defineProperty(IDBTransaction.prototype, "oncomplete", {set(act) {
  const later = () => { act(); window.kept += this.mode === "readwrite" ? 1 : 0; };
  this.addEventListener("complete", () => setTimeout(later, 300));
}});
"""
Keyed = tuple[Served, dict[str, str], Path]


def store(keyed: Keyed, path: str, content: str) -> str:
    """Store a document; return its name."""
    arguments = {"project": "apis", "path": path, "content": content, "mode": "TRUNCATE"}
    call(keyed[0], keyed[1]["write"], "file_write", arguments)
    return f"file:apis{path}"


def open_tab(page: Page, name: str) -> None:
    tab = page.get_by_role("navigation", name="Views").get_by_text(name, exact=True)
    tab.click()
    expect(tab).to_have_attribute("aria-current", "page")


def large_document(folder: Path, megabytes: int) -> Path:
    """A document that is too large for a text area."""
    operation = {
        "summary": "A thing " * 40,
        "responses": {"200": {"descriptio": "ok"}},
    }
    paths = {
        f"/things/{number}": {"get": {"operationId": f"get{number}", **operation}}
        for number in range(megabytes * 2_000)
    }
    target = folder / "large.json"
    document = {"openapi": "3.0.3", "info": {"title": "Large", "version": "1"}, "paths": paths}
    target.write_text(json.dumps(document, indent=1))
    assert target.stat().st_size > megabytes * 900_000
    return target


def test_a_person_checks_a_stored_document_and_goes_to_the_line_of_a_finding(
    visitor: Visitor, keyed: Keyed
) -> None:
    name = store(keyed, "/pets.yaml", DOCUMENT)
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    visitor.go("/console/openapi")
    page.get_by_label("A stored document").fill(name)
    page.get_by_role("button", name="Check").first.click()
    expect(page.get_by_text("1 path, 1 operation, 1 schema")).to_be_visible()
    expect(page.get_by_text("Not valid")).to_be_visible()
    page.get_by_role("row", name="wrong-structure").get_by_role("link").click()
    expect(page.locator(".line.hit")).to_contain_text("200")
    open_tab(page, "Operations")
    page.get_by_role("link", name="/pets/{id}").click()
    expect(page.locator("#result")).to_contain_text(f"All {HOSTILE}")
    expect(page.get_by_role("cell", name="limit")).to_be_visible()
    page.get_by_text("As it is written").click()
    expect(page.locator("#result pre").first).to_contain_text('"operationId": "listPets"')
    assert "ref=file" in page.url
    page.go_back()
    expect(page.get_by_text("Operations: 1")).to_be_visible()
    open_tab(page, "Schemas")
    page.get_by_role("link", name="Pet", exact=True).click()
    expect(page.get_by_role("heading", name="Properties: 1")).to_be_visible()
    expect(page.get_by_role("button", name="Store", exact=True)).to_have_count(0)


def test_a_person_picks_a_stored_document(visitor: Visitor, keyed: Keyed) -> None:
    store(keyed, "/picked.yaml", DOCUMENT)
    visitor.sign_in(keyed[1]["read"])
    visitor.go("/console/openapi")
    visitor.page.get_by_role("link", name="Pick").click()
    visitor.page.get_by_role("combobox", name="Project").select_option("apis")
    visitor.page.get_by_role("link", name="/picked.yaml").click()
    expect(visitor.page.get_by_text("1 path, 1 operation, 1 schema")).to_be_visible()


def test_a_person_tries_the_example_and_sees_what_a_newer_version_breaks(
    visitor: Visitor, keyed: Keyed
) -> None:
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    visitor.go("/console/openapi")
    page.get_by_role("link", name="Example").click()
    expect(page.get_by_text("Not valid")).to_be_visible()
    visitor.wait_for_scripts()
    page.get_by_role("button", name="Show line 7").click()
    selected = page.get_by_label("OpenAPI document", exact=True).evaluate(
        "(area) => area.value.slice(area.selectionStart, area.selectionEnd)"
    )
    assert selected == "    get:"
    open_tab(page, "Compare")
    page.get_by_label("Or paste it here").fill(NEWER)
    page.get_by_role("button", name="Show changes").click()
    expect(page.get_by_role("heading", name="Breaks every client")).to_be_visible()
    expect(page.get_by_text("GET /pets/{id} was removed.").first).to_be_visible()
    expect(page.get_by_label("Or paste it here")).to_have_value(NEWER)
    assert visitor.axe() == []


def test_a_comparison_of_stored_documents_has_an_address(visitor: Visitor, keyed: Keyed) -> None:
    older = store(keyed, "/older.yaml", DOCUMENT)
    newer = store(keyed, "/newer.yaml", NEWER)
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    visitor.go(f"/console/openapi?ref={older}&tab=compare")
    page.get_by_label("The newer document").fill(newer)
    page.get_by_role("button", name="Show changes").click()
    expect(page.get_by_role("heading", name="Breaks every client")).to_be_visible()
    assert "other=file" in page.url
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download as Markdown").click()
    assert "### Breaks every client" in waiting.value.path().read_text()


def test_a_pasted_document_is_fixed_converted_joined_and_overlaid(
    visitor: Visitor, keyed: Keyed
) -> None:
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    visitor.go("/console/openapi?example=on")
    open_tab(page, "Fix")
    expect(page.get_by_text("1 repair")).to_be_visible()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download the document").click()
    assert waiting.value.suggested_filename == "fixed.yaml"
    assert "in: path" in waiting.value.path().read_text()
    open_tab(page, "Convert")
    page.get_by_label("Version").select_option("3.0")
    page.get_by_role("button", name="Convert").last.click()
    expect(page.get_by_text("Converted from 3.1.0 to 3.0")).to_be_visible()
    open_tab(page, "Overlay")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("1 of 1 actions would apply.", exact=True)).to_be_visible()
    page.get_by_role("button", name="Apply").click()
    page.get_by_text("The document", exact=True).click()
    expect(page.locator("#result")).to_contain_text("Published by the platform team.")
    open_tab(page, "Join")
    page.get_by_label("Or paste it here").fill(NEWER)
    page.get_by_role("button", name="Join").last.click()
    expect(page.get_by_text("Joined 2 documents").first).to_be_visible()
    open_tab(page, "Compare")
    expect(page.get_by_label("Or paste it here")).to_have_value("")
    open_tab(page, "Join")
    expect(page.get_by_label("Or paste it here")).to_have_value(NEWER)


def test_generated_code_is_downloaded_as_an_archive(visitor: Visitor, keyed: Keyed) -> None:
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    visitor.go("/console/openapi?example=on&tab=generate")
    page.get_by_label("Language").select_option("python")
    page.get_by_role("button", name="Generate").last.click()
    expect(page.get_by_text("Files: ")).to_be_visible()
    assert visitor.axe() == []
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download", exact=True).click()
    assert waiting.value.suggested_filename == "api-python.zip"
    names = zipfile.ZipFile(waiting.value.path()).namelist()
    assert all(name.startswith("api/") for name in names)


def test_a_large_file_is_checked_without_being_shown_whole(
    visitor: Visitor, keyed: Keyed, tmp_path: Path
) -> None:
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    visitor.go("/console/openapi")
    page.get_by_label("Or a file").set_input_files(large_document(tmp_path, 6))
    expect(page.get_by_text("12,000 operations")).to_be_visible(timeout=60_000)
    page.get_by_role("button", name="Show line").first.click()
    expect(page.locator(".line.hit")).to_be_visible()
    assert len(page.content()) < 200_000
    open_tab(page, "Operations")
    expect(page.get_by_text("Operations: 12,000")).to_be_visible()
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("Page 2 of 240")).to_be_visible()
    page.reload()
    page.get_by_role("button", name="Restore it").click()
    expect(page.get_by_text("12,000 operations")).to_be_visible(timeout=60_000)
    assert visitor.axe() == []


def test_the_page_of_a_large_stored_document_is_shown_before_its_result(
    visitor: Visitor, keyed: Keyed, tmp_path: Path
) -> None:
    text = large_document(tmp_path, 1).read_text()
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    for number in range(3):  # a document that nobody has read yet takes longest
        name = store(keyed, f"/large-{number}.json", f"{text}{' ' * number}")
        visitor.go(f"/console/openapi?ref={name}")
        expect(page.get_by_label("A stored document")).to_have_value(name)
        expect(page.get_by_text("2,000 operations")).to_be_visible(timeout=60_000)
    page.get_by_role("link", name="Show line").last.click()
    expect(page.locator(".line.hit")).to_be_in_viewport()


def test_a_small_file_becomes_text_that_is_kept_as_a_draft(
    visitor: Visitor, keyed: Keyed, tmp_path: Path
) -> None:
    (tmp_path / "pets.yaml").write_text(DOCUMENT)
    (tmp_path / "latin.yaml").write_bytes(b"title: \xe4")
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    visitor.go("/console/openapi")
    page.get_by_label("Or a file").set_input_files(tmp_path / "latin.yaml")
    expect(page.get_by_text("latin.yaml is not UTF-8 text.")).to_be_visible()
    page.get_by_label("Or a file").set_input_files(tmp_path / "pets.yaml")
    expect(page.get_by_text("1 path, 1 operation, 1 schema")).to_be_visible()
    expect(page.get_by_label("OpenAPI document", exact=True)).to_have_value(DOCUMENT)
    visitor.go("/console/openapi")
    page.get_by_role("button", name="Restore it").click()
    expect(page.get_by_label("OpenAPI document", exact=True)).to_have_value(DOCUMENT)


def test_a_text_is_kept_although_a_file_was_being_kept_before(
    visitor: Visitor, keyed: Keyed, tmp_path: Path
) -> None:
    (tmp_path / "pets.yaml").write_text(DOCUMENT)
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    page.add_init_script(SLOW_DATABASE)
    visitor.go("/console/openapi")
    page.get_by_label("Or a file").set_input_files(tmp_path / "pets.yaml")
    expect(page.get_by_label("OpenAPI document", exact=True)).to_have_value(DOCUMENT)
    wait_for(page, lambda: bool(page.evaluate("window.kept")))
    kept = page.evaluate("JSON.stringify(localStorage)")
    assert "openapi: " in kept


def test_a_pasted_document_is_stored_and_then_has_an_address(
    visitor: Visitor, keyed: Keyed
) -> None:
    store(keyed, "/taken.yaml", DOCUMENT)
    visitor.sign_in(keyed[1]["write"])
    page = visitor.page
    visitor.go("/console/openapi")
    page.get_by_label("OpenAPI document", exact=True).fill(DOCUMENT)
    page.get_by_label("Store it as a file").fill("file:apis/taken.yaml")
    visitor.allow("422")
    page.get_by_role("button", name="Store", exact=True).click()
    expect(page.get_by_text("file:apis/taken.yaml exists already.")).to_be_visible()
    expect(page.get_by_label("OpenAPI document", exact=True)).to_have_value(DOCUMENT)
    assert visitor.axe() == []
    page.get_by_label("Name").fill("file:apis/stored.yaml")
    page.get_by_role("button", name="Store", exact=True).click()
    expect(page.get_by_text("Stored file:apis/stored.yaml.")).to_be_visible()
    assert "ref=file" in page.url
    visitor.wait_for_scripts()
    visitor.go("/console/openapi")
    expect(page.get_by_text("Unsaved text")).to_have_count(0)


def test_a_document_that_cannot_be_read_is_explained(visitor: Visitor, keyed: Keyed) -> None:
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    visitor.go("/console/openapi?ref=file:apis/never.yaml")
    expect(page.get_by_role("alert")).to_contain_text("There is no file /never.yaml.")
    visitor.go("/console/openapi")
    page.get_by_label("OpenAPI document", exact=True).fill("openapi: [")
    page.get_by_role("button", name="Check").last.click()
    expect(page.get_by_role("alert")).to_contain_text("SPEC_SYNTAX")
    expect(page.get_by_label("OpenAPI document", exact=True)).to_have_value("openapi: [")


def test_it_works_without_scripts(new_visitor: VisitorFactory, keyed: Keyed) -> None:
    visitor = new_visitor(keyed[0].address, java_script_enabled=False)
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    visitor.go("/console/openapi")
    page.get_by_label("OpenAPI document", exact=True).fill(DOCUMENT)
    page.get_by_role("button", name="Check").last.click()
    expect(page.get_by_text("Not valid")).to_be_visible()
    open_tab(page, "Operations")
    page.get_by_role("button", name="/pets/{id}").click()
    expect(page.get_by_role("cell", name="limit")).to_be_visible()
    expect(page.get_by_label("OpenAPI document", exact=True)).to_have_value(DOCUMENT)
    page.get_by_label("Or a file: choose").set_input_files(
        {"name": "newer.yaml", "mimeType": "text/yaml", "buffer": NEWER.encode()}
    )
    page.get_by_role("button", name="Check").last.click()
    expect(page.get_by_text("0 paths, 0 operations, 0 schemas")).to_be_visible()


@pytest.mark.parametrize("width", [360, 1280])
def test_every_tab_is_accessible_and_fits(
    new_visitor: VisitorFactory, keyed: Keyed, width: int
) -> None:
    name = store(keyed, "/pets.yaml", DOCUMENT)
    visitor = new_visitor(keyed[0].address, viewport={"width": width, "height": 800})
    visitor.sign_in(keyed[1]["write"])
    tabs = "findings operations schemas parameters responses headers security paths refs source"
    work = "compare fix convert join overlay generate"
    for tab in (*tabs.split(), *work.split()):
        for address in (f"ref={name}&tab={tab}&target=3.1", f"example=on&tab={tab}&package=api"):
            visitor.go(f"/console/openapi?{address}")
            assert visitor.page.locator("h1").count() == 1, address
            expect(visitor.page.get_by_text("The document is being read.")).to_have_count(0)
            assert visitor.axe() == [], address
            assert visitor.overflow() <= 0, address


def test_the_answer_to_an_earlier_click_does_not_replace_a_newer_result(
    visitor: Visitor, keyed: Keyed
) -> None:
    visitor.sign_in(keyed[1]["write"])
    page = visitor.page
    visitor.go("/console/openapi?example=on")
    page.wait_for_load_state("load")
    with held_request(page, "**/console/openapi") as held:
        page.get_by_role("navigation", name="Views").get_by_text("Paths", exact=True).click()
    open_tab(page, "Generate")
    with page.expect_response("**/console/openapi"):
        held[0].continue_()
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    expect(page.get_by_label("Language")).to_be_visible()
