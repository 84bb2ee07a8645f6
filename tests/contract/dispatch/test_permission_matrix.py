"""Tool x caller x switches, generated from the registry: who may do what, each outcome asserted."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from commonplace.bootstrap.app import App, build
from commonplace.dispatch.call import Call
from commonplace.dispatch.pipeline import Pipeline
from commonplace.dispatch.schema import input_schema
from commonplace.dispatch.tool import Tool
from commonplace.edge.authenticate import Authenticator
from commonplace.kernel.auth import AuthContext, Scope
from commonplace.kernel.errors import CommonplaceError, Kind
from commonplace.kernel.settings import AuthSettings, McpSettings, OpenApiSettings, Settings
from commonplace.storage.credentials.keys import KeyStore

DATA = Path(tempfile.mkdtemp())
OUT = DATA / "out"
OUT.mkdir()
APP: App = build(
    Settings(data=DATA, mcp=McpSettings(openapi=OpenApiSettings(roots=(str(OUT),)))),
    environ={},
    local=False,
)
TOOLS = APP.registry.all()
PERMISSION_KINDS = (Kind.PERMISSION, Kind.EXCLUDED, Kind.MUTATION_OFF, Kind.UNAUTHENTICATED)

OPEN_WRITES = frozenset({"feedback_submit", "usage_track"})
"""Tools that change something and are open to every reader (decisions: Tenants, keys, switches)."""

ENTRY = {
    "id": "matrix-entry",
    "title": "Matrix",
    "body": "Do it.",
    "priority": 50,
    "audience": "all",
    "requirement": "optional",
}
SPEC = {
    "content": json.dumps({"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "paths": {}})
}
OVERLAY = {
    "content": json.dumps(
        {
            "overlay": "1.0.0",
            "info": {"title": "o", "version": "1"},
            "actions": [{"target": "$.info", "update": {}}],
        }
    )
}
FILE = {"output": str(OUT / "written.json")}


def either(
    arguments: Mapping[str, Any], written: Mapping[str, Any]
) -> tuple[Mapping[str, Any], ...]:
    return arguments, {**arguments, **written}


SAMPLES: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    # tools whose scope depends on their arguments (one sample for each scope), or whose schema
    # alone does not show a valid call
    "instructions_dispatch": (
        {"action": "list"},
        {"action": "add", "entry": ENTRY, "lax": True},
        {"action": "remove", "ids": ["absent"]},
    ),
    "instructions_batch": (
        {"operations": [{"action": "list"}]},
        {"operations": [{"action": "remove", "ids": ["absent"]}]},
    ),
    "instructions_remove": ({"ids": ["absent"]},),
    "memory_decide": ({"decision": "reject"}, {"decision": "reject", "dry_run": True}),
    "memory_purge": ({"older_than_days": 0}, {"older_than_days": 0, "dry_run": True}),
    "instructions_groom": ({"mode": {"dryRun": True}}, {}),
    "instructions_repair": ({"clientHash": "0" * 64}, {}),
    "memory_promote": (
        {"entries": ["01ARZ3NDEKTSV4RRFFQ69G5FAV"]},
        {"entries": ["01ARZ3NDEKTSV4RRFFQ69G5FAV"], "preview_hash": "0" * 32},
    ),
    "oas_fix": either({"spec": SPEC}, FILE),
    "oas_convert": either({"spec": SPEC, "target": "3.1"}, FILE),
    "oas_join": either({"specs": [SPEC, SPEC], "path_strategy": "accept-left"}, FILE),
    "oas_overlay_apply": either({"spec": SPEC, "overlay": OVERLAY}, FILE),
    "oas_bundle": either({"spec": SPEC}, FILE),
    "oas_generate": either(
        {"spec": SPEC, "include_files": True, "types": True}, {"output_dir": str(OUT / "generated")}
    ),
}


def sample(schema: Mapping[str, Any]) -> Any:
    """A small value that a schema's own words allow."""
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    for branches in ("anyOf", "oneOf"):
        if schema.get(branches):
            return sample(schema[branches][0])
    kind = schema.get("type")
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: sample(properties.get(name, {})) for name in schema.get("required", ())}
    if kind == "array":
        return [sample(schema.get("items", {})) for _ in range(schema.get("minItems", 0))]
    if kind in ("integer", "number"):
        return max(schema.get("minimum", 1), 1)
    if kind == "boolean":
        return False
    return "/matrix"[: schema.get("maxLength", 7)].ljust(schema.get("minLength", 0), "x")


def samples(tool: Tool) -> tuple[Mapping[str, Any], ...]:
    return SAMPLES.get(tool.name) or (sample(tool.input_schema or input_schema(tool.input)),)


def callers() -> dict[str, AuthContext]:
    """One caller for each mode and scope, made by the code that serves requests."""
    store = KeyStore(DATA / "keys.json")
    made = {"none": Authenticator(AuthSettings(), store).authenticate({})}
    keyed = Authenticator(AuthSettings(mode="keys"), store)
    for scope in Scope:
        _, token = store.add(f"team-{scope.value}", scope.value, scope)
        made[f"keys:{scope.value}"] = keyed.authenticate({"authorization": f"Bearer {token}"})
    passing = Authenticator(AuthSettings(mode="passthrough"), store)
    made["passthrough"] = passing.authenticate({"authorization": "Bearer sk-somebodys-own"})
    return made


CALLERS = callers()


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as made:
        yield made
    APP.close()


def declared(tool: Tool, arguments: Mapping[str, Any]) -> tuple[Scope, bool] | None:
    """Scope and catalogue gate of a call as the tool declares them; None where only valid
    arguments would tell.
    """
    try:
        parsed = tool.input.model_validate(arguments)
    except ValueError:
        if callable(tool.scope) or callable(tool.writes_catalogue):
            return None
        return tool.scope, tool.writes_catalogue
    scope = tool.scope(parsed) if callable(tool.scope) else tool.scope
    gated = (
        tool.writes_catalogue(parsed) if callable(tool.writes_catalogue) else tool.writes_catalogue
    )
    return scope, gated


def expected(
    tool: Tool, scope: Scope, gated: bool, caller: AuthContext, *, mutation: bool, read_only: bool
) -> str | None:
    """The refusal, or None: the decisions' rules, said once more and independently of the
    pipeline.
    """
    allowed = {
        "none": {"read", "write", "admin"},
        "read": {"read"},
        "write": {"read", "write"},
        "admin": {"read", "write", "admin"},
    }
    name = "write" if not caller.configured else "none" if caller.key_id is None else caller.label
    if scope.value not in allowed[name]:
        return "SCOPE_REQUIRED"
    if read_only and not tool.read_only and (scope is not Scope.READ or tool.name in OPEN_WRITES):
        return "READ_ONLY"
    if gated and not caller.configured:
        return "SCOPE_REQUIRED"
    if gated and not mutation:
        return "MUTATION_DISABLED"
    return None


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_each_caller_may_do_exactly_what_the_tool_declares(
    tool: Tool, runner: asyncio.Runner
) -> None:
    checked = 0
    for arguments in samples(tool):
        known = declared(tool, arguments)
        assert known is not None, f"SAMPLES needs valid arguments for {tool.name}: {arguments}"
        for caller_name, caller in CALLERS.items():
            for mutation in (False, True):
                for read_only in (False, True):
                    pipeline = Pipeline(
                        APP.registry, mutation_enabled=lambda on=mutation: on, read_only=read_only
                    )
                    outcome = runner.run(pipeline.run(Call(tool.name, arguments, caller)))
                    wanted = expected(tool, *known, caller, mutation=mutation, read_only=read_only)
                    _check(
                        outcome.error,
                        wanted,
                        f"{tool.name} by {caller_name}, mutation {mutation}, read-only {read_only}",
                    )
                    checked += 1
    assert checked == len(samples(tool)) * len(CALLERS) * 4


def _check(error: CommonplaceError | None, wanted: str | None, what: str) -> None:
    got = error.code.name if error is not None else None
    if wanted is not None:
        assert got == wanted, what
    elif error is not None:
        assert (
            error.code.kind not in (*PERMISSION_KINDS, Kind.INTERNAL)
            or error.code.name == "PERMISSION_DENIED"
        ), f"{what}: {error.message}"


@pytest.mark.parametrize(
    "tool", [tool for tool in TOOLS if not tool.read_only], ids=lambda tool: tool.name
)
def test_a_tool_that_writes_requires_write(tool: Tool) -> None:
    if tool.name in OPEN_WRITES:
        assert tool.scope is Scope.READ
    else:
        assert callable(tool.scope) or tool.scope in (Scope.WRITE, Scope.ADMIN)


def test_samples_cover_each_scope_of_a_tool_whose_scope_varies() -> None:
    for tool in TOOLS:
        if (
            callable(tool.scope) and tool.name != "instructions_batch"
        ):  # whose operations need their own scopes
            scopes = {
                found[0]
                for arguments in samples(tool)
                if (found := declared(tool, arguments)) is not None
            }
            assert len(scopes) > 1, f"SAMPLES of {tool.name} show only {scopes}"


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_name_of_a_tool_requires_the_same_scope(tool: Tool, runner: asyncio.Runner) -> None:
    nobody = replace(CALLERS["keys:read"], scopes=frozenset())
    for name in (tool.name, *tool.aliases):
        error = runner.run(APP.pipeline.run(Call(name, samples(tool)[0], nobody))).error
        assert error is not None
        assert error.code.name == "SCOPE_REQUIRED" or callable(tool.scope)
    for name in tool.bare:
        error = runner.run(APP.pipeline.run(Call(name, samples(tool)[0], nobody, bare=True))).error
        assert error is not None
        assert error.code.name == "SCOPE_REQUIRED" or callable(tool.scope)
