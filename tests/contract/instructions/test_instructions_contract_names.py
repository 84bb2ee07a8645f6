"""Every action under all of its names, its schemas, its errors; and the table of promises,
complete both ways.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from instruction_promises import HELD, PROMISES, TABLE, promise, table

from commonplace.dispatch.schema import input_schema, output_schema
from commonplace.dispatch.tool import Tier
from commonplace.edge.jsonrpc import rpc_error
from commonplace.instructions.errors import CODES
from commonplace.instructions.names import ACTIONS, BARE, OWN_ACTIONS, tool_name
from commonplace.kernel.errors import Kind

LISTED = {f"instructions_{name}" for name in ("dispatch", "search", "query", "get", "list", "add")}
LISTED |= {
    "graph_export",
    "prompt_review",
    "gates_evaluate",
    "integrity_verify",
    "usage_track",
    "feedback_submit",
    "rules_for",
}


@promise("000-dispatch-names")
def test_every_action_has_three_names(desk: Any) -> None:
    for action in ACTIONS:
        tool = desk.registry.tool(tool_name(action))
        method = action if "/" in action else f"instructions/{action}"
        assert (method in BARE) is (action not in OWN_ACTIONS)
        if action not in OWN_ACTIONS:
            assert desk.registry.bare(method).name == tool.name
    assert desk.registry.bare("instructions/dispatch").name == "instructions_dispatch"


def test_only_the_default_tools_are_listed(desk: Any) -> None:
    assert {tool.name for tool in desk.registry.all() if tool.tier is Tier.DEFAULT} == LISTED


@promise("000-dispatch-unknown", "000-dispatch-missing", "000-dispatch-params")
def test_dispatch_errors_have_the_details_of_the_contract(desk: Any) -> None:
    unknown = rpc_error(desk.error("instructions/dispatch", action="fly")).as_dict()
    assert unknown["code"] == -32601
    assert unknown["data"]["action"] == "fly"
    assert "list" in unknown["data"]["suggestion"]
    missing = rpc_error(desk.error("instructions/dispatch", id="x")).as_dict()
    assert missing["code"] == -32602
    assert missing["data"]["reason"] == "missing_action"
    wrong = rpc_error(
        desk.error("instructions/dispatch", action="list", limit="x", colour=1)
    ).as_dict()
    assert wrong["code"] == -32602
    assert wrong["data"]["action"] == "list"
    assert {problem["field"] for problem in wrong["data"]["validation"]} == {"limit", "colour"}
    assert wrong["data"]["documentation"]
    for odd in (3, ["list"], {"a": 1}, True):
        assert desk.error("instructions/dispatch", action=odd).code.kind is Kind.UNKNOWN_METHOD
    assert desk.error("instructions/dispatch", action="dispatch").code.kind is Kind.UNKNOWN_METHOD


def test_codes_are_unique_and_explained() -> None:
    assert len({code.name for code in CODES}) == len(CODES)
    assert all(code.meaning.endswith(".") for code in CODES)


def test_schemas_are_valid(desk: Any) -> None:
    for tool in desk.registry.all():
        schema = dict(tool.input_schema) if tool.input_schema else input_schema(tool.input)
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        jsonschema.Draft202012Validator.check_schema(
            dict(tool.output_schema) if tool.output_schema else output_schema(tool.output)
        )


def test_every_answer_fits_its_schema(desk: Any) -> None:
    desk.add("a", "Body text", categories=["x"])
    desk.add("b", "Body text", categories=["x"])
    calls: list[tuple[str, dict[str, Any]]] = [
        ("instructions_list", {"expectId": "a"}),
        ("instructions_get", {"id": "a"}),
        ("instructions_get", {"id": "nope"}),
        ("instructions_get_enhanced", {"id": "nope"}),
        ("instructions_search", {"q": "body", "highlight": True}),
        ("instructions_query", {"limit": 1}),
        ("instructions_categories", {}),
        ("instructions_diff", {}),
        ("instructions_diff", {"known": []}),
        ("instructions_export", {}),
        ("instructions_list_scoped", {}),
        ("instructions_governance_hash", {"includeItems": True}),
        ("instructions_capabilities", {}),
        ("instructions_health", {}),
        ("instructions_inspect", {"id": "a"}),
        ("instructions_add", {"entry": {"id": "c", "body": "x"}, "lax": True}),
        ("instructions_add", {}),
        ("instructions_import", {"entries": [{"id": "c", "body": "y"}, 3], "mode": "overwrite"}),
        ("instructions_governance_update", {"id": "c", "owner": "ann"}),
        ("instructions_history", {"id": "c"}),
        ("instructions_restore", {"id": "c"}),
        ("instructions_reviews", {}),
        ("instructions_review_submit", {"id": "c", "entry": {"body": "proposed"}}),
        ("instructions_review_list", {}),
        ("instructions_review_comment", {"id": "c", "text": "hm"}),
        ("instructions_review_show", {"id": "c"}),
        ("instructions_review_decide", {"id": "c", "decision": "return"}),
        ("instructions_review_decide", {"id": "c", "decision": "withdraw"}),
        ("instructions_archive", {"ids": ["b", "nope"]}),
        ("instructions_removed", {"kind": "archived"}),
        ("instructions_get", {"id": "b"}),
        ("instructions_archive", {"ids": ["b"], "restore": True}),
        ("instructions_remove", {"ids": ["c"], "dryRun": True}),
        ("instructions_groom", {"mode": {"mergeDuplicates": True}}),
        ("instructions_repair", {}),
        ("instructions_enrich", {}),
        ("instructions_reload", {}),
        ("instructions_remove", {"ids": ["c", "d"], "cascade": True}),
        ("instructions_batch", {"operations": [{"action": "list"}]}),
        ("instructions_dispatch", {"action": "list"}),
        ("graph_export", {"enrich": True, "format": "dot", "includeUsage": True}),
        ("prompt_review", {"prompt": "TODO etc."}),
        ("prompt_review", {"prompt": "x" * 20_000}),
        ("gates_evaluate", {}),
        ("integrity_verify", {}),
        ("usage_track", {"id": "a"}),
        ("usage_track", {"instructionId": "a"}),
        ("usage_hotset", {}),
        ("feedback_submit", {"type": "issue", "title": "t", "description": "d"}),
        ("feedback_list", {}),
        ("feedback_get", {"id": "x"}),
        ("feedback_update", {"id": "x"}),
        ("feedback_stats", {}),
        ("feedback_health", {}),
        ("rules_for", {"paths": ["a.py"]}),
    ]
    assert {name for name, _ in calls} == {tool.name for tool in desk.registry.all()}
    for name, arguments in calls:
        tool = desk.registry.tool(name)
        schema = dict(tool.output_schema) if tool.output_schema else output_schema(tool.output)
        jsonschema.validate(desk.call(name, **arguments), schema)


@pytest.mark.parametrize("action", [action for action in ACTIONS if action != "add"])
def test_no_action_takes_unknown_arguments(desk: Any, action: str) -> None:
    assert (
        desk.error("instructions/dispatch", action=action, unheardOf=1).code.kind
        is Kind.INVALID_ARGUMENT
    )


def test_every_promise_has_a_test_and_is_listed() -> None:
    for module in Path(__file__).parent.glob("test_*.py"):
        importlib.import_module(module.stem)
    assert set(HELD) == set(PROMISES)
    assert TABLE.read_text(encoding="utf-8") == table(), (
        "run python tests/contract/instructions/instruction_promises.py"
    )
