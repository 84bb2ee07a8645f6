"""`search_all`: one search over rules, lessons, files and API operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.context.finding.model import FindQuestion
from commonplace.context.finding.searching import SearchAllService
from commonplace.context.finding.wire import show_found
from commonplace.dispatch.tool import Arguments, Context, Tool
from commonplace.kernel.json_types import JsonObject
from commonplace.kernel.ref import RefKind

MAX_QUERY = 20_000
MAX_LIMIT = 50


class SearchAllInput(Arguments):
    query: str = Field(max_length=MAX_QUERY, description="What to find, in words or by name.")
    kinds: list[RefKind] | None = Field(
        default=None, max_length=len(RefKind), description="Default: all."
    )
    project: str | None = Field(
        default=None, max_length=128, description="Project of files, APIs and lessons."
    )
    limit: int = Field(default=10, ge=1, le=MAX_LIMIT)


class SearchAllItem(TypedDict):
    ref: str
    title: str
    snippet: str
    score: float
    why: str
    lines: NotRequired[list[int]]
    marks: NotRequired[list[str]]


class SearchAllOutput(TypedDict):
    results: list[SearchAllItem]
    unavailable: NotRequired[dict[str, str]]
    notes: NotRequired[list[str]]


def search_all_tool(service: Callable[[], SearchAllService]) -> Tool:
    """Build `search_all`."""

    async def handler(ctx: Context, args: SearchAllInput) -> JsonObject:
        kinds = tuple(args.kinds) if args.kinds else tuple(RefKind)
        question = FindQuestion(args.query, kinds, args.project, args.limit)
        found = await service().search(ctx.auth, question, ctx.permits)
        return show_found(args.query, found)

    return Tool(
        name="search_all",
        toolset="context",
        title="Search everything",
        description="Search rules, lessons, files and operations of stored APIs at once. Results "
        "carry a reference for open_ref, a score from 0 to 1 that compares across kinds, and why "
        "they match.",
        input=SearchAllInput,
        output=SearchAllOutput,
        handler=handler,
        core=True,
    )
