"""`open_ref`: read what references name, within a token budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.context.errors import REF_NOT_FOUND
from commonplace.context.finding.opening import OpenRefService
from commonplace.context.finding.wire import show_opened
from commonplace.context.model import DEFAULT_BUDGET, LEAST_BUDGET, MOST_BUDGET
from commonplace.dispatch.tool import Arguments, Context, Tool
from commonplace.kernel.json_types import JsonObject
from commonplace.kernel.ref import MAX_REF

MAX_REFS = 20


class OpenRefInput(Arguments):
    refs: list[str] = Field(
        min_length=1,
        max_length=MAX_REFS,
        description="instruction:ID, memory:ULID, file:PROJECT/PATH, openapi:PROJECT/PATH#POINTER; "
        "a part: #L10-L40 (lines) or #0-99 (bytes).",
    )
    budget: int = Field(
        default=DEFAULT_BUDGET, ge=LEAST_BUDGET, le=MOST_BUDGET, description="Most tokens."
    )


class OpenRefError(TypedDict):
    code: str
    message: str
    hint: NotRequired[str]


class OpenRefItem(TypedDict):
    ref: str
    title: NotRequired[str]
    text: NotRequired[str]
    lines: NotRequired[list[int]]
    next: NotRequired[str]
    updated: NotRequired[str]
    marks: NotRequired[list[str]]
    error: NotRequired[OpenRefError]


class OpenRefOutput(TypedDict):
    items: list[OpenRefItem]
    omitted: NotRequired[int]
    tokens: int
    budget: int


def open_ref_tool(service: Callable[[], OpenRefService]) -> Tool:
    """Build `open_ref`."""

    async def handler(ctx: Context, args: OpenRefInput) -> JsonObject:
        refs = [ref[: MAX_REF + 1] for ref in args.refs]
        return show_opened(await service().open(ctx.auth, refs, args.budget, ctx.permits))

    return Tool(
        name="open_ref",
        toolset="context",
        title="Read references",
        description="Read what references name, several at once, within a token budget. Text is "
        "cut at whole lines; `next` is the reference that continues it. A reference to nothing is "
        "an item with `error`.",
        input=OpenRefInput,
        output=OpenRefOutput,
        handler=handler,
        errors=(REF_NOT_FOUND,),
        core=True,
        large=True,
    )
