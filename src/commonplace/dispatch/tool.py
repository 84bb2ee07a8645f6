"""A tool is a value: what it is called, what goes in and comes out, who may call it, and the
function that does it.
"""

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

LISTED_NAME = re.compile(r"[a-z0-9_]{1,40}")


class Tier(StrEnum):
    DEFAULT = "default"  # listed to every client
    EXTENDED = "extended"  # always callable, listed with --all-tools


class Arguments(BaseModel):
    """Base of every tool's input: unknown arguments are errors, values are immutable."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, defer_build=True, str_strip_whitespace=False
    )


class Nothing(Arguments):
    """No arguments."""


class ClientChannel(Protocol):
    """What a handler may say to the client while it works.

    The edge implements it; the default is silence.
    """

    async def progress(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> None: ...

    async def log(self, level: str, data: Any, logger: str | None = None) -> None: ...

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:
        """Ask the client (elicitation, sampling, roots).

        Raises NOT_AVAILABLE where it cannot answer.
        """
        ...


class Admit(Protocol):
    """Raise for a tool that a caller may not reach; `scope` is what the operation needs, once
    its arguments are known.
    """

    def __call__(self, tool: Tool, scope: Scope | None = None) -> None: ...


@dataclass(frozen=True, slots=True)
class Context:
    """One call as its handler sees it."""

    auth: AuthContext
    trace_id: str
    channel: ClientChannel
    deadline: float | None = None  # time.monotonic() seconds
    meta: Mapping[str, Any] = field(
        default_factory=dict
    )  # what the transport knows: http headers wanted by nobody else
    admit: Admit = field(
        default=lambda tool, scope=None: None
    )  # raises for a tool that the caller may not reach from here
    compact: bool = (
        False  # an agent called the tool by its listed name: leave out long texts, and say so
    )

    def seconds_left(self) -> float | None:
        return None if self.deadline is None else self.deadline - time.monotonic()

    def check_deadline(self) -> None:
        """For loops in long handlers: raise once the caller's time is over."""
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
    """A contract's failure that is a result: shown as the tool's output with `isError: true`; a
    plain result to bare callers.
    """

    output: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RawResult:
    """A finished MCP result (images, embedded resources, input requests), passed through as it
    is.
    """

    result: Mapping[str, Any]


Output = Mapping[str, Any] | BaseModel | Rejected | RawResult
Handler = Callable[[Context, Any], Output | Awaitable[Output]]


@dataclass(frozen=True, slots=True)
class Tool:
    """Handlers are plain functions where the work is bounded and in memory (they run inline),
    coroutines where it waits.

    `input` is a subclass of `Arguments`; `output` a TypedDict (from typing_extensions) or BaseModel
    that documents what the handler returns: tests validate results against it, the hot path does
    not. `input_schema` replaces the generated one.
    """

    name: str
    toolset: str
    title: str
    description: str
    input: type[BaseModel]
    output: Any
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
    frees_space: bool | Callable[[Any], bool] = (
        False  # deletes: may use the space held back for a full disk
    )
    field_codes: Mapping[str, Code] = field(
        default_factory=dict
    )  # code of each field's violation; else INVALID_ARGUMENT
    errors: tuple[Code, ...] = ()  # what it may raise, for the reference
    redact: frozenset[str] = frozenset()  # argument fields whose text never reaches logs or audit
    message_first: bool = False  # errors show the plain message before the JSON (contract 002)
    interactive: bool = (
        False  # asks the client back or streams to it, in ways only the SDK's sessions carry
    )
    input_schema: Mapping[str, Any] | None = None
    output_schema: Mapping[str, Any] | None = None
    reaches: Callable[[Mapping[str, Any]], Iterable[str]] | None = (
        None  # tools that a call with these arguments would also use, by name
    )

    def __post_init__(self) -> None:
        if not LISTED_NAME.fullmatch(self.name):
            raise ValueError(f"tool name {self.name!r} does not match {LISTED_NAME.pattern}")


class SilentChannel:
    """A client that cannot be spoken to: the command line, bare calls, tests."""

    async def progress(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> None:
        return None

    async def log(self, level: str, data: Any, logger: str | None = None) -> None:
        return None

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:
        raise CommonplaceError(
            NOT_AVAILABLE,
            f"This client cannot answer {method}.",
            hint="Call through an MCP client that supports it.",
        )


SILENT = SilentChannel()
