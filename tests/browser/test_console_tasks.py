"""The main task of a first-time user on each page, on a year's data, with clicks and time.

Small in `make test`; 50,000 files and a 13 MB document with COMMONPLACE_SOAK=1. The tasks with
instructions and memories are in `test_console_tasks_rules.py`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect
from tests.browser.conftest import SOAK, Visitor, VisitorFactory, add_key, call
from tests.browser.seeding import FULL, PROJECT, SMALL, fill
from tests.server.conformance.program import ROOT, Served, serve_http

SIZES = FULL if SOAK else SMALL
LARGE = ROOT.parent / "shared" / "data" / "openapi" / "dev" / "github-api.json"
INDEX_SECONDS = 1200 if SOAK else 240
Year = tuple[Served, str, Path]


@pytest.fixture(scope="module")
def year(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Year]:
    data = tmp_path_factory.mktemp("year")
    with ThreadPoolExecutor(1) as elsewhere:  # Playwright holds this thread's event loop
        elsewhere.submit(fill, data, SIZES, "team").result()
    key = add_key(data, "admin")
    with serve_http(data, {"MCP_ENABLE_MUTATION": "1"}, "--auth", "keys") as server:
        until = time.monotonic() + INDEX_SECONDS
        while not call(server, key, "file_index_status", {})["up_to_date"]:
            assert time.monotonic() < until, "the index did not catch up"
            time.sleep(1)
        yield server, key, data


def large_document(folder: Path) -> Path:
    """Return the document of 13 MB beside the repository, or a smaller one like it."""
    if SOAK and LARGE.exists():
        return LARGE
    responses = {"200": {"description": "ok"}}
    paths = {
        f"/things/{number}/{{id}}": {"get": {"operationId": f"get{number}", "responses": responses}}
        for number in range(4_000)
    }
    target = folder / "large.json"
    document = {"openapi": "3.0.3", "info": {"title": "Large", "version": "1"}, "paths": paths}
    target.write_text(json.dumps(document, indent=1))
    assert target.stat().st_size > 400_000
    return target


def menu(visitor: Visitor, name: str) -> Locator:
    return visitor.page.get_by_role("navigation", name="Pages").get_by_role("link", name=name)


def tree(visitor: Visitor) -> Locator:
    return visitor.page.get_by_role("navigation", name="Files of the project")


def tab(visitor: Visitor, name: str) -> Locator:
    return visitor.page.get_by_role("navigation", name="Views").get_by_text(name, exact=True)


def see_the_figures(visitor: Visitor, year: Year) -> None:
    main = visitor.page.get_by_role("main")
    for count in (SIZES.instructions, SIZES.files, SIZES.memories):
        expect(main).to_contain_text(f"{count:,}")
    expect(main.locator("svg.chart").first).to_be_visible()


def read_a_file(visitor: Visitor, year: Year) -> None:
    """Open a file of a folder that is larger than a page of it."""
    visitor.click(menu(visitor, "Files"))
    visitor.click(tree(visitor).get_by_role("link", name="inbox", exact=True))
    visitor.click(tree(visitor).get_by_role("link", name="Show more").first)
    visitor.click(visitor.page.get_by_role("link", name="note-00603.md"))
    expect(visitor.page.locator("#file-text .line").first).to_contain_text("#")


def find_a_passage(visitor: Visitor, year: Year) -> None:
    page = visitor.page
    visitor.click(menu(visitor, "Files"))
    page.get_by_label("Search in this project").fill("canary rollback incident")
    expect(page.locator("mark").first).to_be_visible()
    expect(page.get_by_text("Why: words found").first).to_be_visible()
    visitor.click(page.get_by_role("article").first.get_by_role("link"))
    expect(page.locator(".line.hit").first).to_be_visible()


def change_a_file(visitor: Visitor, year: Year) -> None:
    page = visitor.page
    text = {"project": PROJECT, "path": "/log.md", "content": "First.\n", "mode": "TRUNCATE"}
    call(year[0], year[1], "file_write", text)
    visitor.click(menu(visitor, "Files"))
    visitor.click(tree(visitor).get_by_role("link", name="log.md", exact=True))
    visitor.click(page.get_by_role("link", name="Edit"))
    page.get_by_label("Text of /log.md").fill("Second.\n")
    visitor.click(page.get_by_role("button", name="Save"))
    expect(page.locator("#file-text")).to_contain_text("Second.")


def append_to_a_file(visitor: Visitor, year: Year) -> None:
    page = visitor.page
    text = {"project": PROJECT, "path": "/log.md", "content": "First.\n", "mode": "TRUNCATE"}
    call(year[0], year[1], "file_write", text)
    visitor.click(menu(visitor, "Files"))
    visitor.click(tree(visitor).get_by_role("link", name="log.md", exact=True))
    visitor.click(page.get_by_role("link", name="Append"))
    page.get_by_label("Text for the end").fill("Second.")
    visitor.click(page.get_by_role("button", name="Append"))
    expect(page.locator("#file-text")).to_contain_text("Second.")
    more = {"project": PROJECT, "path": "/log.md", "content": "\nThird, by an agent."}
    call(year[0], year[1], "file_write", more)
    expect(page.locator("#file-text")).to_contain_text("Third, by an agent.")


def check_a_large_document(visitor: Visitor, year: Year) -> None:
    page = visitor.page
    visitor.click(menu(visitor, "OpenAPI"))
    page.locator("input[type=file]").first.set_input_files(large_document(year[2]))
    expect(page.get_by_text(" operations, ")).to_be_visible(timeout=60_000)
    visitor.click(page.get_by_role("button", name="Show line").first)
    expect(page.locator(".line.hit")).to_be_visible()
    visitor.click(tab(visitor, "Operations"))
    expect(page.get_by_text("Operations: ")).to_be_visible()


def generate_code(visitor: Visitor, year: Year) -> None:
    page = visitor.page
    visitor.click(menu(visitor, "OpenAPI"))
    visitor.click(page.get_by_role("link", name="Example"))
    visitor.click(tab(visitor, "Generate"))
    expect(page.get_by_label("Language")).to_be_visible()
    visitor.click(page.get_by_role("main").get_by_role("button", name="Generate").last)
    with page.expect_download() as waiting:
        visitor.click(page.get_by_role("button", name="Download", exact=True))
    assert waiting.value.suggested_filename == "api-go.zip"


def preview_an_overlay(visitor: Visitor, year: Year) -> None:
    page = visitor.page
    visitor.click(menu(visitor, "OpenAPI"))
    visitor.click(page.get_by_role("link", name="Example"))
    visitor.click(tab(visitor, "Overlay"))
    visitor.click(page.get_by_role("button", name="Preview"))
    expect(page.get_by_text("1 of 1 actions would apply.", exact=True)).to_be_visible()


def call_a_tool(visitor: Visitor, year: Year) -> None:
    page = visitor.page
    visitor.click(menu(visitor, "Tools"))
    visitor.click(page.get_by_role("link", name="health_check"))
    visitor.click(page.get_by_role("button", name="Call", exact=True))
    expect(page.get_by_text("Answered in")).to_be_visible()


def read_a_record(visitor: Visitor, year: Year) -> None:
    page = visitor.page
    text = {"project": PROJECT, "path": "/seen.md", "content": "Seen."}
    call(year[0], year[1], "file_write", text)
    visitor.click(menu(visitor, "Audit"))
    visitor.click(page.get_by_role("main").get_by_role("link", name="file_write").first)
    expect(page.locator("pre.code").first).to_contain_text("/seen.md")


TASKS: tuple[tuple[Callable[[Visitor, Year], None], int], ...] = (
    (see_the_figures, 0),
    (read_a_file, 4),
    (find_a_passage, 2),
    (change_a_file, 4),
    (append_to_a_file, 4),
    (check_a_large_document, 3),
    (generate_code, 5),
    (preview_an_overlay, 4),
    (call_a_tool, 3),
    (read_a_record, 2),
)


def test_the_main_task_of_every_page_takes_few_clicks(
    new_visitor: VisitorFactory, year: Year, capsys: pytest.CaptureFixture[str]
) -> None:
    """One window, as a person keeps it; each task begins at the overview, after signing in."""
    visitor = new_visitor(year[0].address)
    lines = []
    visitor.sign_in(year[1])
    for task, most in TASKS:
        visitor.clicks = 0
        visitor.go("/console/")
        begun = time.monotonic()
        task(visitor, year)
        lines.append(
            f"{task.__name__:24} {visitor.clicks} clicks {time.monotonic() - begun:6.2f} s"
        )
        assert visitor.clicks <= most, lines[-1]
    with capsys.disabled():
        sys.stdout.write("\n".join(("", str(SIZES), *lines, "")))
