"""What a first-time user does on the OpenAPI page: paste a document, see what is wrong and
where, look at an operation, compare.
"""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect
from tests.browser.conftest import Visitor, call
from tests.server.conformance.program import Served

HOSTILE = "<img src=x onerror=alert(1)>"
DOCUMENT = f"""openapi: 3.0.3
info:
  title: "Pets {HOSTILE}"
  version: '1'
paths:
  /pets:
    get:
      operationId: listPets
      summary: "All {HOSTILE}"
      responses:
        '200':
          descriptio: ok
"""


def test_a_person_checks_a_stored_document_and_goes_to_the_line_of_a_finding(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    server, keys, _ = keyed
    arguments = {"project": "apis", "path": "/pets.yaml", "content": DOCUMENT, "mode": "TRUNCATE"}
    call(server, keys["write"], "file_write", arguments)
    visitor.sign_in(keys["read"])
    page = visitor.page
    visitor.go("/console/openapi")
    page.get_by_label("A stored document").fill("file:apis/pets.yaml")
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_text("1 path, 1 operation, 0 schemas")).to_be_visible()
    expect(page.get_by_text("Not valid")).to_be_visible()
    page.get_by_role("cell", name="wrong-structure").click()
    expect(page.locator(".cm-line.cp-hit")).to_contain_text("200")
    page.get_by_role("tab", name="Operations").click()
    page.get_by_role("cell", name="listPets").click()
    expect(page.get_by_role("dialog")).to_contain_text(f"All {HOSTILE}")
    page.get_by_role("button", name="As it is written").click()
    expect(page.get_by_role("dialog")).to_contain_text('"operationId": "listPets"')
    assert "ref=file" in page.url
    assert visitor.executed == []
    assert visitor.foreign == []
    assert visitor.problems == []


def test_a_person_tries_the_example_and_sees_what_a_newer_version_breaks(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    page.get_by_role("button", name="OpenAPI").click()
    page.get_by_role("button", name="Example").click()
    expect(page.get_by_text("Not valid")).to_be_visible()
    page.get_by_role("tab", name="Compare").click()
    page.get_by_label("paste it here").fill(
        "openapi: 3.1.0\ninfo: {title: Pets, version: 2.0.0}\npaths: {}\n"
    )
    page.get_by_role("button", name="Show changes").click()
    expect(page.get_by_text("Breaks every client")).to_be_visible()
    expect(page.get_by_text("GET /pets/{id} was removed.")).to_be_visible()
    assert visitor.problems == []
