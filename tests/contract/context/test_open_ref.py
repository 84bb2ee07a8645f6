"""`open_ref` on both stores: what references name, cut to a budget, and how it goes on."""

from __future__ import annotations

import json
from typing import Any

import orjson

from commonplace.kernel.tokens import count_tokens
from context_office import Office

LINES = "".join(f"line {number} of the file\n" for number in range(1, 401))
API = {
    "openapi": "3.0.3",
    "info": {"title": "Shop", "version": "1"},
    "paths": {
        "/orders": {
            "get": {"summary": "List orders", "responses": {"200": {"description": "x" * 900}}},
            "post": {"summary": "Add an order", "deprecated": True},
        }
    },
    "components": {"schemas": {"Order": {"type": "object"}}},
}


def open_one(office: Office, ref: str, budget: int = 2_000) -> Any:
    opened = office.call("open_ref", refs=[ref], budget=budget)
    assert opened["tokens"] <= budget
    assert count_tokens(orjson.dumps(opened).decode()) <= budget
    return opened["items"][0]


def read_on(office: Office, ref: str, budget: int) -> str:
    """Follow the continuations to the end."""
    text, asked = "", 0
    while ref:
        item = open_one(office, ref, budget)
        text += item["text"]
        ref = item.get("next", "")
        asked += 1
        assert asked < 200
    return text


def test_every_kind_of_reference_is_read(office: Office) -> None:
    office.add_rule("r", "Rule", "First.\nSecond.\nThird.\n")
    lesson = office.add_lesson("Lesson", "One.\nTwo.")
    office.write("/a.txt", LINES)
    office.write("/api.json", json.dumps(API, indent=1))
    assert open_one(office, "instruction:r")["text"].rstrip("\n") == "First.\nSecond.\nThird."
    assert open_one(office, "instruction:r#L2-L2")["text"] == "Second.\n"
    assert open_one(office, lesson)["text"] == "One.\nTwo."
    assert open_one(office, f"{lesson}#L2")["text"] == "Two."
    lines = open_one(office, "file:shop/a.txt#L10-L11")
    assert lines["text"] == "line 10 of the file\nline 11 of the file\n"
    assert lines["lines"] == [10, 11]
    assert open_one(office, "file:shop/a.txt#5-9")["text"] == "1 of"
    assert open_one(office, "file:shop/a.txt#L400-L999")["text"] == "line 400 of the file\n"
    post = open_one(office, "openapi:shop/api.json#/paths/~1orders/post")
    assert post["title"] == "POST /orders: Add an order"
    assert post["marks"] == ["deprecated"]
    assert json.loads("{" + post["text"] + "}") == {"post": API["paths"]["/orders"]["post"]}
    schema = open_one(office, "openapi:shop/api.json#/components/schemas/Order")
    assert json.loads(schema["text"]) == {"type": "object"}
    whole = open_one(office, "openapi:shop/api.json")
    assert whole["text"] == "GET /orders  List orders\nPOST /orders  Add an order (deprecated)"


def test_a_long_text_goes_on_where_it_was_cut(office: Office) -> None:
    office.add_rule("r", "Rule", LINES)
    lesson = office.add_lesson("Lesson", LINES[:6_000])
    office.write("/a.txt", LINES)
    office.write("/one.txt", "word " * 2_000)
    office.write("/é.txt".replace("é", "e"), "é" * 3_000)
    office.write("/api.json", json.dumps(API, indent=1))
    cut = open_one(office, "file:shop/a.txt", 500)
    assert cut["text"].endswith("\n")
    first, last = cut["lines"]
    assert (first, cut["next"]) == (1, f"file:shop/a.txt#L{last + 1}-L400")
    assert read_on(office, "file:shop/a.txt", 500) == LINES
    assert read_on(office, "file:shop/a.txt#L100-L300", 500) == "".join(
        LINES.splitlines(keepends=True)[99:300]
    )
    assert read_on(office, "file:shop/a.txt#7-4000", 500) == LINES[7:4000]
    assert read_on(office, "file:shop/one.txt", 500) == "word " * 2_000
    assert read_on(office, "file:shop/e.txt", 500) == "é" * 3_000
    assert read_on(office, "instruction:r", 500).rstrip("\n") == LINES.rstrip("\n")
    assert read_on(office, lesson, 500) == LINES[:6_000].rstrip("\n")
    operation = read_on(office, "openapi:shop/api.json#/paths/~1orders/get", 200)
    text = operation.strip().rstrip(",")
    assert json.loads("{" + text + "}") == {"get": API["paths"]["/orders"]["get"]}


def test_an_operation_without_lines_of_its_own_is_written_out_and_goes_on(office: Office) -> None:
    office.write("/min.json", json.dumps(API))
    ref = "openapi:shop/min.json#/paths/~1orders/get"
    item = open_one(office, ref, 220)
    assert item["next"].startswith(f"{ref}#")
    assert json.loads(read_on(office, ref, 220)) == API["paths"]["/orders"]["get"]


def test_an_operation_of_a_changed_file_is_read_from_the_file(office: Office) -> None:
    office.write("/api.json", json.dumps(API, indent=1))
    changed = json.dumps({"openapi": "3.0.3", **API}, indent=3).replace("List orders", "All orders")
    office.call("file_write", project="shop", path="/api.json", content=changed, mode="TRUNCATE")
    item = open_one(office, "openapi:shop/api.json#/paths/~1orders/get")
    assert "All orders" in item["text"]


def test_a_part_beyond_the_end_is_told_how_many_lines_there_are(office: Office) -> None:
    office.write("/two.txt", "one\ntwo\n")
    office.write("/open.txt", "one\ntwo")
    for path in ("two.txt", "open.txt"):
        error = open_one(office, f"file:shop/{path}#L9-L9")["error"]
        assert " has 2 lines and " in error["message"]


def test_errors_are_items_of_their_own_with_a_next_step(office: Office) -> None:
    office.write("/a.txt", LINES)
    office.write("/bad.yaml", "openapi: 3.1.0\npaths: [")
    office.write("/api.json", json.dumps(API))
    wanted = {
        "nonsense": "INVALID_ARGUMENT",
        "file:shop/none.txt": "REF_NOT_FOUND",
        "file:nobody/a.txt": "REF_NOT_FOUND",
        "file:shop/a.txt#L900-L901": "REF_NOT_FOUND",
        "instruction:none": "REF_NOT_FOUND",
        "memory:01HX123ABCDEFGHJKMNPQRSTVW": "REF_NOT_FOUND",
        "openapi:shop/api.json#/paths/~1none": "REF_NOT_FOUND",
        "openapi:shop/none.json#/info": "REF_NOT_FOUND",
        "openapi:shop/bad.yaml#/info": "SPEC_SYNTAX",
        "openapi:shop/a.txt": "NOT_A_SPEC",
        "file:shop/a.txt#L1-L1": None,
    }
    opened = office.call("open_ref", refs=[*wanted, "nonsense"])
    assert [item["ref"] for item in opened["items"]] == list(wanted)
    codes = [item.get("error", {}).get("code") for item in opened["items"]]
    assert codes == list(wanted.values())
    assert all(item["error"]["message"] for item in opened["items"][:-1])


def test_a_budget_is_shared_and_what_does_not_fit_at_all_is_counted(office: Office) -> None:
    office.write("/a.txt", LINES)
    office.write("/short.txt", "short\n")
    both = office.call("open_ref", refs=["file:shop/a.txt", "file:shop/short.txt"], budget=600)
    assert both["items"][1]["text"] == "short\n"
    assert len(both["items"][0]["text"]) > 900
    assert both["tokens"] <= 600
    many = [f"file:shop/{'n' * 300}{number}.txt" for number in range(20)]
    opened = office.call("open_ref", refs=many, budget=200)
    assert opened["tokens"] <= 200
    assert len(opened["items"]) + opened["omitted"] == 20
    assert office.fail("open_ref", refs=[]).code.name == "INVALID_ARGUMENT"
    assert office.fail("open_ref", refs=["x"], budget=10).code.name == "INVALID_ARGUMENT"
