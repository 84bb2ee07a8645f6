"""The one way a call runs: resolve, authorize, limit, validate, run, record.

Synchronous handlers finish inside `start`; for the others `start` returns a coroutine that the edge
owns as a task.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Any, Protocol

from pydantic import BaseModel

from commonplace.dispatch.registry import EVERYTHING_LISTED, Registry, Selection
from commonplace.dispatch.tool import (
    SILENT,
    ClientChannel,
    Context,
    Output,
    RawResult,
    Rejected,
    Tool,
    out_of_time,
)
from commonplace.dispatch.validation import validate
from commonplace.dispatch.warnings import hidden_in, with_warnings
from commonplace.kernel.auth import AuthContext, Scope
from commonplace.kernel.errors import (
    CANCELLED,
    INTERNAL,
    MUTATION_DISABLED,
    READ_ONLY,
    SCOPE_REQUIRED,
    TOOL_EXCLUDED,
    CommonplaceError,
)
from commonplace.kernel.json.document import decode_documents
from commonplace.storage.failures import explain_failure, is_disk_full

log = logging.getLogger("commonplace.dispatch")


@dataclass(slots=True)
class Call:
    """One request, whichever way it came in."""

    name: str
    arguments: Mapping[str, Any]
    auth: AuthContext
    bare: bool = False
    from_agent: bool = (
        False  # a tools/call of a client, whose answer goes into the context of a model
    )
    read_only: bool = False
    selection: Selection | None = (
        None  # what this request narrows the server to; None: the server's own selection
    )
    deadline: float | None = None
    channel: ClientChannel = SILENT
    meta: Mapping[str, Any] = field(default_factory=dict)
    trace_id: str = ""
    own: Tool | None = None  # a change that only its caller makes, and no registry lists
    tool: Tool | None = None  # the registry's tool, where the edge has resolved the name
    # set by the pipeline once the arguments are known: a dispatcher's read is not a change
    mutates: bool = False
    # set by the pipeline when the handler is reached: until then nothing can have changed
    handled: bool = False


@dataclass(slots=True)
class Outcome:
    """What came of a call: an output or an error, and how long it took."""

    tool: Tool | None
    output: Output | None
    error: CommonplaceError | None
    duration_seconds: float
    trace_id: str
    warnings: tuple[str, ...] = ()  # about what was written; the output holds them too

    @property
    def rejected(self) -> bool:
        return isinstance(self.output, Rejected)


class Recorder(Protocol):
    """Told of every finished call: metrics, audit, traces. May refuse a mutation before it runs."""

    def before(self, tool: Tool, call: Call) -> None: ...

    def after(self, call: Call, outcome: Outcome) -> None: ...


class Limiter(Protocol):
    """Raises CALL_RATE_LIMITED when the caller is over its rate; what it returns is awaited
    before the call runs.
    """

    def admit(self, auth: AuthContext) -> Callable[[], Awaitable[None]] | None: ...


class NoRecorder:
    def before(self, tool: Tool, call: Call) -> None:
        return None

    def after(self, call: Call, outcome: Outcome) -> None:
        return None


class NoLimiter:
    def admit(self, auth: AuthContext) -> None:
        return None


class Pipeline:
    """Runs calls against a registry.

    `mutation_enabled` is read per call, so that a switch takes effect at once.
    """

    def __init__(
        self,
        registry: Registry,
        *,
        mutation_enabled: Callable[[], bool] = lambda: False,
        read_only: bool = False,
        selection: Selection = EVERYTHING_LISTED,
        recorder: Recorder | None = None,
        limiter: Limiter | None = None,
        default_timeout_seconds: float | None = None,
        make_room: Callable[[], bool] = lambda: False,
    ) -> None:
        """`make_room` releases space held back for deletions; false where there is none."""
        self._make_room = make_room
        self.registry = registry
        self._mutation_enabled = mutation_enabled
        self.read_only = read_only
        self.selection = selection
        self._recorder: Recorder = recorder or NoRecorder()
        self._limiter: Limiter = limiter or NoLimiter()
        self._default_timeout_seconds = default_timeout_seconds

    def over(self, registry: Registry) -> Pipeline:
        """The same rules, records and limits over other tools."""
        other = copy.copy(self)
        other.registry = registry
        return other

    async def run(self, call: Call) -> Outcome:
        """Run a call to its end."""
        started = self.start(call)
        return started if isinstance(started, Outcome) else await started

    def start(self, call: Call) -> Outcome | Coroutine[Any, Any, Outcome]:
        begun = time.perf_counter()
        call.trace_id = call.trace_id or secrets.token_hex(8)
        if call.deadline is None and self._default_timeout_seconds is not None:
            call.deadline = time.monotonic() + self._default_timeout_seconds
        tool: Tool | None = None
        try:
            tool = call.own or call.tool or self._resolve(call)
            admit = functools.partial(self._admit, call, tool)
            if call.own is None:
                self._admit_all(call, tool)
            if not callable(tool.scope):
                _authorize(call.auth, tool.scope)
                self._refuse_changes(call, tool, tool.scope)
            admission = self._limiter.admit(call.auth)
            if tool.writes_catalogue is True:  # before its arguments, as contract 000 draws it
                self._open_catalogue(call.auth)
            arguments = validate(tool, call.arguments)
            self._authorize_arguments(tool, call, arguments)
            compact = call.from_agent and call.name == tool.name
            context = Context(
                call.auth, call.trace_id, call.channel, call.deadline, call.meta, admit, compact
            )
            if tool.frees_space and (tool.frees_space is True or tool.frees_space(arguments)):
                return self._finish(
                    call, tool, self._delete(admission, call, tool, context, arguments), begun
                )
            self._recorder.before(tool, call)
            if admission is not None:
                return self._finish(
                    call, tool, _admitted(admission, call, tool, context, arguments), begun
                )
            call.handled = True
            output = tool.handler(context, arguments)
            if type(output) is not dict and isawaitable(
                output
            ):  # the common answer first: this is the hottest line
                return self._finish(call, tool, output, begun)
            return self._done(call, tool, output, None, begun)
        except CommonplaceError as error:
            return self._done(call, tool, None, error, begun)
        except Exception as error:  # the one place where a defect becomes an answer
            return self._done(call, tool, None, _internal(error, call), begun)

    def _resolve(self, call: Call) -> Tool:
        return self.registry.bare(call.name) if call.bare else self.registry.tool(call.name)

    async def _finish(
        self, call: Call, tool: Tool, output: Awaitable[Output], begun: float
    ) -> Outcome:
        try:
            left = None if call.deadline is None else max(0.0, call.deadline - time.monotonic())
            async with asyncio.timeout(left):
                finished = await output
            return self._done(call, tool, finished, None, begun)
        except CommonplaceError as error:
            return self._done(call, tool, None, error, begun)
        except TimeoutError:
            return self._done(call, tool, None, out_of_time(), begun)
        except asyncio.CancelledError:
            self._done(
                call, tool, None, CommonplaceError(CANCELLED, "The call was cancelled."), begun
            )
            raise
        except Exception as error:
            return self._done(call, tool, None, _internal(error, call), begun)

    async def _delete(
        self,
        admission: Callable[[], Awaitable[None]] | None,
        call: Call,
        tool: Tool,
        context: Context,
        arguments: Any,
    ) -> Output:
        """Run a call that deletes; on a full disk once more, in the space that is held back for
        it.
        """
        if admission is not None:
            await admission()
        try:
            return await self._attempt(call, tool, context, arguments)
        except Exception as failed:
            if not is_disk_full(failed) or not self._make_room():
                raise
        return await self._attempt(call, tool, context, arguments)

    async def _attempt(self, call: Call, tool: Tool, context: Context, arguments: Any) -> Output:
        self._recorder.before(tool, call)
        call.handled = True
        output = tool.handler(context, arguments)
        return await output if isawaitable(output) else output

    def _authorize_arguments(self, tool: Tool, call: Call, arguments: Any) -> None:
        scope = tool.scope(arguments) if callable(tool.scope) else tool.scope
        _authorize(call.auth, scope)
        self._refuse_changes(call, tool, scope)
        call.mutates = _changes(tool, scope)
        if callable(tool.writes_catalogue) and tool.writes_catalogue(arguments):
            self._open_catalogue(call.auth)

    def _admit_all(self, call: Call, tool: Tool) -> None:
        """Refuse a call of an excluded tool, or one whose arguments would use an excluded tool."""
        self._admit_name(call, tool, tool)
        if tool.reaches is not None:
            for name in tool.reaches(call.arguments):
                used = self.registry.find(name)
                if used is not None:
                    self._admit(call, tool, used)

    def _admit(self, call: Call, through: Tool, tool: Tool, scope: Scope | None = None) -> None:
        """Refuse a tool that is reached through the one that the call names.

        `scope` is what an operation inside a call needs. A call with an operation that changes
        something is recorded as a change.
        """
        self._admit_name(call, through, tool)
        needed = scope if scope is not None or callable(tool.scope) else tool.scope
        if needed is None:
            return
        if scope is not None and _changes(tool, scope) and not call.mutates:
            call.mutates = True
            self._recorder.before(tool, call)
        _authorize(call.auth, needed)
        self._refuse_changes(call, tool, needed)

    def _admit_name(self, call: Call, through: Tool, tool: Tool) -> None:
        if (call.selection or self.selection).permits(tool, through):
            return
        by_server = not self.selection.permits(tool, through)
        raise CommonplaceError(
            TOOL_EXCLUDED,
            f"{tool.name} is excluded "
            f"{'on this server' if by_server else 'by the headers of this request'}.",
            hint=(
                "Use another tool, or start the server without the --toolsets, --tools or "
                "--exclude-tools that exclude it."
                if by_server
                else "Change the X-MCP-Toolsets, X-MCP-Tools or X-MCP-Exclude-Tools header."
            ),
            details={"tool": tool.name},
        )

    def _refuse_changes(self, call: Call, tool: Tool, scope: Scope) -> None:
        if (self.read_only or call.read_only) and _changes(tool, scope):
            raise CommonplaceError(
                READ_ONLY,
                f"{tool.name} writes, and this {'server' if self.read_only else 'request'} is "
                f"read-only.",
                hint="Start the server without --read-only."
                if self.read_only
                else "Drop the X-MCP-Readonly header.",
            )

    def _open_catalogue(self, auth: AuthContext) -> None:
        """Refuse a change of the instruction catalogue by a stranger, or while it is closed."""
        if not auth.configured:
            raise CommonplaceError(
                SCOPE_REQUIRED,
                "The instruction catalogue is shared by all tenants; writing it needs a key of "
                "this server.",
                hint="Ask the operator for one: commonplace keys add --scope write.",
                details={"required": "configured key"},
            )
        if not self._mutation_enabled():
            raise CommonplaceError(
                MUTATION_DISABLED,
                "Mutation is disabled: this server's instruction catalogue is read-only.",
                hint="Set MCP_ENABLE_MUTATION=1 in the server's environment and restart it.",
            )

    def _done(
        self,
        call: Call,
        tool: Tool | None,
        output: Output | None,
        error: CommonplaceError | None,
        begun: float,
    ) -> Outcome:
        warnings = hidden_in(call.arguments) if call.mutates and output is not None else ()
        if warnings and output is not None:
            output = with_warnings(output, warnings)
        outcome = Outcome(tool, output, error, time.perf_counter() - begun, call.trace_id, warnings)
        try:
            self._recorder.after(call, outcome)
        except CommonplaceError as refused:
            outcome.output, outcome.error = None, refused
        return outcome


async def _admitted(
    admission: Callable[[], Awaitable[None]],
    call: Call,
    tool: Tool,
    context: Context,
    arguments: Any,
) -> Output:
    """A call whose rate is counted elsewhere."""
    await admission()
    call.handled = True
    output = tool.handler(context, arguments)
    return await output if isawaitable(output) else output


def plain(output: Output) -> Any:
    """The JSON value of an output, for callers in this process."""
    return decode_documents(unwrapped(output))


def unwrapped(output: Output) -> Any:
    """What an output says, as the edge encodes it: a value that may hold documents."""
    if isinstance(output, Rejected):
        return output.output
    if isinstance(output, RawResult):
        return output.result
    if isinstance(output, BaseModel):
        return output.model_dump(mode="json", exclude_none=True, by_alias=True)
    return output


def _changes(tool: Tool, scope: Scope) -> bool:
    """Whether a call changes something: a tool whose scope follows from its arguments only reads
    when these ask for READ.
    """
    return not tool.read_only and (scope is not Scope.READ or not callable(tool.scope))


def _authorize(auth: AuthContext, scope: Scope) -> None:
    if scope not in auth.scopes:
        raise CommonplaceError(
            SCOPE_REQUIRED,
            f"This key may not "
            f"{'administer this server' if scope is Scope.ADMIN else scope.value}.",
            hint=f"Use a key with scope {scope.value}: commonplace keys add --scope {scope.value}.",
            details={"required": scope.value, "granted": sorted(auth.scopes)},
        )


def _internal(error: Exception, call: Call) -> CommonplaceError:
    explained = explain_failure(error)
    if explained is not None:  # the machine's doing, not a defect
        log.info("call %s failed (trace %s): %s", call.name[:128], call.trace_id, error)
        return explained
    log.error("call %s failed (trace %s)", call.name[:128], call.trace_id, exc_info=error)
    return CommonplaceError(
        INTERNAL,
        "The server failed on this call. It is a defect, not your input.",
        hint=f"Look for trace {call.trace_id} in the server's log and report it.",
        details={"trace_id": call.trace_id},
    )
