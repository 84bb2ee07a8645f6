"""Tools that run other tools: `dispatch` runs one action, `batch` runs several."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from inspect import isawaitable

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from commonplace.dispatch.call import unwrap
from commonplace.dispatch.error_table import rpc_object
from commonplace.dispatch.tool import Arguments, Context, Output, Tier, Tool
from commonplace.dispatch.validation import validate
from commonplace.instructions.errors import CATALOGUE_LIMIT, MISSING_ACTION, UNKNOWN_ACTION
from commonplace.instructions.fields import MAX_BATCH
from commonplace.instructions.names import ACTIONS
from commonplace.kernel.auth import Scope
from commonplace.kernel.errors import INTERNAL, INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import Json, JsonArray, JsonObject
from commonplace.kernel.progress import report_nothing
from commonplace.storage.failures import explain_failure

log = logging.getLogger("commonplace.instructions")

DOCUMENTATION = "docs/how-to/instructions.md"


class InstructionDispatchInput(Arguments):
    """Open: each action has its own arguments."""

    model_config = ConfigDict(extra="allow")

    action: Json = Field(default=None, description="What to do.")


class InstructionBatchInput(Arguments):
    operations: JsonArray | None = Field(
        default=None, description="Operations: {action, ...its arguments}."
    )
    ops: JsonArray | None = Field(default=None, description="Older name of operations.")

    def all(self) -> JsonArray:
        """Return the operations. Raises INVALID_ARGUMENT or CATALOGUE_LIMIT."""
        if (self.operations is None) == (self.ops is None):
            raise CommonplaceError(
                INVALID_ARGUMENT,
                "operations: give a list of operations.",
                details={"field": "operations"},
            )
        operations = self.operations if self.operations is not None else self.ops
        assert operations is not None
        if len(operations) > MAX_BATCH:
            raise CommonplaceError(
                CATALOGUE_LIMIT,
                f"A batch has at most {MAX_BATCH} operations; this one has {len(operations)}.",
                hint="Split it.",
                details={
                    "field": "operations",
                    "limit": "maxBatchSize",
                    "maximum": MAX_BATCH,
                    "actual": len(operations),
                },
            )
        return operations


class InstructionBatchOutput(TypedDict):
    results: list[JsonObject]


class ActionDispatcher:
    """Maps actions to tools, which define the arguments, scope and switch of each action."""

    def __init__(self, tools: Mapping[str, Tool]) -> None:
        self.tools = dict(tools)

    def tool(self, action: object) -> Tool:
        """Return the tool of an action. Raises MISSING_ACTION or UNKNOWN_ACTION."""
        hint = f"Actions: {', '.join(self.tools)}."
        if action is None or action == "":
            raise CommonplaceError(
                MISSING_ACTION,
                "Give an action.",
                hint=hint,
                details={
                    "field": "action",
                    "reason": "missing_action",
                    "documentation": DOCUMENTATION,
                },
            )
        found = self.tools.get(action) if isinstance(action, str) else None
        if found is None:
            shown = str(action)[:128]
            raise CommonplaceError(
                UNKNOWN_ACTION,
                f"Unknown action: {shown}",
                hint=hint,
                details={"action": shown, "documentation": DOCUMENTATION},
            )
        return found

    def reached_tools(self, arguments: Mapping[str, Json]) -> tuple[str, ...]:
        """Name the tool behind the action of an unvalidated call."""
        action = arguments.get("action")
        tool = self.tools.get(action) if isinstance(action, str) else None
        return () if tool is None else (tool.name,)

    def scope(self, args: InstructionDispatchInput) -> Scope:
        """Return the scope that the action needs."""
        tool = self.tool(args.action)
        return tool.scope(self._arguments(args, tool)) if callable(tool.scope) else tool.scope

    def writes_catalogue(self, args: InstructionDispatchInput) -> bool:
        """Tell whether the action changes the catalogue."""
        tool = self.tool(args.action)
        writes = tool.writes_catalogue
        return writes(self._arguments(args, tool)) if callable(writes) else writes

    def run(self, ctx: Context, args: InstructionDispatchInput) -> Output | Awaitable[Output]:
        """Run an action."""
        tool = self.tool(args.action)
        return tool.handler(ctx, self._arguments(args, tool))

    def _arguments(self, args: InstructionDispatchInput, tool: Tool) -> Json:
        return self._validate(args.action, tool, args.model_extra or {})

    def _validate(self, action: str, tool: Tool, arguments: Mapping[str, Json]) -> Json:
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

    async def run_batch(self, ctx: Context, args: InstructionBatchInput) -> JsonObject:
        """Run operations in order; a failure does not stop the others."""
        results, operations = [], args.all()
        for number, operation in enumerate(operations):
            ctx.report("Operations done", number, len(operations))
            inner = replace(ctx, report=report_nothing)  # its own steps are not those of the batch
            results.append(await self._try_operation(inner, operation))
        return {"results": results}

    async def _try_operation(self, ctx: Context, operation: Json) -> Json:
        try:
            return await self._run_operation(ctx, operation)
        except CommonplaceError as error:
            return {"error": rpc_object(error)}
        except Exception as error:  # a defect in one operation must not hide the other results
            explained = explain_failure(error)
            if explained is not None:
                return {"error": rpc_object(explained)}
            log.exception("an operation of a batch failed (trace %s)", ctx.trace_id)
            failure = CommonplaceError(
                INTERNAL,
                "The server failed on this operation. It is a defect, not your input.",
                hint=f"Look for trace {ctx.trace_id} in the server's log and report it.",
                details={"trace_id": ctx.trace_id},
            )
            return {"error": rpc_object(failure)}

    async def _run_operation(self, ctx: Context, operation: Json) -> Json:
        ctx.check_deadline()
        action, arguments = _split_operation(operation)
        if action == "batch":
            raise CommonplaceError(
                INVALID_ARGUMENT,
                "A batch cannot contain a batch.",
                hint="List the operations of both in one batch.",
                details={"action": "batch"},
            )
        tool = self.tool(action)
        ctx.admit(tool)
        validated = self._validate(action, tool, arguments)
        ctx.admit(tool, validated)
        output = tool.handler(ctx, validated)
        return unwrap(await output if isawaitable(output) else output)


def _split_operation(operation: Json) -> tuple[Json, JsonObject]:
    if not isinstance(operation, dict) or not all(isinstance(key, str) for key in operation):
        raise CommonplaceError(
            INVALID_ARGUMENT,
            "Each operation is an object with an action.",
            details={"field": "operations"},
        )
    return operation.get("action"), {
        key: value for key, value in operation.items() if key != "action"
    }


def tools(actions: Mapping[str, Tool]) -> tuple[Tool, Tool]:
    """Return `instructions_dispatch` over these actions and `batch`, and `instructions_batch`.

    The dispatcher lists its actions in the order of `ACTIONS`.
    """
    dispatcher = ActionDispatcher(actions)
    batch = batch_tool(dispatcher)
    dispatcher.tools = {
        action: batch if action == "batch" else actions[action] for action in ACTIONS
    }
    return dispatch_tool(dispatcher), batch


def batch_tool(dispatcher: ActionDispatcher) -> Tool:
    """`instructions_batch`"""
    return Tool(
        name="instructions_batch",
        toolset="instructions",
        title="Several actions at once",
        description="Run up to 100 dispatch actions in order; a failure does not stop the others.",
        input=InstructionBatchInput,
        output=InstructionBatchOutput,
        handler=dispatcher.run_batch,
        tier=Tier.EXTENDED,
        bare=("instructions/batch",),
        read_only=False,
        destructive=True,
        idempotent=False,
        scope=lambda args: Scope.READ,  # each operation needs its own
        errors=(CATALOGUE_LIMIT,),
        large=True,
    )


def dispatch_tool(dispatcher: ActionDispatcher) -> Tool:
    """`instructions_dispatch`"""
    schema = {
        "type": "object",
        "properties": {
            "action": {
                "type": "string",
                "enum": list(dispatcher.tools),
            }
        },
        "required": ["action"],
        "additionalProperties": True,
    }
    return Tool(
        name="instructions_dispatch",
        toolset="instructions",
        title="Instruction catalogue",
        description=(
            "Run any action on the instruction catalogue; its own arguments stand beside `action`."
        ),
        input=InstructionDispatchInput,
        output=JsonObject,
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
        reaches=dispatcher.reached_tools,
        large=True,
    )
