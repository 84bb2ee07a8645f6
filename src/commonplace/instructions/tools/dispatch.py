"""instructions_dispatch: every action behind one name, and `batch`, which runs several with each
failure kept to itself.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Mapping, Sequence
from inspect import isawaitable
from typing import Any

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from commonplace.dispatch.call import unwrap
from commonplace.dispatch.error_table import rpc_object
from commonplace.dispatch.tool import Arguments, Context, Output, Tier, Tool
from commonplace.dispatch.validation import validate
from commonplace.instructions.errors import CATALOGUE_LIMIT, MISSING_ACTION, UNKNOWN_ACTION
from commonplace.instructions.model import MAX_BATCH
from commonplace.instructions.service import Service
from commonplace.kernel.auth import Scope
from commonplace.kernel.errors import (
    INTERNAL,
    INVALID_ARGUMENT,
    MUTATION_DISABLED,
    SCOPE_REQUIRED,
    CommonplaceError,
)
from commonplace.storage.failures import explain_failure

log = logging.getLogger("commonplace.instructions")

DOCUMENTATION = "docs/how-to/instructions.md"


class DispatchArguments(Arguments):
    """Open: each action has its own arguments."""

    model_config = ConfigDict(extra="allow")

    action: Any = Field(default=None, description="What to do.")


class BatchArguments(Arguments):
    operations: list[Any] | None = Field(
        default=None, description="Operations: {action, ...its arguments}."
    )
    ops: list[Any] | None = Field(default=None, description="Older name of operations.")

    def all(self) -> list[Any]:
        if (self.operations is None) == (self.ops is None):
            raise CommonplaceError(
                INVALID_ARGUMENT,
                "operations: give a list of operations.",
                details={"field": "operations"},
            )
        listed = self.operations if self.operations is not None else self.ops
        assert listed is not None
        if len(listed) > MAX_BATCH:
            raise CommonplaceError(
                CATALOGUE_LIMIT,
                f"A batch has at most {MAX_BATCH} operations; this one has {len(listed)}.",
                hint="Split it.",
                details={
                    "field": "operations",
                    "limit": "maxBatchSize",
                    "maximum": MAX_BATCH,
                    "actual": len(listed),
                },
            )
        return listed


class BatchOutput(TypedDict):
    results: list[dict[str, Any]]


class Dispatcher:
    """Actions to tools. Arguments, scope and switch of an action are those of its tool."""

    def __init__(self, service: Service, tools: Mapping[str, Tool]) -> None:
        self._service = service
        self._tools = dict(tools)
        self.actions: tuple[str, ...] = ()

    def add(self, action: str, tool: Tool) -> None:
        self._tools[action] = tool

    def tool(self, action: object) -> Tool:
        if action is None or action == "":
            raise CommonplaceError(
                MISSING_ACTION,
                "Give an action.",
                hint=f"Actions: {', '.join(self.actions)}.",
                details={
                    "field": "action",
                    "reason": "missing_action",
                    "documentation": DOCUMENTATION,
                },
            )
        found = self._tools.get(action) if isinstance(action, str) else None
        if found is None:
            shown = str(action)[:128]
            raise CommonplaceError(
                UNKNOWN_ACTION,
                f"Unknown action: {shown}",
                hint=f"Actions: {', '.join(self.actions)}.",
                details={"action": shown, "documentation": DOCUMENTATION},
            )
        return found

    def reaches(self, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        """Name the tool behind the action of an unvalidated call."""
        action = arguments.get("action")
        tool = self._tools.get(action) if isinstance(action, str) else None
        return () if tool is None else (tool.name,)

    def split(self, args: DispatchArguments) -> tuple[str, Tool, Any]:
        """The action, its tool, and its validated arguments."""
        tool = self.tool(args.action)
        return args.action, tool, self.validated(args.action, tool, args.model_extra or {})

    def validated(self, action: str, tool: Tool, arguments: Mapping[str, Any]) -> Any:
        try:
            return validate(tool, arguments)
        except CommonplaceError as error:
            details = {
                **error.details,
                "action": action,
                "validation": error.details.get("fields", []),
                "documentation": DOCUMENTATION,
            }
            raise CommonplaceError(
                error.code, f"{action}: {error.message}", hint=error.hint, details=details
            ) from None

    def scope(self, args: DispatchArguments) -> Scope:
        tool = self.tool(args.action)
        return tool.scope(self.split(args)[2]) if callable(tool.scope) else tool.scope

    def writes_catalogue(self, args: DispatchArguments) -> bool:
        tool = self.tool(args.action)
        return (
            tool.writes_catalogue(self.split(args)[2])
            if callable(tool.writes_catalogue)
            else tool.writes_catalogue
        )

    def run(self, ctx: Context, args: DispatchArguments) -> Output | Awaitable[Output]:
        _, tool, arguments = self.split(args)
        return tool.handler(ctx, arguments)

    # batch

    async def batch(self, ctx: Context, args: BatchArguments) -> dict[str, Any]:
        return {"results": [await self._one(ctx, operation) for operation in args.all()]}

    async def _one(self, ctx: Context, operation: Any) -> Any:
        try:
            ctx.check_deadline()
            action, arguments = _operation(operation)
            if action == "batch":
                raise CommonplaceError(
                    INVALID_ARGUMENT, "A batch cannot hold a batch.", details={"action": "batch"}
                )
            tool = self.tool(action)
            ctx.admit(tool)
            if tool.writes_catalogue is True:  # before its arguments are looked at
                self._gate(ctx, tool, None)
            validated = self.validated(action, tool, arguments)
            self._gate(ctx, tool, validated)
            output = tool.handler(ctx, validated)
            finished = await output if isawaitable(output) else output
            return unwrap(finished)
        except CommonplaceError as error:
            return {"error": rpc_object(error)}
        except Exception as error:  # a defect in one must not hide what the others did
            explained = explain_failure(error)
            if explained is not None:
                return {"error": rpc_object(explained)}
            log.exception("an operation of a batch failed (trace %s)", ctx.trace_id)
            failed = CommonplaceError(
                INTERNAL,
                "The server failed on this operation. It is a defect, not your input.",
                hint=f"Look for trace {ctx.trace_id} in the server's log and report it.",
                details={"trace_id": ctx.trace_id},
            )
            return {"error": rpc_object(failed)}

    def _gate(self, ctx: Context, tool: Tool, arguments: Any) -> None:
        """What the pipeline asks of a single call."""
        gated = (
            tool.writes_catalogue(arguments)
            if callable(tool.writes_catalogue)
            else tool.writes_catalogue
        )
        scope = tool.scope(arguments) if callable(tool.scope) else tool.scope
        ctx.admit(tool, scope)
        if gated and not ctx.auth.configured:
            raise CommonplaceError(
                SCOPE_REQUIRED,
                f"This key may not {scope.value}.",
                details={"required": scope.value},
            )
        if gated and not self._service.mutation_enabled():
            raise CommonplaceError(
                MUTATION_DISABLED,
                "Mutation is disabled: this server's instruction catalogue is read-only.",
                hint="Set MCP_ENABLE_MUTATION=1 in the server's environment and restart it.",
            )


def _operation(operation: Any) -> tuple[Any, dict[str, Any]]:
    if not isinstance(operation, dict) or not all(isinstance(key, str) for key in operation):
        raise CommonplaceError(
            INVALID_ARGUMENT,
            "Each operation is an object with an action.",
            details={"field": "operations"},
        )
    return operation.get("action"), {
        key: value for key, value in operation.items() if key != "action"
    }


def tools(service: Service, tools: Mapping[str, Tool], actions: Sequence[str]) -> tuple[Tool, Tool]:
    """The dispatcher over these actions, and batch, which is one of them."""
    dispatcher = Dispatcher(service, tools)
    dispatcher.actions = tuple(actions)
    batch = Tool(
        name="instructions_batch",
        toolset="instructions",
        title="Several actions at once",
        description="Run up to 100 dispatch actions in order; a failure stays in its place and "
        "the others go on.",
        input=BatchArguments,
        output=BatchOutput,
        handler=dispatcher.batch,
        tier=Tier.EXTENDED,
        bare=("instructions/batch",),
        read_only=False,
        destructive=True,
        idempotent=False,
        scope=lambda args: Scope.READ,  # each operation needs its own
        errors=(CATALOGUE_LIMIT,),
    )
    dispatcher.add("batch", batch)
    schema = {
        "type": "object",
        "properties": {
            "action": {
                "type": "string",
                "enum": list(actions),
                "description": "What to do; the other arguments are those of the action.",
            }
        },
        "required": ["action"],
        "additionalProperties": True,
    }
    dispatch = Tool(
        name="instructions_dispatch",
        toolset="instructions",
        title="Instruction catalogue",
        description=(
            "Every action on the instruction catalogue behind one name, with the action's own "
            "arguments beside `action`: "
            "list, get, search, query, categories, diff, export, add, import, remove, groom, "
            "batch and more."
        ),
        input=DispatchArguments,
        output=dict[str, Any],
        output_schema={"type": "object", "properties": {}},
        input_schema=schema,
        handler=dispatcher.run,
        bare=("instructions/dispatch",),
        read_only=False,
        destructive=True,
        idempotent=False,
        scope=dispatcher.scope,
        writes_catalogue=dispatcher.writes_catalogue,
        frees_space=lambda args: args.action == "remove",
        errors=(UNKNOWN_ACTION, MISSING_ACTION),
        reaches=dispatcher.reaches,
    )
    return dispatch, batch
