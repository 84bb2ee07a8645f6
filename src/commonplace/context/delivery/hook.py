"""What the command `hook` runs: one event of a client, answered from a server or an index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.context.delivery.answering import SessionDelivery
from commonplace.context.delivery.inquiry import (
    CONTEXT_BUDGET,
    RULES_BUDGET,
    ContextInquiry,
    DeliveryAnswer,
    read_pack,
    read_rules,
)
from commonplace.context.delivery.reading import read_event, recognise_client
from commonplace.context.delivery.sessions import SessionFolder

if TYPE_CHECKING:
    from commonplace.context.delivery.sources import AnswerSource
    from commonplace.kernel.json_types import JsonObject

_TENANT = "local"  # LOCAL_TENANT, whose module takes 10 ms to import


def deliver(
    event: str, client: str, payload: JsonObject, source: AnswerSource, folder: str
) -> bytes:
    """Return what the hook prints: one line of JSON, or nothing.

    `event` and `client` are those of the command line; without a client the payload tells.
    """
    delivery = SessionDelivery(SessionFolder(Path(folder)), _TENANT)
    happened = read_event(recognise_client(client, payload), event, payload)
    inquiries = delivery.begin(happened)
    rules, context = DeliveryAnswer(), DeliveryAnswer()
    if inquiries.rules is not None:
        paths, task = inquiries.rules
        rules = read_rules(source.rules_for(paths, task=task, budget=RULES_BUDGET))
    if inquiries.context is not None:
        context = read_pack(_find_context(source, inquiries.context))
    return delivery.finish(happened, inquiries, rules, context).encode("utf-8", "replace")


def _find_context(source: AnswerSource, inquiry: ContextInquiry) -> JsonObject:
    """Ask for what is new; a pack that was forgotten meanwhile means everything."""
    task, since = inquiry
    try:
        return source.context(task, since=since, budget=CONTEXT_BUDGET)
    except Exception:  # of whatever source; the second attempt says why
        if since is None:
            raise
        return source.context(task, budget=CONTEXT_BUDGET)
