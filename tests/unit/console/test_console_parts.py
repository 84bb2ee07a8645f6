"""Labels of drawings, addresses, and the query of the graph endpoint."""

from __future__ import annotations

import pytest

from commonplace.console.drawing import MAX_LABEL, flowchart, label
from commonplace.console.graph_route import arguments_of
from commonplace.console.parts import address, size


def test_a_label_contains_no_special_character() -> None:
    hostile = '"]; click n0 "javascript:alert(1)" <img src=x> %%{init}%% `x` [a] {b} |c| & # *\\'
    assert not set(label(hostile)) & set('"<>`#;%{}[]|&*\\')
    assert len(label("word " * 100)) <= MAX_LABEL
    assert "\n" not in label("a\nb")
    assert label("") == "-"


def test_a_drawing_names_its_nodes_itself_and_leaves_out_links_to_nowhere() -> None:
    source = flowchart(
        {"a end": "First", 'b"]': "Second"},
        [("a end", 'b"]', "related"), ("a end", "gone", "related")],
        "a end",
    )
    assert source.splitlines() == [
        "flowchart LR",
        '  n0["First"]',
        '  n1["Second"]',
        '  n0 -->|"related"| n1',
        "  style n0 stroke-width:3px",
    ]


def test_an_address_keeps_what_is_set_and_escapes_it() -> None:
    assert (
        address("/files", project="a b", path="", start="0", q="x&y")
        == "/files?project=a+b&start=0&q=x%26y"
    )
    assert address("/files", project=None) == "/files"


def test_sizes_are_readable() -> None:
    assert [size(item) for item in (10, 2048, 3 * 1024 * 1024)] == ["10 B", "2.0 KiB", "3.0 MiB"]


def test_the_query_of_the_graph_endpoint_becomes_arguments() -> None:
    assert arguments_of({}) == {"format": "mermaid"}
    query = {
        "enrich": "true",
        "includeCategoryNodes": "1",
        "includeUsage": "false",
        "includeEdgeTypes": "primary, belongs",
        "maxEdges": "7",
    }
    assert arguments_of(query) == {
        "format": "mermaid",
        "enrich": True,
        "includeCategoryNodes": True,
        "includeEdgeTypes": ["primary", "belongs"],
        "maxEdges": 7,
    }


@pytest.mark.parametrize(
    "query", [{"enrich": "maybe"}, {"maxEdges": "-1"}, {"maxEdges": "many"}, {"maxEdges": "9" * 30}]
)
def test_a_wrong_query_is_refused_by_name(query: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=next(iter(query))):
        arguments_of(query)
