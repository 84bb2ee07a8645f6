"""A tool is a value: its names, its input and output, who may call it, and its handler."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict

from commonplace.kernel.auth import AuthContext, Scope
from commonplace.kernel.errors import DEADLINE_EXCEEDED, NOT_AVAILABLE, Code, CommonplaceError
from commonplace.kernel.json_types import Json
from commonplace.kernel.progress import Report, report_nothing

LISTED_NAME = re.compile(r"[a-z0-9_]{1,40}")


class Tier(StrEnum):
    """Whether a tool is listed by default."""

    DEFAULT = "default"  # listed to every client
    EXTENDED = "extended"  # always callable, listed with --all-tools


class Arguments(BaseModel):
    """The base of every tool's input: unknown arguments are errors, values are immutable."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, defer_build=True, str_strip_whitespace=False
    )


class Nothing(Arguments):
    """No arguments."""


class ClientChannel(Protocol):
    """What a handler may send to the client while it works. The default sends nothing."""

    @property
    def wants_progress(self) -> bool:
        """Whether the client asked to hear how far its call is."""
        ...

    async def progress(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> None: ...

    async def log(self, level: str, data: Json, logger: str | None = None) -> None: ...

    async def request(self, method: str, params: Mapping[str, Json]) -> Json:
        """Ask the client (elicitation, sampling, roots). Raises NOT_AVAILABLE."""
        ...


class Admit(Protocol):
    """Raises for an operation that the caller may not run.

    Call it before the operation's arguments are validated, and again with them.
    """

    def __call__(self, tool: Tool, arguments: BaseModel | None = None) -> None: ...


@dataclass(frozen=True, slots=True)
class Context:
    """A call as its handler sees it.

    `meta` is what the transport knows. `admit` checks an operation inside the call; `permits` tells
    whether the call may bring what the tool of a name would.
    `compact`: an agent called the tool by its listed name, so long texts are left out.
    `mutation_enabled` tells whether the caller's server lets the catalogue be changed. `report`
    tells how far a long call is; nothing is sent for calls that end within a second.
    """

    auth: AuthContext
    trace_id: str
    channel: ClientChannel
    deadline: float | None = None  # time.monotonic() seconds
    meta: Mapping[str, Json] = field(default_factory=dict)
    admit: Admit = field(default=lambda tool, arguments=None: None)
    compact: bool = False
    mutation_enabled: Callable[[], bool] = lambda: False
    permits: Callable[[str], bool] = lambda name: True
    report: Report = report_nothing

    def check_deadline(self) -> None:
        """Raise DEADLINE_EXCEEDED once the time is over; for loops in long handlers."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise out_of_time()


def out_of_time() -> CommonplaceError:
    return CommonplaceError(
        DEADLINE_EXCEEDED,
        "The call ran out of time.",
        hint="Ask for less, or allow more time.",
        retryable=True,
    )


@dataclass(frozen=True, slots=True)
class Rejected:
    """A failure that a contract defines as a result: `isError: true` in MCP, a result elsewhere."""

    output: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class RawResult:
    """A finished MCP result (images, embedded resources, input requests), passed through."""

    result: Mapping[str, Json]


Output = Mapping[str, Json] | BaseModel | Rejected | RawResult
Handler = Callable[[Context, Any], Output | Awaitable[Output]]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool. Handlers whose work is bounded and in memory are functions, the others coroutines.

    `input` is a subclass of `Arguments`; `output` a TypedDict (from typing_extensions) or BaseModel
    that documents what the handler returns: tests validate results against it, the hot path does
    not. Of a description in `input` the first sentence is listed, the rest is for the reference; a
    name that explains itself needs none. `input_schema` and `output_schema` replace the generated
    ones. `scope`, `writes_catalogue`
    and `frees_space` may follow from the validated arguments.
    """

    name: str
    toolset: str
    title: str
    description: str
    input: type[BaseModel]
    output: object
    handler: Handler
    tier: Tier = Tier.DEFAULT
    aliases: tuple[str, ...] = ()  # other names in tools/call
    bare: tuple[str, ...] = ()  # bare JSON-RPC methods; also aliases
    read_only: bool = True
    destructive: bool = False
    idempotent: bool = True
    open_world: bool = False
    scope: Scope | Callable[[Any], Scope] = Scope.READ
    writes_catalogue: bool | Callable[[Any], bool] = False  # needs MCP_ENABLE_MUTATION
    frees_space: bool | Callable[[Any], bool] = False  # may use the space reserved for deletions
    field_codes: Mapping[str, Code] = field(default_factory=dict)  # else INVALID_ARGUMENT
    errors: tuple[Code, ...] = ()  # what it may raise, for the reference
    redact: frozenset[str] = frozenset()  # arguments that never reach logs or audit
    message_first: bool = False  # errors show the plain message before the JSON, as in oastools
    interactive: bool = False  # asks the client or streams to it, through a session of the SDK
    core: bool = False  # of the profile core; a client that defers tools loads it at once
    large: bool = False  # an answer may be longer than clients take unasked
    input_schema: Mapping[str, Json] | None = None
    output_schema: Mapping[str, Json] | None = None
    # names of tools that a call with these arguments would use, too
    reaches: Callable[[Mapping[str, Json]], Iterable[str]] | None = None

    def __post_init__(self) -> None:
        if not LISTED_NAME.fullmatch(self.name):
            raise ValueError(f"tool name {self.name!r} does not match {LISTED_NAME.pattern}")


class SilentChannel:
    """The channel of callers that take one answer only: the command line, bare calls."""

    wants_progress = False

    async def progress(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> None:
        return None

    async def log(self, level: str, data: Json, logger: str | None = None) -> None:
        return None

    async def request(self, method: str, params: Mapping[str, Json]) -> Json:
        raise CommonplaceError(
            NOT_AVAILABLE,
            f"This client cannot answer {method}.",
            hint="Call through an MCP client that supports it.",
        )


SILENT = SilentChannel()
