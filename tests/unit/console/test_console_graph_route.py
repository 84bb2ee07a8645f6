"""The query of the graph endpoint."""

from __future__ import annotations

import pytest

from commonplace.console.graph_route import arguments_of


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
