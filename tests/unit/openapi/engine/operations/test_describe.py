"""Operations as texts that can be searched."""

from __future__ import annotations

import json

import pytest

from commonplace.openapi.engine.operations.describe import MAX_OPERATIONS
from commonplace.openapi.engine.operations.read import OperationList, read_operations

SHOP = {
    "openapi": "3.2.0",
    "info": {"title": "Shop"},
    "paths": {
        "/orders/{id}": {
            "parameters": [{"$ref": "#/components/parameters/Id"}],
            "get": {
                "operationId": "readOrder",
                "summary": "Read  an\n order",
                "description": "Returns [the order](https://a.example/x) with `all` <b>items</b>.",
                "tags": ["orders", 7],
                "responses": {
                    "200": {"content": {"application/json": {"schema": {"$ref": "#/c/Order"}}}},
                    "404": {"content": {"application/json": {"schema": {"$ref": "#/c/Problem"}}}},
                },
            },
            "additionalOperations": {"COPY": {"summary": "Copy an order"}},
        },
        "/linked": {"$ref": "#/components/pathItems/Linked"},
        "x-internal": {"get": {"summary": "not a path"}},
        "/broken": {"get": "text", "post": None, "put": {"parameters": {"a": 1}, "tags": "x"}},
    },
    "webhooks": {"shipped": {"post": {"summary": "An order was shipped"}}},
    "components": {
        "parameters": {"Id": {"name": "order_number", "in": "path"}},
        "pathItems": {
            "Linked": {
                "post": {
                    "description": "Adds a voucher. It is sent by mail.",
                    "requestBody": {
                        "content": {
                            "application/json": {"schema": {"$ref": "#/components/schemas/Voucher"}}
                        }
                    },
                }
            }
        },
        "schemas": {
            "Voucher": {"allOf": [{"$ref": "#/components/schemas/Base"}, {"type": "object"}]},
            "Base": {
                "properties": {"amount": {}, "parent": {"$ref": "#/components/schemas/Voucher"}}
            },
        },
    },
}

BOMB = b"".join(
    b"%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n" % (name + 1, name + 1, *[name] * 9)
    for name in range(97, 110)
)


def read(document: object) -> OperationList:
    return read_operations(json.dumps(document, indent=1).encode())


def test_operations_of_paths_and_webhooks_are_listed_with_pointers_that_lead_to_them() -> None:
    found = read(SHOP)
    assert (found.recognised, found.title, found.note) == (True, "Shop", "")
    assert [(o.method, o.path, o.pointer) for o in found.operations] == [
        ("GET", "/orders/{id}", "/paths/~1orders~1{id}/get"),
        ("COPY", "/orders/{id}", "/paths/~1orders~1{id}/additionalOperations/COPY"),
        ("POST", "/linked", "/components/pathItems/Linked/post"),
        ("PUT", "/broken", "/paths/~1broken/put"),
        ("POST", "shipped", "/webhooks/shipped/post"),
    ]


def test_the_text_of_an_operation_names_its_parameters_schemas_and_properties() -> None:
    order, _, voucher, *_ = read(SHOP).operations
    assert order.summary == "Read an order"
    assert order.tags == ("orders", "")
    assert "order_number" in order.text
    assert "Returns the order with all items ." in order.text
    assert "returns Order" in order.text
    assert "Problem" not in order.text  # an error that most operations share
    assert voucher.summary == "Adds a voucher"
    assert {"Voucher", "Base", "amount", "parent"} <= set(voucher.text.replace(",", " ").split())


def test_lines_are_those_of_the_operation_in_json_and_yaml() -> None:
    source = json.dumps(SHOP, indent=1)
    lines = source.split("\n")
    for operation in read_operations(source.encode()).operations:
        assert '": {' in lines[operation.start_line - 1]
        part = "\n".join(lines[operation.start_line - 1 : operation.end_line]).rstrip(",")
        assert len(json.loads("{" + part + "}")) == 1
    yaml = (
        "openapi: 3.0.0\npaths:\n  /a:\n    get:\n      summary: x\n\n"
        "    # a comment\n    put: {}\n"
    )
    get, put = read_operations(yaml.encode()).operations
    assert ((get.start_line, get.end_line), (put.start_line, put.end_line)) == ((4, 7), (8, 8))


def test_operations_beyond_a_limit_are_said_to_be_missing() -> None:
    paths = {f"/{number}": {"get": {}} for number in range(MAX_OPERATIONS + 3)}
    found = read_operations(json.dumps({"openapi": "3.0.0", "paths": paths}).encode())
    assert len(found.operations) == MAX_OPERATIONS
    assert found.note == f"3 of {MAX_OPERATIONS + 3} operations are not indexed"


@pytest.mark.parametrize(
    ("source", "note"),
    [
        (b"openapi: 3.1.0\npaths: [", "line 2"),
        (b'{"openapi": "3.9.1"}', "3.9.1"),
        (b"openapi: 3.1.0\nx: " + b"[" * 2_000 + b"]" * 2_000, "nested"),
        (b"openapi: 3.1.0\na: &a [x,x,x,x,x,x,x,x,x]\n" + BOMB, "alias"),
    ],
    ids=["syntax", "version", "deep", "aliases"],
)
def test_a_description_that_cannot_be_read_says_why(source: bytes, note: str) -> None:
    found = read_operations(source)
    assert found.recognised
    assert found.operations == ()
    assert note in found.note


@pytest.mark.parametrize("source", [b"a: 1\n", b"[1]", b"", b'{"overlay": "1.0.0"}'])
def test_what_is_no_description_is_not_mentioned(source: bytes) -> None:
    assert read_operations(source) == OperationList()
