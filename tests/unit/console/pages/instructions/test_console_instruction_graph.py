"""The text of an exported graph: what is drawn of a large one, and where its nodes lead."""

from __future__ import annotations

from starlette.testclient import TestClient
from tests.unit.console.conftest import FakeCaller

from commonplace.console.caller import Answer
from commonplace.console.pages.instructions.graph import (
    MAX_DRAWN,
    count_parts,
    find_nodes,
    keep_connected,
)

HEAD = "---\ntitle: Graph\nconfig:\n  theme: base\n---\n"
SOURCE = (
    f"{HEAD}flowchart TB\n"
    '  a_rule["a-rule"]\n'
    '  b_rule["b-rule"]\n'
    '  lonely["lonely"]\n'
    '  category_ops["category:ops"]\n'
    "  a_rule ---|category| b_rule\n"
    "  a_rule ---|belongs| category_ops\n"
)


def export(source: str, **meta: object) -> Answer:
    counts = {"nodeCount": 4, "edgeCount": 2, **meta}
    return Answer({"mermaid": source, "meta": counts, "nodes": [], "edges": []})


def prepare(caller: FakeCaller, source: str, **meta: object) -> None:
    caller.replies["instructions_capabilities"] = Answer({"mutationEnabled": True})
    caller.replies["graph_export"] = export(source, **meta)


def test_the_front_matter_is_not_counted() -> None:
    assert count_parts(SOURCE) == 6
    assert count_parts("") == 0


def test_a_part_of_a_graph_keeps_its_head_and_the_ends_of_its_edges() -> None:
    part = keep_connected(SOURCE, 1)
    assert part.startswith(f"{HEAD}flowchart TB\n")
    assert part.splitlines()[-3:] == [
        '  a_rule["a-rule"]',
        '  b_rule["b-rule"]',
        "  a_rule ---|category| b_rule",
    ]
    assert "lonely" not in keep_connected(SOURCE, 10)


def test_nodes_lead_to_instructions_and_categories() -> None:
    assert [(node.name, node.address) for node in find_nodes(SOURCE)] == [
        ("a_rule", "/console/instructions/a-rule"),
        ("b_rule", "/console/instructions/b-rule"),
        ("lonely", "/console/instructions/lonely"),
        ("category_ops", "/console/instructions?category=ops"),
    ]


def test_the_address_chooses_what_is_exported(caller: FakeCaller, inside: TestClient) -> None:
    prepare(caller, SOURCE)
    inside.get("/console/instructions?tab=graph")
    inside.get("/console/instructions?tab=graph&edges=primary,x&most=7&enrich=0&usage=1")
    inside.get("/console/instructions?tab=graph&set=1&edges=primary&edges=belongs&nodes=on")
    sent = [arguments for tool, arguments in caller.calls if tool == "graph_export"]
    assert sent[0]["includeEdgeTypes"] == ["primary", "category", "belongs"]
    assert (sent[0]["maxEdges"], sent[0]["enrich"], sent[0]["includeUsage"]) == (60, True, False)
    assert sent[1]["includeEdgeTypes"] == ["primary"]
    assert (sent[1]["maxEdges"], sent[1]["enrich"], sent[1]["includeUsage"]) == (7, False, True)
    assert sent[2]["includeEdgeTypes"] == ["primary", "belongs"]
    assert (sent[2]["enrich"], sent[2]["includeCategoryNodes"]) == (False, True)


def test_a_large_graph_is_drawn_in_part_and_its_source_is_whole(
    caller: FakeCaller, inside: TestClient
) -> None:
    many = "".join(f'  n{number}["node-{number}"]\n' for number in range(MAX_DRAWN))
    large = SOURCE.replace("  a_rule ---|category|", f"{many}  a_rule ---|category|")
    prepare(caller, large, truncated=True)
    page = inside.get("/console/instructions?tab=graph").text
    assert "Only nodes with edges are drawn" in page
    assert 'data-graph="graph-drawn"' in page
    drawn = page.split('id="graph-drawn">')[1].split("</pre>")[0]
    assert "node-1" not in drawn
    assert "a-rule" in drawn
    assert "node-199" in page.split('id="graph-source">')[1].split("</pre>")[0]
    assert "Some edges are left out" in page
    whole = inside.get("/console/instructions?tab=graph&all=1").text
    assert 'data-graph="graph-source"' in whole


def test_the_download_is_exactly_what_is_exported(caller: FakeCaller, inside: TestClient) -> None:
    prepare(caller, SOURCE)
    answer = inside.get("/console/instruction-graph?edges=primary")
    assert answer.text == SOURCE
    assert "instructions.mmd" in answer.headers["content-disposition"]


def test_a_failure_of_the_export_is_shown(caller: FakeCaller, inside: TestClient) -> None:
    prepare(caller, SOURCE)
    caller.replies["graph_export"] = Answer(
        None, {"code": "CATALOGUE_BUSY", "message": "Busy.", "hint": "Try again."}
    )
    page = inside.get("/console/instructions?tab=graph").text
    assert "Busy." in page
    assert "Try again." in page
