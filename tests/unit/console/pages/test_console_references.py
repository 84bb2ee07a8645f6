"""Addresses that lead to the page of a reference."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient
from tests.unit.console.conftest import FakeCaller, make_browser, make_gate

from commonplace.console.caller import Answer

ULID = "01HX123ABCDEFGHJKMNPQRSTVW"


@pytest.fixture
def caller() -> FakeCaller:
    return FakeCaller()


@pytest.fixture
def browser(caller: FakeCaller) -> TestClient:
    return make_browser(make_gate(caller, is_open=True))


@pytest.mark.parametrize(
    ("ref", "address"),
    [
        ("instruction:instr.alpha", "/console/instructions/instr.alpha"),
        (f"memory:{ULID}", f"/console/memory/{ULID}"),
        ("file:my%20proj/a.md", "/console/files?project=my+proj&path=%2Fa.md"),
        ("file:p/a.md#3-9", "/console/files?project=p&path=%2Fa.md&start=3&end=9"),
        ("openapi:p/a.yaml", "/console/openapi?ref=file%3Ap%2Fa.yaml"),
        (
            "openapi:p/a.yaml#/paths/~1pets/get",
            "/console/openapi?ref=file%3Ap%2Fa.yaml&tab=source&pointer=%2Fpaths%2F~1pets%2Fget",
        ),
    ],
)
def test_a_reference_leads_to_its_page(browser: TestClient, ref: str, address: str) -> None:
    answer = browser.get("/console/open", params={"ref": ref}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, address)


def test_lines_become_the_bytes_that_the_page_marks(
    browser: TestClient, caller: FakeCaller
) -> None:
    caller.replies["file_read"] = Answer(
        {"content": "b\nc\n", "file_seek_start_bytes": 3, "file_seek_end_bytes": 7}
    )
    answer = browser.get(
        "/console/open", params={"ref": "file:p/a.md#L2-L3"}, follow_redirects=False
    )
    assert answer.headers["location"].endswith("&start=3&end=7")
    ((_, asked),) = caller.calls
    assert (asked["start_line"], asked["end_line"]) == (2, 3)


def test_what_is_no_reference_is_a_page_that_names_the_forms(browser: TestClient) -> None:
    answer = browser.get("/console/open", params={"ref": "<script>"})
    assert answer.status_code == 404
    assert "openapi:PROJECT/PATH#POINTER" in answer.text
    assert "<script>" not in answer.text.partition("<main")[2]
