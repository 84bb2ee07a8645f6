"""Walks return frozen rows: a summary without the object, a detail with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from commonplace.kernel.errors import CommonplaceError
from commonplace.openapi.engine.document.index import index_document
from commonplace.openapi.engine.document.references.inliner import Inliner
from commonplace.openapi.engine.document.references.resolver import ReferenceResolver
from commonplace.openapi.engine.walk.operations import (
    OperationFilter,
    walk_operations,
    walk_paths,
)
from commonplace.openapi.engine.walk.parts import (
    HeaderFilter,
    ParameterFilter,
    ResponseFilter,
    SecurityFilter,
    walk_headers,
    walk_parameters,
    walk_responses,
    walk_security,
)
from commonplace.openapi.engine.walk.query import WalkQuery, WalkResult
from commonplace.openapi.engine.walk.refs import RefFilter, walk_refs
from commonplace.openapi.engine.walk.rows import (
    HeaderRow,
    OperationRow,
    ParameterRow,
    PathRow,
    RefRow,
    ResponseRow,
    SchemaRow,
    SecuritySchemeRow,
    WalkGroup,
)
from commonplace.openapi.engine.walk.schemas import SchemaFilter, walk_schemas
from commonplace.openapi.engine.walk.walker import Walker
from oas_calls import document, minimal

TEXT = {"type": "string"}
PARAMETER = {"name": "q", "in": "query", "schema": TEXT, "required": True}
HEADER = {"schema": TEXT, "description": "next page", "required": True}
RESPONSE = {"description": "fine", "headers": {"X-Next": HEADER}}
OPERATION = {
    "operationId": "list",
    "summary": "List all",
    "tags": ["pets"],
    "deprecated": True,
    "parameters": [PARAMETER],
    "responses": {"200": RESPONSE},
}
SCHEME = {"type": "apiKey", "in": "header", "name": "X-Key", "description": "a key"}
PET = {"type": "object", "required": ["name"], "properties": {"name": TEXT}}
POINTER = "#/components/schemas/Pet"
DATA = minimal(
    paths={"/pets": {"summary": "Pets", "get": OPERATION}},
    components={
        "schemas": {"Pet": PET, "Other": {"$ref": POINTER}},
        "securitySchemes": {"key": SCHEME},
    },
)

Walk = Callable[[Walker], WalkResult[Any]]
WALKS: dict[str, tuple[Walk, object, object]] = {
    "operations": (
        lambda walker: walk_operations(walker, OperationFilter()),
        OperationRow(
            "GET",
            "/pets",
            operation_id="list",
            summary="List all",
            tags=("pets",),
            deprecated=True,
        ),
        OperationRow("GET", "/pets", operation=OPERATION),
    ),
    "paths": (
        lambda walker: walk_paths(walker, None),
        PathRow("/pets", summary="Pets", method_count=1),
        PathRow("/pets", path_item=DATA["paths"]["/pets"]),
    ),
    "schemas": (
        lambda walker: walk_schemas(walker, SchemaFilter(name="Pet")),
        SchemaRow(
            "Pet",
            "$.components.schemas['Pet']",
            True,
            type="object",
            property_count=1,
            required=("name",),
        ),
        SchemaRow("Pet", "$.components.schemas['Pet']", True, schema=PET),
    ),
    "parameters": (
        lambda walker: walk_parameters(walker, ParameterFilter()),
        ParameterRow("q", "/pets", "GET", location="query", required=True, type="string"),
        ParameterRow("q", "/pets", "GET", parameter=PARAMETER),
    ),
    "responses": (
        lambda walker: walk_responses(walker, ResponseFilter()),
        ResponseRow("200", "/pets", "GET", "", description="fine"),
        ResponseRow("200", "/pets", "GET", "", response=RESPONSE),
    ),
    "headers": (
        lambda walker: walk_headers(walker, HeaderFilter()),
        HeaderRow("X-Next", "/pets", "GET", "200", description="next page", required=True),
        HeaderRow("X-Next", "/pets", "GET", "200", header=HEADER),
    ),
    "security": (
        lambda walker: walk_security(walker, SecurityFilter()),
        SecuritySchemeRow("key", "apiKey", "header", "a key"),
        SecuritySchemeRow("key", security_scheme=SCHEME),
    ),
    "refs": (
        lambda walker: walk_refs(walker, RefFilter()),
        RefRow(POINTER, 1),
        RefRow(
            POINTER, source_path="$.components.schemas['Other']", node_type="schema", value=None
        ),
    ),
}


def walker(limit_bytes: int = 1_000_000, **query: Any) -> Walker:
    loaded = document(DATA)
    inliner = Inliner(ReferenceResolver(loaded))
    return Walker(loaded, index_document(loaded), inliner, WalkQuery(**query), limit_bytes)


@pytest.mark.parametrize("kind", WALKS)
def test_a_walk_returns_summaries_or_details(kind: str) -> None:
    walk, summary, detail = WALKS[kind]
    summaries, details = walk(walker()), walk(walker(detail=True))
    assert (summaries.listing, list(summaries.rows)) == ("summaries", [summary])
    assert (details.listing, list(details.rows)) == ("details", [detail])
    with pytest.raises(FrozenInstanceError):
        setattr(details.rows[0], details.rows[0].__slots__[0], "another")


def test_groups_are_counted_and_have_no_rows() -> None:
    result = walk_operations(walker(group_by="tag"), OperationFilter())
    assert (result.listing, list(result.rows)) == ("groups", [])
    assert list(result.groups) == [WalkGroup("pets", 1)]


def test_a_row_that_is_too_large_alone_is_an_error() -> None:
    with pytest.raises(CommonplaceError, match="an answer holds 50"):
        walk_operations(walker(50, detail=True), OperationFilter())
