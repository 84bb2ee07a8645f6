"""The one way a call runs: resolve, authorize, limit, validate, run, record.

Synchronous handlers finish inside `start`; for the others `start` returns a coroutine that the edge owns as a task."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Any, Protocol

from pydantic import BaseModel

from commonplace.dispatch.registry import Registry
from commonplace.dispatch.tool import SILENT, ClientChannel, Context, Output, RawResult, Rejected, Tool, out_of_time
from commonplace.dispatch.validation import validate
from commonplace.kernel.auth import AuthContext, Scope
from commonplace.kernel.document import opened
from commonplace.kernel.errors import (
    CANCELLED,
    INTERNAL,
    MUTATION_DISABLED,
    READ_ONLY,
    SCOPE_REQUIRED,
    CommonplaceError,
)
from commonplace.storage.disk import REFUSALS, unusable

log = logging.getLogger("commonplace.dispatch")


@dataclass(slots=True)
class Call:
    """One request, whichever way it came in."""

    name: str
    arguments: Mapping[str, Any]
    auth: AuthContext
    bare: bool = False
    read_only: bool = False
    deadline: float | None = None
    channel: ClientChannel = SILENT
    meta: Mapping[str, Any] = field(default_factory=dict)
    trace_id: str = ""
    own: Tool | None = None  # a change that only its caller makes, and no registry lists
    mutates: bool = False  # set by the pipeline once the arguments are known: a dispatcher's read is not a change
    handled: bool = False  # set by the pipeline when the handler is reached: until then nothing can have changed


@dataclass(slots=True)
class Outcome:
    """What came of a call: an output or an error, and how long it took."""

    tool: Tool | None
    output: Output | None
    error: CommonplaceError | None
    duration_seconds: float
    trace_id: str

    @property
    def rejected(self) -> bool:
        return isinstance(self.output, Rejected)


class Recorder(Protocol):
    """Told of every finished call: metrics, audit, traces. May refuse a mutation before it runs."""

    def before(self, tool: Tool, call: Call) -> None: ...

    def after(self, call: Call, outcome: Outcome) -> None: ...


class Limiter(Protocol):
    """Raises CALL_RATE_LIMITED when the caller is over its rate; what it returns is awaited before the call runs."""

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
    """Runs calls against a registry. `mutation_enabled` is read per call, so that a switch takes effect at once."""

    def __init__(
        self,
        registry: Registry,
        *,
        mutation_enabled: Callable[[], bool] = lambda: False,
        read_only: bool = False,
        recorder: Recorder | None = None,
        limiter: Limiter | None = None,
        default_timeout_seconds: float | None = None,
    ) -> None:
        self.registry = registry
        self._mutation_enabled = mutation_enabled
        self.read_only = read_only
        self._recorder: Recorder = recorder or NoRecorder()
        self._limiter: Limiter = limiter or NoLimiter()
        self._default_timeout_seconds = default_timeout_seconds

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
            tool = call.own or (self.registry.bare(call.name) if call.bare else self.registry.tool(call.name))
            if not callable(tool.scope):
                _authorize(call.auth, tool.scope)
            admission = self._limiter.admit(call.auth)
            if tool.writes_catalogue is True and not (self.read_only or call.read_only):  # before its arguments, as contract 000 draws it
                self._open_catalogue(call.auth)
            arguments = validate(tool, call.arguments)
            self._authorize_arguments(tool, call, arguments)
            self._recorder.before(tool, call)
            context = Context(call.auth, call.trace_id, call.channel, call.deadline, call.meta)
            if admission is not None:
                return self._finish(call, tool, _admitted(admission, call, tool, context, arguments), begun)
            call.handled = True
            output = tool.handler(context, arguments)
            if type(output) is not dict and isawaitable(output):  # the common answer first: this is the hottest line
                return self._finish(call, tool, output, begun)
            return self._done(call, tool, output, None, begun)
        except CommonplaceError as error:
            return self._done(call, tool, None, error, begun)
        except Exception as error:  # the one place where a defect becomes an answer
            return self._done(call, tool, None, _internal(error, call), begun)

    async def _finish(self, call: Call, tool: Tool, output: Awaitable[Output], begun: float) -> Outcome:
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
            self._done(call, tool, None, CommonplaceError(CANCELLED, "The call was cancelled."), begun)
            raise
        except Exception as error:
            return self._done(call, tool, None, _internal(error, call), begun)

    def _authorize_arguments(self, tool: Tool, call: Call, arguments: Any) -> None:
        scope = tool.scope(arguments) if callable(tool.scope) else tool.scope
        _authorize(call.auth, scope)
        if (self.read_only or call.read_only) and not tool.read_only and scope is not Scope.READ:
            raise CommonplaceError(
                READ_ONLY,
                f"{tool.name} writes, and this {'server' if self.read_only else 'request'} is read-only.",
                hint="Start the server without --read-only." if self.read_only else "Drop the X-MCP-Readonly header.",
            )
        call.mutates = not tool.read_only and (scope is not Scope.READ or not callable(tool.scope))
        if callable(tool.writes_catalogue) and tool.writes_catalogue(arguments):
            self._open_catalogue(call.auth)

    def _open_catalogue(self, auth: AuthContext) -> None:
        """Refuse a change of the instruction catalogue by a stranger, or while it is closed."""
        if not auth.configured:
            raise CommonplaceError(
                SCOPE_REQUIRED,
                "The instruction catalogue is shared by all tenants; writing it needs a key of this server.",
                hint="Ask the operator for one: commonplace keys add --scope write.",
                details={"required": "configured key"},
            )
        if not self._mutation_enabled():
            raise CommonplaceError(
                MUTATION_DISABLED,
                "Mutation is disabled: this server's instruction catalogue is read-only.",
                hint="Set MCP_ENABLE_MUTATION=1 in the server's environment and restart it.",
            )

    def _done(self, call: Call, tool: Tool | None, output: Output | None, error: CommonplaceError | None, begun: float) -> Outcome:
        outcome = Outcome(tool, output, error, time.perf_counter() - begun, call.trace_id)
        try:
            self._recorder.after(call, outcome)
        except CommonplaceError as refused:
            outcome.output, outcome.error = None, refused
        return outcome


async def _admitted(admission: Callable[[], Awaitable[None]], call: Call, tool: Tool, context: Context, arguments: Any) -> Output:
    """A call whose rate is counted elsewhere."""
    await admission()
    call.handled = True
    output = tool.handler(context, arguments)
    return await output if isawaitable(output) else output


def plain(output: Output) -> Any:
    """The JSON value of an output, for callers in this process."""
    return opened(unwrapped(output))


def unwrapped(output: Output) -> Any:
    """What an output says, as the edge encodes it: a value that may hold documents."""
    if isinstance(output, Rejected):
        return output.output
    if isinstance(output, RawResult):
        return output.result
    if isinstance(output, BaseModel):
        return output.model_dump(mode="json", exclude_none=True, by_alias=True)
    return output


def _authorize(auth: AuthContext, scope: Scope) -> None:
    if scope not in auth.scopes:
        raise CommonplaceError(
            SCOPE_REQUIRED,
            f"This key may not {'administer this server' if scope is Scope.ADMIN else scope.value}.",
            hint=f"Use a key with scope {scope.value}: commonplace keys add --scope {scope.value}.",
            details={"required": scope.value, "granted": sorted(auth.scopes)},
        )


def _internal(error: Exception, call: Call) -> CommonplaceError:
    if isinstance(error, OSError) and error.errno in REFUSALS and error.filename is not None:
        log.info("call %s failed (trace %s): %s", call.name[:128], call.trace_id, error)
        return unusable(error)  # the machine's doing, not a defect
    log.error("call %s failed (trace %s)", call.name[:128], call.trace_id, exc_info=error)
    return CommonplaceError(
        INTERNAL,
        "The server failed on this call. It is a defect, not your input.",
        hint=f"Look for trace {call.trace_id} in the server's log and report it.",
        details={"trace_id": call.trace_id},
    )
