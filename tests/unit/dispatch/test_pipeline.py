"""The one way a call runs."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from pydantic import Field, field_validator

from commonplace.dispatch.call import Call, Outcome
from commonplace.dispatch.pipeline import Pipeline
from commonplace.dispatch.registry import Registry, Selection, Toolset
from commonplace.dispatch.tool import Arguments, Context, Rejected, Tier, Tool
from commonplace.kernel.auth import AuthContext, Scope, Tenant, local_user
from commonplace.kernel.errors import Code, CommonplaceError, Kind

BAD_NAME = Code("BAD_NAME", Kind.INVALID_ARGUMENT, "The name is wrong.")
READER = AuthContext(Tenant("t"), frozenset({Scope.READ}), "reader")


class Input(Arguments):
    name: str = Field(default="x", max_length=5)
    count: int = 1

    @field_validator("count")
    @classmethod
    def _not_thirteen(cls, count: int) -> int:
        if count == 13:
            raise ValueError("13 brings bad luck")
        return count


def echo(context: Context, arguments: Input) -> dict[str, Any]:
    return {"name": arguments.name, "tenant": context.auth.tenant}


async def wait(context: Context, arguments: Input) -> dict[str, Any]:
    await asyncio.sleep(arguments.count)
    return {}


def explode(context: Context, arguments: Input) -> dict[str, Any]:
    raise RuntimeError("a secret the caller must not see")


def reject(context: Context, arguments: Input) -> Rejected:
    return Rejected({"created": False, "error": "missing entry"})


def operate(context: Context, arguments: Input) -> dict[str, Any]:
    """Run an operation as a batch does: the one that `name` spells, with `count`."""
    operation = OPERATIONS[arguments.name]
    context.admit(operation)
    context.admit(operation, Input(count=arguments.count))
    return {"done": operation.name}


def tool(name: str, handler: Any = echo, **changes: Any) -> Tool:
    return Tool(
        name,
        "sample",
        name.title(),
        name,
        Input,
        dict[str, Any],
        handler,
        field_codes={"name": BAD_NAME},
        **changes,
    )


TOOLS = (
    tool("echo", aliases=("sample/echo",), bare=("echo/bare",)),
    tool("wait", wait),
    tool("explode", explode),
    tool("reject", reject),
    tool("write", read_only=False, scope=Scope.WRITE),
    tool("catalogue", read_only=False, scope=Scope.WRITE, writes_catalogue=True),
    tool(
        "sometimes",
        read_only=False,
        scope=lambda arguments: Scope.WRITE if arguments.count > 1 else Scope.READ,
    ),
    tool("hidden", tier=Tier.EXTENDED),
    tool("operate", operate, tier=Tier.EXTENDED, read_only=False, scope=lambda _: Scope.READ),
)
OPERATIONS = {"echo": TOOLS[0], "write": TOOLS[4], "cat": TOOLS[5], "some": TOOLS[6]}
NAMES = frozenset(name for item in TOOLS for name in (item.name, *item.aliases, *item.bare))


def registry() -> Registry:
    return Registry([Toolset("sample", "Sample", NAMES, frozenset({"echo/bare"}), lambda: TOOLS)])


def run(
    name: str,
    arguments: dict[str, Any] | None = None,
    auth: AuthContext | None = None,
    pipeline: Pipeline | None = None,
    **call: Any,
) -> Outcome:
    return asyncio.run(
        (pipeline or Pipeline(registry())).run(
            Call(name, arguments or {}, auth or local_user(), **call)
        )
    )


def code(outcome: Outcome) -> str:
    assert outcome.error is not None
    return outcome.error.code.name


def test_a_call_reaches_its_handler_with_the_callers_tenant() -> None:
    assert run("echo", {"name": "ada"}, READER).output == {"name": "ada", "tenant": "t"}


def test_aliases_and_bare_names_reach_the_same_tool() -> None:
    assert run("sample/echo").output == run("echo").output == run("echo/bare", bare=True).output


def test_an_unknown_tool_names_the_nearest() -> None:
    outcome = run("ecko")
    assert code(outcome) == "UNKNOWN_TOOL"
    assert outcome.error is not None
    assert outcome.error.hint == "Did you mean echo?"


def test_a_listed_name_is_not_a_bare_method() -> None:
    assert code(run("write", bare=True)) == "UNKNOWN_METHOD"


def test_a_field_violation_carries_the_code_the_tool_declares() -> None:
    assert code(run("echo", {"name": "too long"})) == "BAD_NAME"
    assert code(run("echo", {"count": "many"})) == "INVALID_ARGUMENT"


def test_the_message_of_a_tools_own_check_is_kept() -> None:
    outcome = run("echo", {"count": 13})
    assert outcome.error is not None
    assert outcome.error.message == "count: 13 brings bad luck"


def test_an_unknown_argument_is_refused_and_the_known_ones_are_named() -> None:
    outcome = run("echo", {"nmae": "x"})
    assert code(outcome) == "INVALID_ARGUMENT"
    assert outcome.error is not None
    assert outcome.error.hint == "echo takes: count, name."


def test_a_defect_becomes_internal_with_a_trace_id_and_without_its_text() -> None:
    outcome = run("explode")
    assert code(outcome) == "INTERNAL"
    assert outcome.error is not None
    assert outcome.error.details == {"trace_id": outcome.trace_id}
    assert "secret" not in str(outcome.error.as_dict())


def test_a_reader_may_not_write() -> None:
    assert code(run("write", auth=READER)) == "SCOPE_REQUIRED"
    assert run("write").error is None


def test_a_scope_may_depend_on_the_arguments() -> None:
    assert run("sometimes", {"count": 1}, READER).error is None
    assert code(run("sometimes", {"count": 2}, READER)) == "SCOPE_REQUIRED"


def test_read_only_mode_refuses_writes_only() -> None:
    locked = Pipeline(registry(), read_only=True)
    assert code(run("write", pipeline=locked)) == "READ_ONLY"
    assert run("echo", pipeline=locked).error is None
    assert code(run("write", read_only=True)) == "READ_ONLY"


def test_the_catalogue_switch_is_read_at_every_call() -> None:
    state = {"on": False}
    pipeline = Pipeline(registry(), mutation_enabled=lambda: state["on"])
    refused = run("catalogue", pipeline=pipeline)
    assert code(refused) == "MUTATION_DISABLED"
    assert refused.error is not None
    assert "MCP_ENABLE_MUTATION" in (refused.error.hint or "")
    state["on"] = True
    assert run("catalogue", pipeline=pipeline).error is None


@pytest.mark.parametrize(
    ("operation", "named", "count"),
    [("write", "write", 1), ("cat", "catalogue", 1), ("some", "sometimes", 2)],
)
def test_an_operation_inside_a_call_is_refused_like_a_call_of_its_own(
    operation: str, named: str, count: int
) -> None:
    bearer = AuthContext(Tenant("b"), frozenset(Scope), "bearer", configured=False)
    closed, open_ = Pipeline(registry()), Pipeline(registry(), mutation_enabled=lambda: True)
    readers = Pipeline(registry(), read_only=True)
    for auth in (READER, bearer, local_user()):
        for pipeline in (closed, open_, readers):
            inside = run("operate", {"name": operation, "count": count}, auth, pipeline).error
            alone = run(named, {"count": count}, auth, pipeline).error
            assert (inside and inside.as_dict()) == (alone and alone.as_dict())


def test_an_operation_that_changes_something_makes_its_call_a_change() -> None:
    for operation, mutates in (("echo", False), ("write", True)):
        call = Call("operate", {"name": operation}, local_user())
        assert asyncio.run(Pipeline(registry()).run(call)).error is None
        assert call.mutates is mutates


def test_a_deadline_ends_a_waiting_call() -> None:
    begun = time.monotonic()
    outcome = run("wait", {"count": 30}, deadline=begun + 0.05)
    assert code(outcome) == "DEADLINE_EXCEEDED"
    assert time.monotonic() - begun < 10


def test_a_cancelled_call_is_recorded_and_stays_cancelled() -> None:
    seen: list[Outcome] = []

    class Recorder:
        def before(self, tool: Tool, call: Call) -> None:
            return None

        def after(self, call: Call, outcome: Outcome) -> None:
            seen.append(outcome)

    async def scenario() -> None:
        pipeline = Pipeline(registry(), recorder=Recorder())
        task = asyncio.create_task(pipeline.run(Call("wait", {"count": 30}, local_user())))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())
    assert [code(outcome) for outcome in seen] == ["CANCELLED"]


def test_a_contract_failure_is_a_result() -> None:
    outcome = run("reject")
    assert outcome.error is None
    assert outcome.rejected


def test_two_toolsets_cannot_claim_one_name() -> None:
    one = Toolset("one", "", frozenset({"same"}), frozenset(), tuple)
    with pytest.raises(ValueError, match="belongs to both"):
        Registry([one, Toolset("two", "", frozenset({"same"}), frozenset(), tuple)])


def test_a_toolset_must_declare_exactly_the_names_it_loads() -> None:
    with pytest.raises(ValueError, match="missing in toolset"):
        Registry([Toolset("sample", "", NAMES - {"hidden"}, frozenset(), lambda: TOOLS)]).all()
    with pytest.raises(ValueError, match="without a tool"):
        Registry([Toolset("sample", "", NAMES | {"ghost"}, frozenset(), lambda: TOOLS)]).all()


@pytest.mark.parametrize(
    ("selection", "listed"),
    [
        (Selection(), {"echo", "wait", "explode", "reject", "write", "catalogue", "sometimes"}),
        (
            Selection(all_tiers=True, exclude=frozenset({"sample/echo"})),
            {t.name for t in TOOLS} - {"echo"},
        ),
        (Selection(tools=frozenset({"hidden", "write"})), {"hidden", "write"}),
        (Selection(tools=frozenset({"hidden", "write"}), read_only=True), {"hidden"}),
        (Selection(toolsets=frozenset({"other"})), set()),
        (Selection(toolsets=frozenset({"other"}), tools=frozenset({"echo"})), {"echo"}),
    ],
)
def test_a_selection_lists_exactly_what_it_names(selection: Selection, listed: set[str]) -> None:
    assert {item.name for item in registry().listed(selection)} == listed


def test_errors_have_one_shape() -> None:
    error = CommonplaceError(BAD_NAME, "no", hint="do this", details={"a": 1}, retryable=True)
    assert error.as_dict() == {
        "code": "BAD_NAME",
        "message": "no",
        "hint": "do this",
        "details": {"a": 1},
        "retryable": True,
    }
