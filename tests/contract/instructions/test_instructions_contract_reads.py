"""Reading as docs/reference/contracts/instructions.md requires: shapes, defaults, branches."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from instruction_promises import promise

from commonplace.kernel.errors import Kind


@pytest.fixture
def filled(desk: Any) -> Any:
    return fill(desk)


def fill(desk: Any) -> Any:
    desk.add(
        "alpha",
        "Use structured logging.",
        title="Logging",
        categories=["AI", "code"],
        priority=10,
        owner="team-x",
        createdAt="2025-01-01T00:00:00Z",
    )
    desk.add(
        "beta",
        "Never log secrets. Redact tokens.",
        title="Secrets",
        categories=["ai"],
        priority=30,
        createdAt="2025-02-01T00:00:00Z",
    )
    desk.add(
        "gamma",
        "Prefer small functions.",
        title="Style",
        categories=["style"],
        priority=60,
        status="draft",
        createdAt="2025-03-01T00:00:00Z",
    )
    desk.add(
        "delta",
        "Write tests first.",
        categories=["code"],
        priority=90,
        classification="public",
        createdAt="2025-04-01T00:00:00Z",
    )
    return desk


@promise("000-dispatch-action", "000-list-shape", "001-list")
def test_list_returns_hash_count_and_items(filled: Any) -> None:
    answer = filled.do("list")
    assert set(answer) == {"hash", "count", "items"}
    assert answer["count"] == 4
    assert [item["id"] for item in answer["items"]] == ["alpha", "beta", "delta", "gamma"]
    assert len(answer["hash"]) == 64


@promise("000-list-category", "001-list")
def test_list_filters_by_category_whatever_its_case(filled: Any) -> None:
    for spelled in ("ai", "AI", " Ai "):
        answer = filled.call("instructions/list", category=spelled)
        assert [item["id"] for item in answer["items"]] == ["alpha", "beta"]
    assert filled.do("list", category="nothing")["count"] == 0


@promise("000-list-page")
def test_list_pages_and_counts_everything_that_matches(filled: Any) -> None:
    answer = filled.do("list", limit=2, offset=1)
    assert answer["count"] == 4
    assert [item["id"] for item in answer["items"]] == ["beta", "delta"]
    assert filled.do("list", offset=10)["items"] == []
    for wrong in ({"limit": 0}, {"limit": -1}, {"offset": -1}, {"limit": "many"}):
        assert filled.error("instructions/list", **wrong).code.kind is Kind.INVALID_ARGUMENT


@promise("000-list-expect")
def test_list_with_expect_id_puts_it_first_and_repairs_a_hidden_file(folder_desk: Any) -> None:
    filled = fill(folder_desk)
    answer = filled.do("list", expectId="gamma", limit=1)
    assert answer["items"][0]["id"] == "gamma"
    assert answer["trace"]["expectInCatalog"] is True
    filled.file("late.json", {"id": "late", "body": "Written by an editor."})
    answer = filled.do("list", expectId="late")
    assert answer["items"][0]["id"] == "late"
    assert answer["trace"]["repairedVisibility"] is True
    assert answer["trace"]["attemptedReload"] is True
    missing = filled.do("list", expectId="nowhere")
    assert missing["trace"]["expectOnDisk"] is False
    assert missing["count"] == 5


@promise("000-get-found", "001-get")
def test_get_returns_hash_and_item(filled: Any) -> None:
    answer = filled.call("instructions/get", id="alpha")
    assert set(answer) == {"hash", "item"}
    assert answer["item"]["body"] == "Use structured logging."
    assert answer["hash"] == filled.do("list")["hash"]


@promise("000-get-missing", "001-get")
def test_get_of_an_unknown_id_is_not_found(filled: Any) -> None:
    answer = filled.do("get", id="nope")
    assert answer["notFound"] is True
    assert answer["id"] == "nope"
    assert "item" not in answer


@promise("000-search-shape")
def test_search_returns_hash_count_items_and_query(filled: Any) -> None:
    answer = filled.do("search", q="secrets")
    assert set(answer) == {"hash", "count", "items", "query"}
    assert answer["query"] == "secrets"
    assert answer["items"][0]["id"] == "beta"
    for wrong in ({}, {"q": ""}, {"q": "  "}, {"q": 3}):
        assert filled.error("instructions/search", **wrong).code.kind is Kind.INVALID_ARGUMENT


@promise("000-search-limit")
def test_search_limits_items_but_counts_all(desk: Any) -> None:
    for number in range(60):
        desk.add(f"e-{number:02}", f"Common rule number {number}.")
    answer = desk.do("search", q="common", limit=3)
    assert answer["count"] == 60
    assert len(answer["items"]) == 3
    assert len(desk.do("search", q="common")["items"]) == 50


@promise("000-search-highlight")
def test_search_highlights_where_it_matched(filled: Any) -> None:
    answer = filled.do("search", q="redact", highlight=True)
    assert answer["highlights"][0]["id"] == "beta"
    assert "**Redact**" in answer["highlights"][0]["snippet"]
    assert "highlights" not in filled.do("search", q="redact")


@promise("000-search-title-body")
def test_search_looks_at_titles_and_bodies_and_knows_word_forms(filled: Any) -> None:
    assert [item["id"] for item in filled.do("search", q="Style")["items"]] == ["gamma"]
    assert [item["id"] for item in filled.do("search", q="function")["items"]] == ["gamma"]
    assert {item["id"] for item in filled.do("search", q="logs")["items"]} >= {"alpha", "beta"}


@promise("001-search")
def test_search_finds_every_text_that_contains_the_query(filled: Any) -> None:
    entries = filled.do("list")["items"]
    texts = {entry["id"]: (entry["title"].lower(), entry["body"].lower()) for entry in entries}
    whole = " ".join(body for _, body in texts.values())
    for start, length in itertools.product(range(0, len(whole), 3), (1, 2, 3, 4, 7, 12)):
        q = whole[start : start + length].strip()
        if not q:
            continue
        expected = {id_ for id_, fields in texts.items() if any(q in field for field in fields)}
        found = {item["id"] for item in filled.do("search", q=q.upper(), limit=1000)["items"]}
        assert expected <= found, q


@promise("000-query-shape")
def test_query_returns_the_shape_of_the_contract(filled: Any) -> None:
    answer = filled.do("query", filters={"categories": ["code"]})
    assert {"items", "total", "returned", "appliedFilters", "performanceMs"} <= set(answer)
    assert answer["total"] == answer["returned"] == 2
    assert answer["appliedFilters"] == {"categories": ["code"]}
    assert "nextCursor" not in answer
    assert filled.do("query")["total"] == 4


@promise("000-query-filters")
def test_query_applies_each_filter(desk: Any) -> None:
    desk.add(
        "w",
        "Workspace rule",
        workspaceId="Repo-1",
        userId="ann",
        teamIds=["Core"],
        owner="Ann",
        status="review",
        classification="restricted",
    )
    desk.add(
        "x",
        "Other rule",
        priority=5,
        owner="bob",
        createdAt="2020-01-01T00:00:00Z",
        requirement="recommended",
    )
    cases: list[tuple[dict[str, Any], set[str]]] = [
        ({"categories": ["uncategorized"]}, {"w", "x"}),
        ({"priorityTiers": ["P1"]}, {"x"}),
        ({"status": ["review", "draft"]}, {"w"}),
        ({"owners": ["ann"]}, {"w"}),
        ({"classification": ["restricted"]}, {"w"}),
        ({"workspaceId": "repo-1"}, {"w"}),
        ({"userId": "ann"}, {"w"}),
        ({"teamIds": ["core", "z"]}, {"w"}),
        ({"createdAfter": "2021-01-01"}, {"w"}),
        ({"createdAfter": "2019-12-31T23:59:59Z"}, {"w", "x"}),
        ({"updatedAfter": "2999-01-01T00:00:00Z"}, set()),
        ({"text": "other"}, {"x"}),
        ({"text": "rule", "priorityTiers": ["P1", "P3"]}, {"w", "x"}),
        ({"requirements": ["recommended"]}, {"x"}),
    ]
    for filters, expected in cases:
        answer = desk.do("query", filters=filters)
        assert {item["id"] for item in answer["items"]} == expected, filters
        assert answer["total"] == len(expected)
    for wrong in (
        {"status": ["great"]},
        {"createdAfter": "yesterday"},
        {"colour": "red"},
        {"priorityTiers": ["P9"]},
    ):
        assert desk.error("instructions/query", filters=wrong).code.kind is Kind.INVALID_ARGUMENT


@promise("000-query-sort")
def test_query_sorts_both_ways(filled: Any) -> None:
    def ids(field: str, direction: str) -> list[str]:
        return [
            item["id"]
            for item in filled.do("query", sort={"field": field, "direction": direction})["items"]
        ]

    assert ids("priority", "asc") == ["alpha", "beta", "gamma", "delta"]
    assert ids("priority", "desc") == ["delta", "gamma", "beta", "alpha"]
    assert ids("createdAt", "desc") == ["delta", "gamma", "beta", "alpha"]
    assert ids("title", "asc") == ["delta", "alpha", "beta", "gamma"]
    assert ids("updatedAt", "asc") == ["alpha", "beta", "gamma", "delta"]
    assert (
        filled.error("instructions/query", sort={"field": "body", "direction": "asc"}).code.kind
        is Kind.INVALID_ARGUMENT
    )


@promise("000-query-cursor")
@pytest.mark.parametrize("direction", ["asc", "desc"])
@pytest.mark.parametrize("field", [None, "priority", "title"])
def test_query_pages_without_repeats_or_gaps(desk: Any, field: str | None, direction: str) -> None:
    for number in range(23):
        desk.add(f"n-{number:02}", "Body", priority=1 + number % 3, title=f"T{number % 4}")
    sort = {"sort": {"field": field, "direction": direction}} if field else {}
    seen: list[str] = []
    cursor: dict[str, str] = {}
    for _ in range(20):
        page = desk.do("query", limit=5, **sort, **cursor)
        seen += [item["id"] for item in page["items"]]
        if "nextCursor" not in page:
            break
        cursor = {"cursor": page["nextCursor"]}
        if len(seen) == 10:
            desk.do("remove", ids=[seen[0]])
    assert len(seen) == len(set(seen)) == 23
    whole = [item["id"] for item in desk.do("query", **sort)["items"]]
    assert [id_ for id_ in seen if id_ != seen[0]] == [id_ for id_ in whole if id_ != seen[0]]


@promise("000-query-bad-cursor")
def test_a_foreign_cursor_is_refused(filled: Any) -> None:
    good = filled.do("query", limit=1, sort={"field": "priority", "direction": "asc"})["nextCursor"]
    for cursor, sort in (
        ("garbage", None),
        (good, None),
        (good, {"field": "title", "direction": "asc"}),
        ("", None),
    ):
        arguments = {"cursor": cursor, **({"sort": sort} if sort else {})}
        if cursor:
            error = filled.error("instructions/query", **arguments)
            assert error.code.kind is Kind.INVALID_ARGUMENT


@promise("000-query-flat")
def test_query_accepts_flat_keys(filled: Any) -> None:
    def ids(**flat: Any) -> set[str]:
        return {item["id"] for item in filled.do("query", **flat)["items"]}

    assert ids(categoriesAll=["ai", "code"]) == {"alpha"}
    assert ids(categoriesAny=["ai", "style"]) == {"alpha", "beta", "gamma"}
    assert ids(excludeCategories=["ai"]) == {"gamma", "delta"}
    assert ids(priorityMin=30, priorityMax=60) == {"beta", "gamma"}
    assert ids(priorityTiers=["P4"]) == {"delta"}
    assert ids(text="tests") == {"delta"}
    assert ids(requirements=["optional"], offset=3) == {"gamma"}


@promise("000-categories-shape")
def test_categories_returns_the_shape_of_the_contract(filled: Any) -> None:
    answer = filled.do("categories")
    assert [(c["name"], c["count"]) for c in answer["categories"]] == [
        ("ai", 2),
        ("code", 2),
        ("style", 1),
    ]
    assert all(c["lastUpdated"] for c in answer["categories"])
    assert answer["totalDistinct"] == 3
    assert answer["catalogHash"] == filled.do("list")["hash"]


@promise("000-diff-current", "001-diff-legacy")
def test_diff_without_known(filled: Any) -> None:
    current = filled.do("list")["hash"]
    assert filled.do("diff", clientHash=current) == {"upToDate": True, "hash": current}
    for stale in ({"clientHash": "0" * 64}, {}):
        answer = filled.do("diff", **stale)
        assert set(answer) == {"hash", "changed"}
        assert len(answer["changed"]) == 4


@promise("000-diff-known")
def test_diff_with_known_is_precise(filled: Any) -> None:
    listing = filled.do("list")
    hashes = {item["id"]: item["sourceHash"] for item in listing["items"]}
    known = [
        {"id": "alpha", "sourceHash": hashes["alpha"]},
        {"id": "beta", "sourceHash": "old"},
        {"id": "gone", "sourceHash": "x"},
    ]
    answer = filled.do("diff", known=known)
    assert set(answer) == {"hash", "added", "updated", "removed"}
    assert [item["id"] for item in answer["added"]] == ["delta", "gamma"]
    assert [item["id"] for item in answer["updated"]] == ["beta"]
    assert answer["removed"] == ["gone"]
    everything = [{"id": id_, "sourceHash": hash_} for id_, hash_ in hashes.items()]
    assert filled.do("diff", known=everything, clientHash=listing["hash"])["upToDate"] is True
    assert filled.do("diff", known=everything)["added"] == []
    twice = [*everything, {"id": "alpha", "sourceHash": "later duplicates lose"}]
    assert filled.do("diff", known=twice)["updated"] == []


@promise("000-entry-fields", "001-entry")
def test_an_entry_has_the_fields_of_both_contracts(filled: Any) -> None:
    item = filled.do("get", id="alpha")["item"]
    required = {
        "id",
        "title",
        "body",
        "categories",
        "priority",
        "requirement",
        "version",
        "status",
        "owner",
        "classification",
        "createdAt",
    }
    required |= {
        "updatedAt",
        "sourceHash",
        "governanceHash",
        "priorityTier",
        "audience",
        "schemaVersion",
        "riskScore",
    }
    assert required <= set(item)
    assert item["categories"] == ["ai", "code"]
    assert item["priorityTier"] == "P1"
    assert item["riskScore"] == 90 + 5


@promise("001-source-hash")
def test_source_hash_is_the_sha256_of_the_body(filled: Any) -> None:
    for item in filled.do("list")["items"]:
        assert item["sourceHash"] == hashlib.sha256(item["body"].encode()).hexdigest()


@promise("000-governance-hash")
def test_governance_hash_with_items_survives_a_restart(
    filled: Any, desks: Callable[..., Any]
) -> None:
    answer = filled.do("governanceHash")
    assert set(answer) == {"count", "governanceHash", "algorithm"}
    assert answer["algorithm"] == "sha256"
    detailed = filled.do("governanceHash", includeItems=True)
    assert [item["id"] for item in detailed["items"]] == ["alpha", "beta", "delta", "gamma"]
    lines = [
        json.dumps(item["governance"], separators=(",", ":"), ensure_ascii=False)
        for item in detailed["items"]
    ]
    assert hashlib.sha256("\n".join(lines).encode()).hexdigest() == answer["governanceHash"]
    assert [hashlib.sha256(line.encode()).hexdigest() for line in lines] == [
        item["hash"] for item in detailed["items"]
    ]
    again = desks()
    assert again.do("governanceHash") == answer
    assert again.do("list") == filled.do("list")


@promise("000-governance-newline")
def test_the_trailing_newline_flag_changes_the_governance_hash(
    filled: Any, desks: Callable[..., Any]
) -> None:
    compatible = desks(hash_trailing_newline=True).do("governanceHash", includeItems=True)
    lines = [
        json.dumps(item["governance"], separators=(",", ":"), ensure_ascii=False)
        for item in compatible["items"]
    ]
    assert (
        compatible["governanceHash"]
        == hashlib.sha256(("\n".join(lines) + "\n").encode()).hexdigest()
    )
    assert compatible["governanceHash"] != filled.do("governanceHash")["governanceHash"]


def test_export_returns_all_or_some_with_or_without_bodies(filled: Any) -> None:
    assert filled.do("export")["count"] == 4
    some = filled.call("instructions/export", ids=["beta", "nope"], metaOnly=True)
    assert [(item["id"], "body" in item) for item in some["items"]] == [("beta", False)]
    assert filled.do("get", id="beta")["item"]["body"]


def test_list_scoped_prefers_the_narrowest_scope(desk: Any) -> None:
    desk.add("all-1", audience="all")
    desk.add("one", audience="individual", categories=["scope:user:ann", "x"])
    desk.add("team", audience="group", categories=["scope:team:core"])
    desk.add("space", audience="group", categories=["scope:workspace:repo"])
    assert desk.do("get", id="one")["item"]["userId"] == "ann"
    for arguments, scope, ids in (
        ({"userId": "ANN", "workspaceId": "repo"}, "user", ["one"]),
        ({"userId": "x", "workspaceId": "repo"}, "workspace", ["space"]),
        ({"teamIds": ["core"]}, "team", ["team"]),
        ({}, "all", ["all-1"]),
    ):
        answer = desk.do("listScoped", **arguments)
        assert answer["scope"] == scope
        assert [item["id"] for item in answer["items"]] == ids


@promise("000-enhanced-repair")
def test_get_enhanced_shows_a_hidden_file_or_the_reason(filled: Any) -> None:
    assert filled.do("getEnhanced", id="alpha")["item"]["id"] == "alpha"
    filled.file("late.json", {"id": "late", "body": "Written by an editor."})
    assert filled.do("getEnhanced", id="late")["item"]["id"] == "late"
    assert "late" in {item["id"] for item in filled.do("list")["items"]}
    filled.file("broken.json", "{not json")
    broken = filled.do("getEnhanced", id="broken")
    assert broken["notFound"] is True
    assert broken["trace"]["lateMaterializeRejected"] is True
    assert "parse" in broken["trace"]["reason"]
    assert filled.do("getEnhanced", id="nope")["trace"]["expectOnDisk"] is False


@promise("000-marker")
def test_removing_the_marker_forces_a_reload(folder_desk: Any) -> None:
    filled = fill(folder_desk)
    filled.file("by-hand.json", {"id": "by-hand", "body": "Hand written."})
    marker = filled.folder / ".catalog-version"
    marker.unlink()
    assert filled.do("get", id="by-hand")["item"]["body"] == "Hand written."
    assert marker.exists()


def test_a_foreign_marker_forces_a_comparison(folder_desk: Any) -> None:
    filled = fill(folder_desk)
    filled.file("peer.json", {"id": "peer", "body": "Written by the peer."})
    (filled.folder / ".catalog-version").write_text("1700000000000-abcdef")
    assert filled.do("get", id="peer")["item"]["body"] == "Written by the peer."
