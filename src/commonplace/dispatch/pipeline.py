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
from collections.abc import Awaitable, Callable, Coroutine
from inspect import isawaitable
from typing import Any, Protocol

from pydantic import BaseModel

from commonplace.dispatch.call import Call, Outcome
from commonplace.dispatch.permissions import Permissions, changes
from commonplace.dispatch.progress import CallProgress
from commonplace.dispatch.registry import EVERYTHING_LISTED, Registry, Selection
from commonplace.dispatch.tool import Context, Output, Tool, out_of_time
from commonplace.dispatch.validation import validate
from commonplace.dispatch.warnings import describe_hidden, with_warnings
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import CANCELLED, INTERNAL, CommonplaceError
from commonplace.kernel.progress import report_nothing
from commonplace.storage.failures import explain_failure, is_disk_full

log = logging.getLogger("commonplace.dispatch")

Admission = Callable[[], Awaitable[None]]


class Recorder(Protocol):
    """Receives every finished call: metrics, audit, traces. May refuse a change before it runs."""

    def before(self, tool: Tool, call: Call) -> None: ...

    def after(self, call: Call, outcome: Outcome) -> None: ...


class Limiter(Protocol):
    """Raises CALL_RATE_LIMITED when a caller is over its rate.

    The admission that it returns is awaited before the call runs.
    """

    def admit(self, auth: AuthContext) -> Admission | None: ...


class NoRecorder:
    """Records nothing."""

    def before(self, tool: Tool, call: Call) -> None:
        return None

    def after(self, call: Call, outcome: Outcome) -> None:
        return None


class NoLimiter:
    """Admits every call."""

    def admit(self, auth: AuthContext) -> None:
        return None


class Pipeline:
    """Runs calls against a registry."""

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
        """`make_room` releases the space reserved for deletions; false where there is none."""
        self.registry = registry
        self.read_only = read_only
        self.selection = selection
        self._permissions = Permissions(
            selection, read_only=read_only, mutation_enabled=mutation_enabled
        )
        self._recorder: Recorder = recorder or NoRecorder()
        self._limiter: Limiter = limiter or NoLimiter()
        self._default_timeout_seconds = default_timeout_seconds
        self._make_room = make_room

    def with_registry(self, registry: Registry) -> Pipeline:
        """Return a pipeline with the same rules, records and limits over other tools."""
        other = copy.copy(self)
        other.registry = registry
        return other

    def with_rules(
        self, selection: Selection, *, read_only: bool, mutation_enabled: Callable[[], bool]
    ) -> Pipeline:
        """Return a pipeline with the same tools, records and limits under other rules."""
        other = copy.copy(self)
        other.selection, other.read_only = selection, read_only
        other._permissions = Permissions(
            selection, read_only=read_only, mutation_enabled=mutation_enabled
        )
        return other

    async def run(self, call: Call) -> Outcome:
        """Run a call to its end."""
        started = self.start(call)
        return started if isinstance(started, Outcome) else await started

    def start(self, call: Call) -> Outcome | Coroutine[Any, Any, Outcome]:
        """Begin a call: return its outcome where the tool is synchronous, else a coroutine."""
        begun = time.perf_counter()
        call.trace_id = call.trace_id or secrets.token_hex(8)
        if call.deadline is None and self._default_timeout_seconds is not None:
            call.deadline = time.monotonic() + self._default_timeout_seconds
        tool: Tool | None = None
        try:
            tool = call.own or call.tool or self._resolve(call)
            admission = self._admit(call, tool)
            arguments = validate(tool, call.arguments)
            self._check_arguments(call, tool, arguments)
            context = self._describe_call(call, tool)
            if tool.frees_space and (tool.frees_space is True or tool.frees_space(arguments)):
                work = self._delete(admission, call, tool, context, arguments)
                return self._finish(call, tool, work, begun)
            self._recorder.before(tool, call)
            if admission is not None:
                work = _run_admitted(admission, call, tool, context, arguments)
                return self._finish(call, tool, work, begun)
            call.handled = True
            output = tool.handler(context, arguments)
            # the common output first: this is the hottest line
            if type(output) is not dict and isawaitable(output):
                return self._finish(call, tool, output, begun)
            return self._done(call, tool, output, None, begun)
        except CommonplaceError as error:
            return self._done(call, tool, None, error, begun)
        except Exception as error:  # the one place where a defect becomes an answer
            return self._done(call, tool, None, _internal(error, call), begun)

    def _describe_call(self, call: Call, tool: Tool) -> Context:
        """Return a call as its handler sees it."""
        if call.channel.wants_progress:
            call.progress = CallProgress(call.channel, tool.name)
        return Context(
            call.auth,
            call.trace_id,
            call.progress or call.channel,
            call.deadline,
            call.meta,
            functools.partial(self._admit_operation, call, tool),
            compact=call.from_agent and call.name == tool.name,
            mutation_enabled=self._permissions.mutation_enabled,
            permits=functools.partial(self._permits_part, call, tool),
            report=call.progress.report if call.progress is not None else report_nothing,
        )

    def _resolve(self, call: Call) -> Tool:
        return self.registry.bare(call.name) if call.bare else self.registry.tool(call.name)

    def _admit(self, call: Call, tool: Tool) -> Admission | None:
        """Check what can be checked before the arguments are validated."""
        if call.own is None:
            self._permissions.check_name(call, tool, tool)
            if tool.reaches is not None:
                for name in tool.reaches(call.arguments):
                    used = self.registry.find(name)
                    if used is not None:
                        self._check_reached(call, tool, used)
        if not callable(tool.scope):
            self._permissions.check_scope(call, tool, tool.scope)
        admission = self._limiter.admit(call.auth)
        if tool.writes_catalogue is True:  # before its arguments, as the instructions contract says
            self._permissions.check_catalogue(call.auth)
        return admission

    def _check_reached(self, call: Call, through: Tool, tool: Tool) -> None:
        """Check a tool that the call uses through the one that it names."""
        self._permissions.check_name(call, through, tool)
        if not callable(tool.scope):
            self._permissions.check_scope(call, tool, tool.scope)

    def _permits_part(self, call: Call, through: Tool, name: str) -> bool:
        """Tell whether a call may bring what another tool would.

        The toolset of that tool is loaded only where some are excluded, maybe by another name.
        """
        owner = self.registry.owner(name)
        if owner is None or not self._permissions.permits_part(call, name, owner.name, through):
            return False
        selections = (self.selection, call.selection or self.selection)
        return not any(
            chosen.has_exclusions and chosen.excludes(self.registry.tool(name))
            for chosen in selections
        )

    def _admit_operation(
        self, call: Call, through: Tool, tool: Tool, arguments: BaseModel | None = None
    ) -> None:
        """Check an operation inside a call, before its arguments are validated and with them.

        A call with an operation that changes something is recorded as a change.
        """
        if arguments is None:
            self._check_reached(call, through, tool)
            if tool.writes_catalogue is not True:
                return
        scope = tool.scope(arguments) if callable(tool.scope) else tool.scope
        if changes(tool, scope) and not call.mutates:
            call.mutates = True
            self._recorder.before(tool, call)
        self._permissions.check_scope(call, tool, scope)
        writes = tool.writes_catalogue
        if writes(arguments) if callable(writes) else writes:
            self._permissions.check_catalogue(call.auth)

    def _check_arguments(self, call: Call, tool: Tool, arguments: BaseModel) -> None:
        """Check what follows from the arguments."""
        scope = tool.scope
        if callable(scope):
            scope = scope(arguments)
            self._permissions.check_scope(call, tool, scope)
        call.mutates = changes(tool, scope)
        if callable(tool.writes_catalogue) and tool.writes_catalogue(arguments):
            self._permissions.check_catalogue(call.auth)

    async def _finish(
        self, call: Call, tool: Tool, output: Awaitable[Output], begun: float
    ) -> Outcome:
        if call.progress is not None:
            call.progress.start()
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
            cancelled = CommonplaceError(CANCELLED, "The call was cancelled.")
            self._done(call, tool, None, cancelled, begun)
            raise
        except Exception as error:  # a defect becomes an answer, as in `start`
            return self._done(call, tool, None, _internal(error, call), begun)
        finally:
            if call.progress is not None:
                call.progress.stop()

    async def _delete(
        self,
        admission: Admission | None,
        call: Call,
        tool: Tool,
        context: Context,
        arguments: BaseModel,
    ) -> Output:
        """Run a call that deletes; on a full disk once more, in the reserved space."""
        if admission is not None:
            await admission()
        try:
            return await self._attempt(call, tool, context, arguments)
        except Exception as error:  # any layer may meet the full disk; other errors go on
            if not is_disk_full(error) or not self._make_room():
                raise
        return await self._attempt(call, tool, context, arguments)

    async def _attempt(
        self, call: Call, tool: Tool, context: Context, arguments: BaseModel
    ) -> Output:
        self._recorder.before(tool, call)
        return await _run_handler(call, tool, context, arguments)

    def _done(
        self,
        call: Call,
        tool: Tool | None,
        output: Output | None,
        error: CommonplaceError | None,
        begun: float,
    ) -> Outcome:
        warnings = describe_hidden(call.arguments) if call.mutates and output is not None else ()
        if warnings and output is not None:
            output = with_warnings(output, warnings)
        outcome = Outcome(tool, output, error, time.perf_counter() - begun, call.trace_id, warnings)
        try:
            self._recorder.after(call, outcome)
        except CommonplaceError as refused:
            outcome.output, outcome.error = None, refused
        return outcome


async def _run_admitted(
    admission: Admission, call: Call, tool: Tool, context: Context, arguments: BaseModel
) -> Output:
    """Run a call whose rate is counted outside of this process."""
    await admission()
    return await _run_handler(call, tool, context, arguments)


async def _run_handler(call: Call, tool: Tool, context: Context, arguments: BaseModel) -> Output:
    call.handled = True
    output = tool.handler(context, arguments)
    return await output if isawaitable(output) else output


def _internal(error: Exception, call: Call) -> CommonplaceError:
    explained = explain_failure(error)
    if explained is not None:  # a fault of the machine, not a defect
        log.info("call %s failed (trace %s): %s", call.name[:128], call.trace_id, error)
        return explained
    log.error("call %s failed (trace %s)", call.name[:128], call.trace_id, exc_info=error)
    return CommonplaceError(
        INTERNAL,
        "The server failed on this call. It is a defect, not your input.",
        hint=f"Look for trace {call.trace_id} in the server's log and report it.",
        details={"trace_id": call.trace_id},
    )
