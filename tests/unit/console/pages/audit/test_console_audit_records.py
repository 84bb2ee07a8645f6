"""Filters, paging and rows of the audit trail."""

from __future__ import annotations

import html
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.testclient import TestClient
from tests.unit.console.conftest import FakeCaller, token_of

from commonplace.console.caller import Answer
from commonplace.console.pages.audit.records import PAGE_SIZE, after, is_replayable, make_row


def make_record(number: int, **changes: Any) -> dict[str, Any]:
    """A record of the number-th millisecond."""
    return {
        "ts": f"2026-01-01T00:00:{number // 1000:02}.{number % 1000:03}Z",
        "tool": "file_write",
        "tenant": "team",
        "label": "ann",
        "outcome": "ok",
        "duration_ms": 1.26,
        "trace_id": f"t{number}-{changes.get('part', 0)}",
        "arguments": {"path": "/a.md"},
        "chain": "c1",
        **changes,
    }


def answer_like_the_server(records: list[dict[str, Any]]) -> Any:
    def reply(arguments: Any) -> Any:
        until = arguments.get("until", "9")
        trace, since = arguments.get("trace_id"), arguments.get("since", "")
        found = [
            record
            for record in reversed(records)
            if since <= record["ts"] < until and trace in (None, record["trace_id"])
        ]
        return {"records": found[: arguments["limit"]]}

    return reply


def traces(page: str) -> list[str]:
    return re.findall(r"trace=([\w-]+)\"", page)


def next_page(page: str) -> str | None:
    found = re.search(r'href="([^"]+)" rel="next"', page)
    return html.unescape(found[1]) if found else None


def test_pages_lose_no_record_of_the_same_millisecond(
    inside: TestClient, caller: FakeCaller
) -> None:
    records = [make_record(number // 70, part=number) for number in range(300)]
    caller.replies["audit_query"] = answer_like_the_server(records)
    address: str | None = "/console/audit"
    shown: list[str] = []
    while address is not None:
        page = inside.get(address).text
        shown += traces(page)
        address = next_page(page)
    assert shown == [record["trace_id"] for record in reversed(records)]


def test_filters_are_in_the_address_and_in_the_question(
    inside: TestClient, caller: FakeCaller
) -> None:
    records = [make_record(number) for number in range(PAGE_SIZE + 1)]
    caller.replies["audit_query"] = answer_like_the_server(records)
    page = inside.get("/console/audit?tool=file_write&outcome=ok&code=X&since=2026-01-01").text
    name, arguments = caller.calls[-1]
    assert name == "audit_query"
    assert arguments == {
        "tool": "file_write",
        "outcome": "ok",
        "code": "X",
        "since": "2026-01-01",
        "limit": PAGE_SIZE,
    }
    following = next_page(page)
    assert following is not None
    query = parse_qs(urlsplit(following).query)
    assert query["tool"] == ["file_write"]
    assert query["until"] == [records[1]["ts"]]


def test_an_unknown_outcome_is_no_filter(inside: TestClient, caller: FakeCaller) -> None:
    caller.replies["audit_query"] = answer_like_the_server([])
    assert "No record fits." in inside.get("/console/audit?outcome=%3Cb%3E&skip=-1").text
    assert "outcome" not in caller.calls[-1][1]


def test_the_page_leaves_out_its_own_reads(inside: TestClient, caller: FakeCaller) -> None:
    own = [make_record(number, tool="audit_query", chain=None) for number in range(60)]
    caller.replies["audit_query"] = answer_like_the_server(
        [make_record(0, tool="file_read", chain=None, trace_id="read"), *own]
    )
    assert traces(inside.get("/console/audit?reads=1").text) == ["read"]
    assert len(traces(inside.get("/console/audit?reads=1&tool=audit_query").text)) == PAGE_SIZE


def test_a_record_is_shown_whole_and_a_read_runs_again(
    inside: TestClient, caller: FakeCaller
) -> None:
    record = make_record(7, tool="file_read", chain=None)
    caller.replies["audit_query"] = answer_like_the_server([record, make_record(8)])
    caller.replies["file_read"] = Answer({"content": "<b>text</b>"})
    address = make_row(record).address
    page = inside.get(address)
    assert "Run again" in page.text
    answer = inside.post(address, data=token_of(page.text))
    assert "&lt;b&gt;text&lt;/b&gt;" in answer.text
    assert caller.calls[-1] == ("file_read", {"path": "/a.md"})


def test_a_change_is_never_run_again(inside: TestClient, caller: FakeCaller) -> None:
    record = make_record(7)
    caller.replies["audit_query"] = answer_like_the_server([record])
    address = make_row(record).address
    page = inside.get(address)
    assert "Changes are not run again from here." in page.text
    assert inside.post(address, data=token_of(page.text)).status_code == 404
    assert all(name == "audit_query" for name, _ in caller.calls)


def test_running_again_needs_the_token(inside: TestClient, caller: FakeCaller) -> None:
    record = make_record(7, tool="file_read", chain=None)
    caller.replies["audit_query"] = answer_like_the_server([record])
    assert inside.post(make_row(record).address, data={"csrf": "guessed"}).status_code == 403
    assert caller.calls == []


def test_a_record_that_is_gone_is_not_found(inside: TestClient, caller: FakeCaller) -> None:
    caller.replies["audit_query"] = answer_like_the_server([])
    answer = inside.get("/console/audit/record?at=2026-01-01T00:00:00.000Z&trace=x")
    assert answer.status_code == 404
    assert "This audit record does not exist." in answer.text
    assert inside.get("/console/audit/record").status_code == 404


def test_the_verdict_lists_the_problems(inside: TestClient, caller: FakeCaller) -> None:
    caller.replies["audit_query"] = answer_like_the_server([])
    problem = {"chain": "c1", "record": 3, "problem": "record 3 was changed"}
    caller.replies["audit_verify"] = Answer(
        {"ok": False, "records": 4, "chains": 1, "problems": [problem], "warnings": []}
    )
    page = inside.get("/console/audit?verify=1").text
    assert "The record was tampered with or damaged." in page
    assert "c1: record 3 was changed" in page
    assert "4 records in 1 chain." in page


def test_an_export_contains_the_whole_records(inside: TestClient, caller: FakeCaller) -> None:
    records = [make_record(1), make_record(2)]
    caller.replies["audit_query"] = answer_like_the_server(records)
    answer = inside.get("/console/audit/export?tool=file_write")
    assert answer.json() == records[::-1]
    assert answer.headers["content-disposition"].startswith("attachment")


@pytest.mark.parametrize(
    ("moment", "following"),
    [
        ("2026-01-01T00:00:00.999Z", "2026-01-01T00:00:01.000Z"),
        ("not a time", "not a time"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
    ],
)
def test_the_next_millisecond(moment: str, following: str) -> None:
    assert after(moment) == following


def test_only_reads_that_were_kept_whole_run_again() -> None:
    assert is_replayable(make_record(1, chain=None))
    assert not is_replayable(make_record(1))
    for cut in ({"key": "***"}, {"text": {"truncated": True}}, {"text": {"sha256": "x"}}):
        assert not is_replayable(make_record(1, chain=None, arguments=cut))


def test_a_refusal_before_any_tool_has_a_row() -> None:
    row = make_row(make_record(1, tool=None, outcome="refused", code="UNAUTHENTICATED"))
    assert (row.tool, row.kind, row.code) == ("no tool", "warn", "UNAUTHENTICATED")
