"""The same trivial tool on Commonplace, plugged in through bootstrap:
COMMONPLACE_EXTRA_TOOLSETS=benchmarks.peers.trivial:toolset.
"""

from __future__ import annotations

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.registry import Toolset
from commonplace.dispatch.tool import Arguments, Context, Tool


class AddInput(Arguments):
    a: int = Field(description="First number")
    b: int = Field(description="Second number")


class AddOutput(TypedDict):
    sum: int


def add(context: Context, arguments: AddInput) -> AddOutput:
    return {"sum": arguments.a + arguments.b}


def toolset() -> Toolset:
    tool = Tool("add", "trivial", "Add", "Add two numbers", AddInput, AddOutput, add)
    return Toolset(
        "trivial", "One tool for measuring", frozenset({"add"}), frozenset(), lambda: (tool,)
    )
