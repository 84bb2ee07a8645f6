"""Parts that the tools share: input conventions, the shape of an item, and how handlers run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from dataclasses import asdict
from inspect import isawaitable
from typing import TYPE_CHECKING, NotRequired

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Handler, Output
from commonplace.dispatch.warnings import with_warnings
from commonplace.instructions.engine.times import parse_time
from commonplace.instructions.model import ClientCopy, Rejection
from commonplace.instructions.service import InstructionsService
from commonplace.kernel.json_types import Json, JsonObject

if TYPE_CHECKING:
    from commonplace.instructions.engine.difference import DocumentDifference
    from commonplace.instructions.engine.review.events import ReviewEvent
    from commonplace.instructions.engine.unreadable import StoredProblem

FULL_ENTRIES = "Whole entries with bodies. Otherwise items are compact."
Answer = Mapping[str, Json]
Handle = Callable[[Context, Json], Output | Awaitable[Output]]
ThreadedHandle = Callable[[Context, Json], Output]


class CamelInput(Arguments):
    """The contracts name arguments in camelCase."""

    model_config = ConfigDict(alias_generator=to_camel)


class FullInput(CamelInput):
    """A read whose answer is cut for agents."""

    full: bool = Field(default=False, description="Everything, however long.")


class WriteInput(CamelInput):
    """Every write may be made conditional."""

    expected_hash: str | None = Field(
        default=None,
        max_length=128,
        description=(
            "Present governanceHash or catalogue hash, else -32003. The governanceHash changes "
            "with every field."
        ),
    )


class ClientCopyInput(CamelInput):
    id: str = Field(max_length=400, description="An id the client has.")
    source_hash: str = Field(max_length=200, description="The sourceHash it has for it.")
    governance_hash: str | None = Field(
        default=None,
        max_length=200,
        description="The governanceHash it has for it: changes of metadata are then reported too.",
    )


class InstructionItem(TypedDict):  # the fields most callers read; an item has more
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


def client_copies(copies: list[ClientCopyInput] | None) -> list[ClientCopy] | None:
    """Convert the entries that a client knows."""
    if copies is None:
        return None
    return [ClientCopy(copy.id, copy.source_hash, copy.governance_hash) for copy in copies]


def check_time(moment: str | None) -> str | None:
    """Validate an optional ISO 8601 time."""
    if moment is not None and parse_time(moment) is None:
        raise ValueError("must be an ISO 8601 time such as 2025-09-01T12:00:00Z")
    return moment


def show_rejection(rejection: Rejection) -> dict[str, str]:
    """Spell a rejected file."""
    return {"file": rejection.file, "reason": rejection.reason, "detail": rejection.detail}


def show_difference(difference: DocumentDifference) -> JsonObject:
    """Spell the fields that differ, and the diff of the body."""
    shown: JsonObject = {
        "fields": {
            name: {"from": before, "to": after}
            for name, (before, after) in difference.fields.items()
        },
        "bodyDiff": difference.body_diff,
    }
    return {**shown, "bodyDiffTruncated": True} if difference.truncated else shown


def show_event(event: ReviewEvent) -> JsonObject:
    """Spell an event of a review, without the proposed text."""
    shown: JsonObject = {"action": event.action.value, "at": event.at, "by": event.by}
    return {**shown, "note": event.note} if event.note else shown


def show_problem(problem: StoredProblem) -> dict[str, str]:
    """Spell a problem of a stored field."""
    return asdict(problem)


def inline(
    service: InstructionsService,
    handle: Handle,
    *,
    searches: Callable[[Json], bool] | None = None,
    by_meaning: bool = False,
) -> Handler:
    """Run a handler on the event loop: bounded work in memory.

    Only the first calls wait, in a thread, for the catalogue or the search index, and for the
    description of the model (`by_meaning`). If other servers change the catalogue too, every call
    waits for one short question to the database.
    """

    ready = False  # loading is never undone: checked until it is done, not on every call

    def handler(ctx: Context, args: Json) -> Json:
        nonlocal ready
        if not ready:
            if (
                not service.loaded
                or (searches is not None and not service.searchable and searches(args))
                or (by_meaning and not service.meaning.prepared)
            ):
                return prepare_and_handle(ctx, args)
            ready = searches is None or service.searchable
        pending = service.confirmation.begin()
        return handle(ctx, args) if pending is None else confirm_and_handle(pending, ctx, args)

    async def prepare_and_handle(ctx: Context, args: Json) -> Output:
        needs_index = searches is not None and searches(args)
        await asyncio.to_thread(service.prepare_search if needs_index else service.load)
        if by_meaning:
            await asyncio.to_thread(service.meaning.prepare)
        pending = service.confirmation.begin()
        if pending is None:
            return await settle(handle(ctx, args))
        return await confirm_and_handle(pending, ctx, args)

    async def confirm_and_handle(pending: Future[None], ctx: Context, args: Json) -> Output:
        warning = await service.confirmation.wait(pending)
        return _warned(await settle(handle(ctx, args)), warning)

    return handler


def threaded(service: InstructionsService, handle: ThreadedHandle) -> Handler:
    """Run a handler in a thread: it waits for the disk or scans the whole catalogue."""

    def work(ctx: Context, args: Json) -> Output:
        warning = service.confirmation.load()
        return _warned(handle(ctx, args), warning)

    async def handler(ctx: Context, args: Json) -> Output:
        return await asyncio.get_running_loop().run_in_executor(service.executor, work, ctx, args)

    return handler


async def settle(output: Output | Awaitable[Output]) -> Output:
    """Return what a handler returns, now or later."""
    return await output if isawaitable(output) else output


def _warned(output: Output, warning: str | None) -> Output:
    return output if warning is None else with_warnings(output, (warning,))
