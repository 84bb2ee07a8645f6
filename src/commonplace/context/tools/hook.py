"""`hook_context`: the answer to a client's hook, as a text that the client reads as its output."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from pydantic import Field

from commonplace.context.delivery.answering import SessionDelivery
from commonplace.context.delivery.event import HookClient
from commonplace.context.delivery.inquiry import (
    CONTEXT_BUDGET,
    RULES_BUDGET,
    ContextInquiry,
    DeliveryAnswer,
    RulesInquiry,
    read_pack,
)
from commonplace.context.delivery.reading import MAX_PATH_CHARS, read_event
from commonplace.context.engine.wire import show_pack
from commonplace.context.errors import PACK_NOT_FOUND
from commonplace.context.model import ContextQuestion, PackSection
from commonplace.context.service import ContextService
from commonplace.dispatch.tool import Arguments, Context, RawResult, Tier, Tool
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import JsonObject

MAX_TEXT = 8_000_000

Deliveries = Callable[[AuthContext], SessionDelivery]


class HookContextInput(Arguments):
    client: HookClient = Field(description="The client whose form the answer has.")
    event: str = Field(max_length=64, description="The event as the client names it.")
    session_id: str = Field(
        default="", max_length=1_024, description="The client's session; a rule comes once in it."
    )
    agent_id: str = Field(default="", max_length=1_024, description="Inside a subagent.")
    cwd: str = Field(
        default="", max_length=MAX_PATH_CHARS, description="Folder that the client works in."
    )
    source: str = Field(default="", max_length=64, description="How a session started.")
    prompt: str = Field(default="", max_length=MAX_TEXT, description="What the user wrote.")
    file_path: str = Field(
        default="", max_length=MAX_PATH_CHARS, description="A file about to be written."
    )
    patch: str = Field(
        default="", max_length=MAX_TEXT, description="A patch in the format of apply_patch."
    )


def hook_tool(service: ContextService, deliveries: Deliveries) -> Tool:
    """Build `hook_context`."""

    async def handler(ctx: Context, args: HookContextInput) -> RawResult:
        delivery = deliveries(ctx.auth)
        event = read_event(args.client, args.event, _payload(args))
        inquiries = await asyncio.to_thread(delivery.begin, event)
        rules = context = DeliveryAnswer()
        if inquiries.rules is not None:
            rules = await _find_rules(service, ctx.auth, inquiries.rules)
        if inquiries.context is not None:
            context = await _find_context(service, ctx.auth, inquiries.context)
        output = await asyncio.to_thread(delivery.finish, event, inquiries, rules, context)
        return RawResult({"content": [{"type": "text", "text": output}] if output else []})

    return Tool(
        name="hook_context",
        toolset="context",
        title="Answer a hook",
        description="What a hook of a client adds to the conversation: rules in effect and "
        "context that this session was not given yet, in the form that the client takes. For "
        "handlers of the type mcp_tool, which `commonplace connect --hooks` writes; agents call "
        "`context` and `rules_for`.",
        input=HookContextInput,
        output=None,
        handler=handler,
        tier=Tier.EXTENDED,
        idempotent=False,
    )


def _payload(args: HookContextInput) -> JsonObject:
    """Return the fields as a client gives them to a command."""
    payload = args.model_dump(
        include={"session_id", "agent_id", "cwd", "source", "prompt"}, exclude_defaults=True
    )
    payload["hook_event_name"] = args.event
    if args.file_path:
        payload |= {"tool_name": "Write", "tool_input": {"file_path": args.file_path}}
    elif args.patch:
        payload |= {"tool_name": "apply_patch", "tool_input": {"command": args.patch}}
    return payload


async def _find_rules(
    service: ContextService, caller: AuthContext, inquiry: RulesInquiry
) -> DeliveryAnswer:
    paths, task = inquiry
    question = ContextQuestion(task, paths, budget=RULES_BUDGET)
    pack = await service.context(caller, question, sections=(PackSection.RULES,))
    return read_pack(show_pack(pack))


async def _find_context(
    service: ContextService, caller: AuthContext, inquiry: ContextInquiry
) -> DeliveryAnswer:
    task, since = inquiry
    question = ContextQuestion(task, budget=CONTEXT_BUDGET, since=since)
    try:
        pack = await service.context(caller, question)
    except CommonplaceError as error:
        if error.code is not PACK_NOT_FOUND:
            raise
        pack = await service.context(caller, replace(question, since=None))  # it was forgotten
    return read_pack(show_pack(pack))
