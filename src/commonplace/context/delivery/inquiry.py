"""Questions of hooks, and answers of the tools `rules_for` and `context` as what to deliver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from commonplace.kernel.json_types import Json, JsonObject

RULES = "rules"
SECTIONS = (RULES, "lessons", "files", "operations")
RULES_BUDGET = 20_000  # tokens; what is delivered is cut later, without what the session knows
CONTEXT_BUDGET = 2_000


class RulesInquiry(NamedTuple):
    """Rules in effect for repository paths; no path asks for those that always apply."""

    paths: tuple[str, ...]
    task: str = ""


class ContextInquiry(NamedTuple):
    """What matters for a task; `since` is the id of the last pack of this session."""

    task: str
    since: str | None = None


class DeliveryItem(NamedTuple):
    """Something to deliver: a rule, or an item of a context pack.

    `section` is one of SECTIONS. `text` is empty where only the reference is known. `notes` are
    short facts about it: its requirement, why it applies, its age.
    """

    section: str
    ref: str
    title: str
    text: str = ""
    notes: tuple[str, ...] = ()


class DeliveryAnswer(NamedTuple):
    """An answer, best first; `pack` is the id of the context pack."""

    items: Sequence[DeliveryItem] = ()
    pack: str | None = None


def read_rules(answer: JsonObject) -> DeliveryAnswer:
    """Return the rules of an answer of `rules_for`; those that were cut have no text."""
    rules = (_read_item(RULES, rule) for rule in _objects(answer.get("rules")))
    cut = (DeliveryItem(RULES, rule["ref"], rule["title"]) for rule in _objects(answer.get("cut")))
    return DeliveryAnswer((*rules, *cut))


def read_pack(answer: JsonObject) -> DeliveryAnswer:
    """Return the items of an answer of `context`."""
    items = tuple(
        _read_item(section, item) for section in SECTIONS for item in _objects(answer.get(section))
    )
    pack = answer.get("pack_id")
    return DeliveryAnswer(items, pack if isinstance(pack, str) else None)


def _read_item(section: str, item: JsonObject) -> DeliveryItem:
    why = item.get("why")
    reason = why[0] if isinstance(why, list) and why else why
    notes = (
        item.get("requirement"),
        f"because {reason}" if isinstance(reason, str) and reason else None,
        f"of {item['updated'][:10]}" if isinstance(item.get("updated"), str) else None,
        *(mark for mark in item.get("marks", ()) if isinstance(mark, str)),
    )
    return DeliveryItem(
        section,
        item["ref"],
        item.get("title", ""),
        item.get("text", ""),
        tuple(note for note in notes if note),
    )


def _objects(value: Json) -> Iterator[JsonObject]:
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict):
            yield item
