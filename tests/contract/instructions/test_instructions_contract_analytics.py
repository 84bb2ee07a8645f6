"""Graph, health, usage and reviews (docs/reference/contracts/instructions.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml
from instruction_promises import promise

from commonplace.instructions.engine.graph import GraphOptions
from commonplace.kernel.auth import local_user
from commonplace.kernel.errors import Kind


@pytest.fixture
def pair(desk: Any) -> Any:
    desk.add("instr.beta", "B", categories=["ai", "code"], primaryCategory="ai")
    desk.add(
        "instr.alpha",
        "A",
        categories=["ai"],
        priority=10,
        owner="team-x",
        createdAt="2025-09-01T12:00:00Z",
    )
    return desk


@promise("000-graph-v1", "000-graph-order")
def test_the_plain_graph_is_schema_one(pair: Any) -> None:
    assert pair.call("graph/export") == {
        "meta": {"graphSchemaVersion": 1, "nodeCount": 2, "edgeCount": 3},
        "nodes": [{"id": "instr.alpha"}, {"id": "instr.beta"}],
        "edges": [
            {"from": "instr.alpha", "to": "ai", "type": "primary"},
            {"from": "instr.alpha", "to": "instr.beta", "type": "category"},
            {"from": "instr.beta", "to": "ai", "type": "primary"},
        ],
    }
    assert pair.do("graph/export") == pair.call("graph_export")


@promise("000-graph-v2", "000-graph-order")
def test_the_enriched_graph_is_schema_two(pair: Any) -> None:
    graph = pair.call("graph/export", enrich=True, includeCategoryNodes=True)
    assert graph["meta"]["graphSchemaVersion"] == 2
    assert [node["id"] for node in graph["nodes"]] == [
        "instr.alpha",
        "instr.beta",
        "category:ai",
        "category:code",
    ]
    alpha = graph["nodes"][0]
    assert (alpha["nodeType"], alpha["categories"], alpha["primaryCategory"]) == (
        "instruction",
        ["ai"],
        "ai",
    )
    assert (alpha["priority"], alpha["owner"], alpha["status"], alpha["createdAt"]) == (
        10,
        "team-x",
        "approved",
        "2025-09-01T12:00:00Z",
    )
    assert graph["nodes"][2] == {"id": "category:ai", "nodeType": "category"}
    assert [
        (edge["from"], edge["to"], edge["type"], edge["weight"]) for edge in graph["edges"]
    ] == [
        ("instr.alpha", "category:ai", "primary", 1),
        ("instr.alpha", "category:ai", "belongs", 1),
        ("instr.alpha", "instr.beta", "category", 1),
        ("instr.beta", "category:ai", "primary", 1),
        ("instr.beta", "category:ai", "belongs", 1),
        ("instr.beta", "category:code", "belongs", 1),
    ]
    plain = pair.call("graph/export", enrich=True)
    assert {edge["type"] for edge in plain["edges"]} == {"primary", "category"}
    assert plain["edges"][0]["to"] == "ai"
    asked = pair.call("graph/export", enrich=True, includeEdgeTypes=["belongs"])
    assert {edge["type"] for edge in asked["edges"]} == {"belongs"}


@promise("000-graph-edge-types")
def test_edges_are_filtered_then_truncated(pair: Any) -> None:
    cut = pair.call("graph/export", includeEdgeTypes=["primary"], maxEdges=1)
    assert [edge["type"] for edge in cut["edges"]] == ["primary"]
    assert cut["meta"] == {
        "graphSchemaVersion": 1,
        "nodeCount": 2,
        "edgeCount": 1,
        "truncated": True,
    }
    exact = pair.call("graph/export", includeEdgeTypes=["primary"], maxEdges=2)
    assert "truncated" not in exact["meta"]
    assert pair.call("graph/export", maxEdges=0)["edges"] == []


@promise("000-graph-dot")
def test_the_dot_drawing(pair: Any) -> None:
    graph = pair.call(
        "graph/export",
        format="dot",
        enrich=True,
        includeCategoryNodes=True,
        includeEdgeTypes=["primary", "category"],
    )
    assert graph["dot"] == (
        "graph Instructions {\n"
        '  "instr.alpha";\n'
        '  "instr.beta";\n'
        '  "category:ai";\n'
        '  "category:code";\n'
        '  "instr.alpha" -- "category:ai" [label="primary"];\n'
        '  "instr.alpha" -- "instr.beta" [label="category"];\n'
        '  "instr.beta" -- "category:ai" [label="primary"];\n'
        "}\n"
    )


@promise("000-graph-mermaid", "000-graph-order")
def test_the_mermaid_drawing_has_front_matter_and_undirected_edges(pair: Any) -> None:
    arguments: dict[str, Any] = {"format": "mermaid", "enrich": True, "includeCategoryNodes": True}
    drawing = pair.call("graph/export", **arguments)["mermaid"]
    _, front, body = drawing.split("---\n", 2)
    matter = yaml.safe_load(front)
    assert matter["title"] == "Instruction Catalog Graph"
    assert matter["config"]["themeVariables"]["primaryColor"] == "#1e3a8a"
    assert matter["meta"]["schemaVersion"] == 2
    assert matter["meta"]["generatedAt"]
    lines = body.splitlines()
    assert lines[0] == "flowchart TB"
    assert '  instr_alpha["instr.alpha"]' in lines
    assert '  category_ai["category:ai"]' in lines
    assert "  instr_alpha ---|category| instr_beta" in lines
    assert "-->" not in drawing
    assert pair.call("graph/export", **arguments)["mermaid"] == drawing
    minimal = pair.call("graph/export", format="mermaid", includeEdgeTypes=["primary"])["mermaid"]
    assert '  ai["ai"]' in minimal.splitlines()


def test_mermaid_names_never_collide(desk: Any) -> None:
    desk.add("a.b", categories=["end"])
    desk.add("a-b", categories=["end"])
    drawing = desk.call("graph/export", format="mermaid")["mermaid"]
    assert '  a_b["a-b"]' in drawing.splitlines()
    assert '  a_b_2["a.b"]' in drawing.splitlines()
    assert "\n  end[" not in drawing


@promise("000-graph-usage")
def test_the_graph_has_current_usage_counts(pair: Any) -> None:
    pair.call("usage/track", id="instr.alpha")
    nodes = pair.call("graph/export", enrich=True, includeUsage=True)["nodes"]
    assert [node["usageCount"] for node in nodes] == [1, 0]


@promise("000-graph-env")
def test_environment_variables_change_the_graph(pair: Any, desks: Callable[..., Any]) -> None:
    silent = desks(graph_include_primary_edges=False).call("graph/export")
    assert {edge["type"] for edge in silent["edges"]} == {"category"}
    capped = desks(graph_large_category_cap=1).call("graph/export")
    assert {edge["type"] for edge in capped["edges"]} == {"primary"}
    assert "ai" in capped["meta"]["notes"][0]


@promise("000-graph-strict")
def test_the_graph_rejects_unknown_parameters(pair: Any) -> None:
    for wrong in (
        {"colour": 1},
        {"format": "svg"},
        {"includeEdgeTypes": ["all"]},
        {"maxEdges": -1},
        {"enrich": "perhaps"},
        {"maxEdges": 1.5},
    ):
        assert pair.error("graph/export", **wrong).code.kind is Kind.INVALID_ARGUMENT, wrong
    four = ["primary", "category", "belongs", "primary"]
    assert pair.error("graph/export", includeEdgeTypes=four).code.kind is Kind.INVALID_ARGUMENT


@promise("000-graph-cache")
def test_the_cached_graph_is_updated_after_a_change(pair: Any) -> None:
    first = pair.service.graph(local_user(), GraphOptions())
    assert pair.service.graph(local_user(), GraphOptions()) is first
    pair.add("instr.gamma")
    assert pair.call("graph/export")["meta"]["nodeCount"] == 3


@promise("000-capabilities-shape")
def test_capabilities(desk: Any) -> None:
    answer = desk.do("capabilities")
    assert set(answer) == {
        "version",
        "protocolVersion",
        "supportedActions",
        "mutationEnabled",
        "features",
        "limits",
    }
    assert answer["version"] != "0.0.0"
    assert set(answer["features"]) == {
        "advancedQuery",
        "bulkOperations",
        "governanceTracking",
        "usageAnalytics",
    }
    assert {
        "list",
        "get",
        "search",
        "query",
        "categories",
        "diff",
        "add",
        "import",
        "remove",
        "groom",
        "batch",
    } <= set(answer["supportedActions"])
    assert answer["mutationEnabled"] is True


@promise("000-health-shape", "000-health-degraded")
def test_health_and_what_degrades_it(desk: Any) -> None:
    desk.add("a", categories=["x"])
    answer = desk.do("health")
    assert answer["status"] == "healthy"
    assert {"status", "version", "uptime", "catalogStats", "performance", "diskUsage"} == set(
        answer
    )
    assert answer["catalogStats"]["totalInstructions"] == 1
    assert answer["catalogStats"]["totalCategories"] == 1
    assert answer["catalogStats"]["integrityHash"] == desk.do("list")["hash"]
    assert set(answer["performance"]) == {"avgResponseTime", "requestCount", "errorRate"}
    assert answer["diskUsage"]["totalSize"] == len(desk.files.get("a.json"))
    desk.file("bad.json", "{")
    desk.do("reload")
    degraded = desk.do("health")
    assert degraded["status"] == "degraded"
    assert degraded["rejectedFiles"][0]["file"] == "bad.json"
    assert degraded["rejectedFiles"][0]["reason"] == "parse"


def test_health_tells_the_free_space_of_the_folder(folder_desk: Any) -> None:
    folder_desk.add("a")
    assert folder_desk.do("health")["diskUsage"]["availableSpace"] > 0


@promise("000-inspect-scopes")
def test_inspect_every_scope(desk: Any) -> None:
    desk.add("a", owner="ann")
    desk.call("usage/track", id="a")
    desk.file("bad.json", {"id": "other", "body": "x"})
    desk.file("odd.json", {"id": "odd", "body": "x", "priority": "high", "audience": "martians"})
    desk.do("reload")
    for scope in ("catalog", "instruction", "governance", "usage"):
        answer = desk.do("inspect", scope=scope, **({"id": "a"} if scope == "instruction" else {}))
        assert answer["scope"] == scope
        assert answer["timestamp"]
        assert set(answer["data"]) == {"raw", "normalized", "validation", "metadata", "filesystem"}
    catalog = desk.do("inspect", scope="catalog")["data"]
    assert catalog["validation"]["rejected"][0]["reason"] == "id-mismatch"
    assert catalog["validation"]["salvaged"] == {"priority": 1, "audience": 1}
    one = desk.do("inspect", id="a")["data"]
    assert one["raw"]["id"] == one["normalized"]["id"] == "a"
    assert one["validation"]["valid"] is True
    assert one["filesystem"]["exists"] is True
    assert desk.do("inspect", scope="governance")["data"]["normalized"]["owner"] == {
        "ann": 1,
        "unowned": 1,
    }
    assert desk.do("inspect", scope="usage")["data"]["raw"]["a"]["usageCount"] == 1
    bad = desk.do("inspect", scope="instruction", id="bad")["data"]
    assert bad["normalized"] is None
    assert "id-mismatch" in bad["validation"]["issues"][0]
    assert (
        desk.do("inspect", scope="instruction", id="../x")["data"]["filesystem"]["exists"] is False
    )
    assert desk.error("instructions/inspect", scope="everything").code.kind is Kind.INVALID_ARGUMENT


@promise("001-verify")
def test_integrity_verify_reports_drift(desk: Any) -> None:
    desk.add("a", "Body")
    assert desk.call("integrity/verify") == {
        "hash": desk.do("list")["hash"],
        "count": 1,
        "issues": [],
        "issueCount": 0,
    }
    stored = desk.stored("a")
    desk.file("a.json", {**stored, "body": "Tampered"})
    answer = desk.call("integrity/verify")
    assert answer["issueCount"] == 1
    assert answer["issues"][0]["id"] == "a"
    assert answer["issues"][0]["expected"] == stored["sourceHash"]
    assert answer["issues"][0]["actual"] != stored["sourceHash"]


@promise("001-track", "000-usage-context")
def test_usage_in_both_shapes(desk: Any) -> None:
    desk.add("a")
    first = desk.call("usage/track", id="a")
    assert (first["id"], first["usageCount"]) == ("a", 1)
    assert first["lastUsedAt"]
    assert desk.call("usage/track", id="nope")["notFound"] is True
    rich = {
        "context": {"sessionId": "s-1", "timestamp": "2025-01-01T00:00:00Z", "userId": "u"},
        "metrics": {"success": True, "executionTime": 12.5},
    }
    assert desk.call("usage/track", instructionId="a", **rich) == {
        "tracked": True,
        "sessionId": "s-1",
        "aggregatedCount": 2,
    }
    missing = desk.call("usage/track", instructionId="nope", **rich)
    assert (missing["tracked"], missing["sessionId"]) == (False, "s-1")
    assert desk.do("get", id="a")["item"]["usageCount"] == 2
    for wrong in (
        {},
        {"id": "a", "instructionId": "a"},
        {"instructionId": "a", "metrics": {"success": "yes?"}},
    ):
        assert desk.error("usage/track", **wrong).code.kind is Kind.INVALID_ARGUMENT


@promise("000-usage-env")
def test_usage_switches(desks: Callable[..., Any]) -> None:
    off = desks(features=("other",))
    off.add("a")
    assert off.call("usage/track", id="a") == {"featureDisabled": True}
    assert off.do("capabilities")["features"]["usageAnalytics"] is False
    limited = desks()
    answers = [limited.call("usage/track", id="a") for _ in range(25)]
    assert any(answer.get("rateLimited") for answer in answers)
    free = desks(usage_rate_limit_disabled=True)
    assert not any(free.call("usage/track", id="a").get("rateLimited") for _ in range(25))
    for desk in (limited, free):
        desk.close()  # writes the counters
    free.files.put_usage({"a": {"usageCount": 40}})
    assert desks().call("usage/hotset")["items"][0]["usageCount"] == 1
    assert desks(usage_clamp_disabled=True).call("usage/hotset")["items"][0]["usageCount"] == 40


@promise("001-hotset")
def test_hotset_ranks_by_count_then_recency(desk: Any) -> None:
    for id_, uses in (("a", 1), ("b", 3), ("c", 1)):
        desk.add(id_)
        for _ in range(uses):
            desk.call("usage/track", id=id_)
    answer = desk.call("usage/hotset")
    assert (answer["count"], answer["limit"], answer["hash"]) == (3, 10, desk.do("list")["hash"])
    assert [(item["id"], item["usageCount"]) for item in answer["items"]] == [
        ("b", 3),
        ("c", 1),
        ("a", 1),
    ]
    assert desk.call("usage/hotset", limit=1)["count"] == 1
    assert desk.call("usage/hotset", limit=1000)["limit"] == 100
    assert desk.call("usage/hotset", limit=0)["limit"] == 1


def test_reviews_list_the_longest_overdue_first_and_count_the_catalogue(desk: Any) -> None:
    desk.add(
        "late", "L", nextReviewDue="2020-01-01T00:00:00.000Z", owner="team-a", status="approved"
    )
    desk.add(
        "later", "L", nextReviewDue="2021-01-01T00:00:00.000Z", owner="team-b", status="review"
    )
    desk.add(
        "fine", "F", nextReviewDue="2999-01-01T00:00:00.000Z", owner="team-a", status="approved"
    )
    found = desk.call("instructions_reviews")
    assert [item["id"] for item in found["items"]] == ["late", "later"]
    assert (found["total"], found["due"]) == (3, 2)
    assert found["counts"]["owner"] == {"team-a": 2, "team-b": 1}
    assert found["counts"]["status"] == {"approved": 2, "review": 1}
    assert [
        item["id"] for item in desk.call("instructions_reviews", limit=1, offset=1)["items"]
    ] == ["later"]
    assert desk.call("instructions_reviews", before="3000-01-01T00:00:00Z")["due"] == 3
    size = desk.call("instructions_health")["diskUsage"]["totalSize"]
    desk.add("added", "A longer text.", nextReviewDue="2020-01-01T00:00:00.000Z", owner="team-b")
    desk.call("instructions_remove", ids=["late"])
    after = desk.call("instructions_reviews")
    assert [item["id"] for item in after["items"]] == ["added", "later"]
    assert after["counts"]["owner"] == {"team-b": 2, "team-a": 1}
    assert desk.call("instructions_health")["diskUsage"]["totalSize"] != size
