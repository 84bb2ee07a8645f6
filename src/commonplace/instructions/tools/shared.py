"""What the catalogue's tools share: argument conventions, the shape of an entry, and how a
handler is run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, NotRequired

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Handler, Output
from commonplace.instructions.model import Actor, Known
from commonplace.instructions.service import Service
from commonplace.kernel.auth import Scope


class CamelArguments(Arguments):
    """The contracts name arguments in camelCase."""

    model_config = ConfigDict(alias_generator=to_camel)


class FullArguments(CamelArguments):
    """A read whose answer is cut for agents."""

    full: bool = Field(default=False, description="Everything, however long.")


class Write(CamelArguments):
    """Every write may be made conditional."""

    expected_hash: str | None = Field(
        default=None,
        max_length=128,
        description=(
            "Refuse (-32003) unless this is the entry's present governanceHash, which changes "
            "with every field, or the catalogue hash."
        ),
    )


class Entry(TypedDict):
    id: str
    title: NotRequired[str]
    body: NotRequired[str]
    snippet: NotRequired[str]
    priority: NotRequired[int]
    audience: NotRequired[str]
    requirement: NotRequired[str]
    categories: NotRequired[list[str]]
    version: NotRequired[str]
    status: NotRequired[str]
    owner: NotRequired[str]
    sourceHash: NotRequired[str]
    governanceHash: NotRequired[str]


"""The fields most callers read; an entry holds more."""

Use = Callable[[Context, Any], Output]


def inline(service: Service, use: Use, *, searches: Callable[[Any], bool] | None = None) -> Handler:
    """Run where the call arrives: bounded work in memory.

    Only the very first call waits, in a thread, for the catalogue or the index.
    """
    shelf = service.shelf

    def handler(ctx: Context, args: Any) -> Any:
        if shelf.loaded and (searches is None or service.searchable or not searches(args)):
            return use(ctx, args)
        return prepared(ctx, args)

    async def prepared(ctx: Context, args: Any) -> Output:
        await asyncio.to_thread(
            service.prepare_search if searches is not None and searches(args) else service.load
        )
        return use(ctx, args)

    return handler


def threaded(service: Service, use: Use) -> Handler:
    """Run in a thread: it waits for the disk, or goes through the whole catalogue."""

    def work(ctx: Context, args: Any) -> Output:
        service.load()
        return use(ctx, args)

    async def handler(ctx: Context, args: Any) -> Output:
        return await asyncio.get_running_loop().run_in_executor(service.executor, work, ctx, args)

    return handler


def actor(ctx: Context) -> Actor:
    return Actor(ctx.auth.tenant, ctx.auth.label, ctx.auth.has(Scope.ADMIN))


def known_entries(known: Any) -> list[Known] | None:
    return (
        None
        if known is None
        else [Known(item.id, item.source_hash, item.governance_hash) for item in known]
    )


Answer = Mapping[str, Any]
