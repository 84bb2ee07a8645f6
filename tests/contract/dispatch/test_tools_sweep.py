"""Rules for every tool: names, schemas and their snapshots, annotations, errors."""

from __future__ import annotations

import asyncio
import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from commonplace.bootstrap.app import App
from commonplace.bootstrap.app import build as build_app
from commonplace.dispatch.call import Call
from commonplace.dispatch.describe import describe
from commonplace.dispatch.error_table import TABLE
from commonplace.dispatch.tool import LISTED_NAME, Tool
from commonplace.kernel import errors as kernel_errors
from commonplace.kernel.auth import local_user
from commonplace.kernel.config.loading import load
from commonplace.kernel.errors import Code, Kind
from commonplace.storage import errors as storage_errors
from commonplace.telemetry import errors as telemetry_errors

SNAPSHOTS = Path(__file__).parent / "snapshots"
REJECTS_AS_RESULT = {
    "instructions_add"
}  # their refusal is a result: {"created": false, "error": "missing entry"}
FORBIDDEN_KEYWORDS = ("$ref", "$defs", "definitions")


def build() -> App:
    return build_app(
        load(data=Path(tempfile.mkdtemp()), environ={}, flags={}).settings,
        environ={},
        local_user_writes=True,
    )


APP = build()
TOOLS = APP.registry.all()


@pytest.fixture(scope="module", autouse=True)
def _close() -> Iterator[None]:
    yield
    APP.close()


def each() -> Any:
    return pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from nodes(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from nodes(value)


@each()
def test_schemas_match_their_snapshots(tool: Tool) -> None:
    """After a wanted change: COMMONPLACE_UPDATE_SNAPSHOTS=1 and review the difference."""
    described = describe(tool, APP.product.selection)
    target = SNAPSHOTS / f"{tool.name}.json"
    written = json.dumps(described, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    if os.environ.get("COMMONPLACE_UPDATE_SNAPSHOTS") == "1":
        target.write_text(written)
    assert target.exists(), f"no snapshot of {tool.name}: run with COMMONPLACE_UPDATE_SNAPSHOTS=1"
    assert target.read_text() == written


def test_every_snapshot_belongs_to_a_tool() -> None:
    assert {path.stem for path in SNAPSHOTS.glob("*.json")} == {tool.name for tool in TOOLS}


@each()
def test_strict_clients_accept_the_schemas(tool: Tool) -> None:
    described = describe(tool, APP.product.selection)
    assert ("outputSchema" in described) == (tool.output is not None)  # None answers with text
    for key in described.keys() & {"inputSchema", "outputSchema"}:
        schema = described[key]
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert isinstance(schema["properties"], dict)
        assert not {"anyOf", "oneOf", "allOf", "not"} & set(schema)
        for node in nodes(schema):
            assert not set(FORBIDDEN_KEYWORDS) & set(node)
    assert described["inputSchema"]["additionalProperties"] in (False, True)


@each()
def test_names_and_descriptions_suit_every_client(tool: Tool) -> None:
    assert LISTED_NAME.fullmatch(tool.name)
    assert len(f"mcp__commonplace__{tool.name}") <= 64
    assert 10 <= len(tool.description) <= 1500
    assert tool.title


@each()
def test_annotations_are_consistent(tool: Tool) -> None:
    if tool.read_only:
        assert not tool.destructive
        assert tool.writes_catalogue is False
    if not callable(tool.scope) and tool.scope.value == "write":
        assert not tool.read_only


@each()
def test_an_unknown_argument_is_a_typed_error(tool: Tool) -> None:
    """Or, where a contract wants it so, a result that says what is missing.

    The dispatcher alone takes any argument, for its actions.
    """
    outcome = asyncio.run(APP.pipeline.run(Call(tool.name, {"no_such_argument_": 1}, local_user())))
    if outcome.rejected:
        assert tool.name in REJECTS_AS_RESULT
        return
    assert outcome.error is not None
    assert outcome.error.code.kind is Kind.INVALID_ARGUMENT
    assert outcome.error.hint


@each()
def test_violating_any_field_is_a_typed_error_and_never_a_defect(tool: Tool) -> None:
    """Each field gets values of every JSON type; what does not fit must be refused by a declared
    code.
    """
    described = describe(tool, APP.product.selection)["inputSchema"]["properties"]
    declared = {code.name for code in codes()}
    for name in described:
        for value in (
            None,
            True,
            -1,
            10**30,
            1.5,
            "\x00",
            "x" * 3000,
            [],
            [None],
            {},
            {"a": {"b": []}},
        ):
            outcome = asyncio.run(APP.pipeline.run(Call(tool.name, {name: value}, local_user())))
            if outcome.error is not None:
                assert outcome.error.code.name in declared
                assert outcome.error.code.kind is not Kind.INTERNAL, (
                    f"{tool.name}({name}={value!r}): {outcome.error.message}"
                )


def codes() -> tuple[Code, ...]:
    return (
        *kernel_errors.CODES,
        *storage_errors.CODES,
        *telemetry_errors.CODES,
        *APP.registry.codes(),
    )


def test_every_error_code_is_unique_mapped_and_explained() -> None:
    by_name: dict[str, Code] = {}
    for code in codes():
        assert by_name.setdefault(code.name, code) == code, f"{code.name} is declared twice"
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", code.name)
        assert code.kind in TABLE
        assert code.meaning.endswith(".")
    assert set(TABLE) == set(Kind)


def test_every_code_a_tool_names_is_declared() -> None:
    declared = set(codes())
    for tool in TOOLS:
        assert set(tool.errors) | set(tool.field_codes.values()) <= declared, tool.name


def test_no_bare_method_is_an_mcp_method() -> None:
    methods = {name for toolset in APP.registry.toolsets for name in toolset.bare}
    assert not methods & {
        "initialize",
        "ping",
        "tools/list",
        "tools/call",
        "shutdown",
        "exit",
        "server/discover",
    }
