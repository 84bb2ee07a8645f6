"""The audit trail in a browser: live tail, filters, whole records, chains and export."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import expect
from tests.browser.conftest import Visitor, call
from tests.server.conformance.program import Served

Keyed = tuple[Served, dict[str, str], Path]


def write(keyed: Keyed, path: str) -> None:
    arguments = {"project": "audited", "path": path, "content": "x", "mode": "TRUNCATE"}
    call(keyed[0], keyed[1]["write"], "file_write", arguments)


def test_new_records_appear_without_a_reload(visitor: Visitor, keyed: Keyed) -> None:
    write(keyed, "/first.md")
    visitor.sign_in(keyed[1]["admin"])
    page = visitor.page
    visitor.go("/console/audit?tool=file_write")
    newest = page.locator("#records tbody tr").first.get_by_role("link")
    before = newest.get_attribute("href")
    write(keyed, "/second.md")
    expect(newest).not_to_have_attribute("href", before or "")
    newest.click()
    expect(page.locator("pre.code")).to_contain_text("/second.md")
    expect(page.get_by_text("Changes are not run again from here.")).to_be_visible()


def test_filters_are_in_the_address(visitor: Visitor, keyed: Keyed) -> None:
    write(keyed, "/filtered.md")
    visitor.sign_in(keyed[1]["admin"])
    page = visitor.page
    visitor.go("/console/audit")
    page.get_by_label("Tool", exact=True).press_sequentially("file_write")
    page.wait_for_url("**/console/audit?tool=file_write**")
    page.get_by_label("Outcome").select_option("refused")
    expect(page.get_by_text("No record fits.")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Outcome")).to_have_value("refused")
    page.go_back()
    expect(page.get_by_role("link", name="file_write").first).to_be_visible()


def test_the_chains_are_checked_and_the_records_downloaded(visitor: Visitor, keyed: Keyed) -> None:
    write(keyed, "/exported.md")
    visitor.sign_in(keyed[1]["admin"])
    page = visitor.page
    visitor.go("/console/audit?tool=file_write")
    page.get_by_role("link", name="Check the chains").click()
    expect(page.get_by_text("The chains are complete.")).to_be_visible()
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download as JSON").click()
    records = json.loads(Path(waiting.value.path()).read_text())
    assert {record["tool"] for record in records} == {"file_write"}
    assert any(record["arguments"]["path"] == "/exported.md" for record in records)


def test_older_records_are_on_further_pages(visitor: Visitor, keyed: Keyed) -> None:
    for number in range(55):
        write(keyed, f"/page-{number}.md")
    visitor.sign_in(keyed[1]["admin"])
    page = visitor.page
    visitor.go("/console/audit?tool=file_write")
    expect(page.locator("#records tbody tr")).to_have_count(50)
    first = page.locator("#records tbody tr").first.get_by_role("link").get_attribute("href")
    page.get_by_role("link", name="Older").click()
    page.wait_for_url("**until=**")
    shown = page.locator("#records tbody a").evaluate_all(
        "links => links.map((link) => link.getAttribute('href'))"
    )
    assert first not in shown
    assert len(shown) >= 5
    page.get_by_role("link", name="Newest").click()
    expect(page.locator("#records tbody tr").first.get_by_role("link")).to_have_attribute(
        "href", first or ""
    )


def test_a_key_without_admin_is_told_so(visitor: Visitor, keyed: Keyed) -> None:
    visitor.sign_in(keyed[1]["read"])
    visitor.go("/console/audit")
    expect(visitor.page.get_by_text("SCOPE_REQUIRED")).to_be_visible()
    visitor.go("/console/")
    expect(
        visitor.page.get_by_text("The audit trail is shown to keys with scope admin.")
    ).to_be_visible()
    expect(visitor.page.get_by_text("for admins")).to_be_visible()
