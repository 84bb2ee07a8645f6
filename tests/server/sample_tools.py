"""Plain tools for transport tests (COMMONPLACE_EXTRA_TOOLSETS=sample_tools:toolset)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.registry import Toolset
from commonplace.dispatch.tool import Arguments, Context, Tier, Tool
from commonplace.kernel.auth import Scope


class AddInput(Arguments):
    a: int = Field(description="First number")
    b: int = Field(description="Second number")


class AddOutput(TypedDict):
    sum: int


class WaitInput(Arguments):
    seconds: float = Field(description="How long", ge=0, le=60)
    mark: str | None = Field(
        default=None, description="A file to write when the wait was cancelled"
    )
    stages: int = Field(default=0, description="Steps to report while waiting", ge=0, le=100)
    begun: str | None = Field(default=None, description="A file to write when the wait begins")
    steps: int = Field(default=0, description="Progress reports before the end", ge=0, le=100)


class WaitOutput(TypedDict):
    waited: float


def add(context: Context, arguments: AddInput) -> AddOutput:
    print("a stray print must not reach the protocol")  # noqa: T201 - the point of the test
    return {"sum": arguments.a + arguments.b}


async def wait(context: Context, arguments: WaitInput) -> WaitOutput:
    try:
        if arguments.begun:
            Path(arguments.begun).touch()  # noqa: ASYNC240 - a test waits for it
        for step in range(arguments.steps):
            await context.channel.progress(step + 1, arguments.steps, f"step {step + 1}")
        for stage in range(arguments.stages):
            context.report("Stages done", stage, arguments.stages)
            await asyncio.sleep(arguments.seconds / arguments.stages)
        await asyncio.sleep(0 if arguments.stages else arguments.seconds)
    except asyncio.CancelledError:
        if arguments.mark:
            Path(arguments.mark).write_text("cancelled")  # noqa: ASYNC240 - a test's mark, after the call has ended
        raise
    return {"waited": arguments.seconds}


async def announce(context: Context, arguments: AddInput) -> AddOutput:
    """Send a notification to the client's GET stream."""
    await context.meta["mcp"].session.send_tool_list_changed()
    return {"sum": arguments.a + arguments.b}


def toolset() -> Toolset:
    shared: dict[str, Any] = {"toolset": "sample"}
    tools = (
        Tool(
            "add",
            title="Add",
            description="Add two numbers",
            input=AddInput,
            output=AddOutput,
            handler=add,
            bare=("sample/add",),
            **shared,
        ),
        Tool(
            "wait",
            title="Wait",
            description="Wait a while",
            input=WaitInput,
            output=WaitOutput,
            handler=wait,
            **shared,
        ),
        Tool(
            "put",
            title="Put",
            description="A tool that writes",
            input=AddInput,
            output=AddOutput,
            handler=add,
            read_only=False,
            scope=Scope.WRITE,
            **shared,
        ),
        Tool(
            "extra",
            title="Extra",
            description="An extended tool",
            input=AddInput,
            output=AddOutput,
            handler=add,
            tier=Tier.EXTENDED,
            **shared,
        ),
        Tool(
            "announce",
            title="Announce",
            description="A tool that notifies its client",
            input=AddInput,
            output=AddOutput,
            handler=announce,
            tier=Tier.EXTENDED,
            interactive=True,
            **shared,
        ),
    )
    names = frozenset({"add", "sample/add", "wait", "put", "extra", "announce"})
    return Toolset("sample", "Tools for tests", names, frozenset({"sample/add"}), lambda: tools)
