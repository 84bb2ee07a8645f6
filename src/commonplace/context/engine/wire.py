"""A pack as the JSON that a client receives, and its tokens."""

from __future__ import annotations

from dataclasses import replace

import orjson

from commonplace.context.model import ContextPack, PackItem, PackSection
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.kernel.tokens import count_tokens

MOST_TOKENS = 99_999  # stands for any number of tokens while an answer is counted


def show_pack(pack: ContextPack, explain: bool = False) -> JsonObject:
    """Spell a pack; empty parts are left out."""
    answer: JsonObject = {"pack_id": pack.id}
    for section in PackSection:
        items = [
            show_item(item, explain) for item in pack.items if item.candidate.section is section
        ]
        if items:
            answer[section.value] = items
    if pack.empty:
        answer["empty"] = [section.value for section in pack.empty]
    if pack.cut:
        answer["cut"] = {section.value: count for section, count in pack.cut.items()}
    if pack.known:
        answer["known"] = pack.known
    if pack.notes:
        answer["notes"] = list(pack.notes)
    return answer | {"tokens": pack.tokens, "budget": pack.budget}


def show_item(item: PackItem, explain: bool = False) -> JsonObject:
    """Spell an item; what it does not have is left out."""
    candidate = item.candidate
    shown: JsonObject = {"ref": item.ref}
    if candidate.title:
        shown["title"] = candidate.title
    if item.text:
        shown["text"] = item.text
    if item.cut:
        shown["cut"] = True
    shown["why"] = candidate.why
    if candidate.updated:
        shown["updated"] = candidate.updated[:10]
    if candidate.marks:
        shown["marks"] = list(candidate.marks)
    if candidate.also:
        shown["also"] = list(candidate.also)
    shown["tokens"] = item.tokens
    if explain:
        shown["explain"] = {
            "chance": round(candidate.chance, 3),
            "topic": round(candidate.topic, 3),
            **candidate.explain,
        }
    return shown


def count_json(value: Json) -> int:
    """Count the tokens of a value as JSON."""
    return count_tokens(orjson.dumps(value).decode())


def count_item(item: PackItem, explain: bool) -> int:
    """Count the tokens of an item whose own count is not known yet, so MOST_TOKENS."""
    assert item.tokens == MOST_TOKENS
    return count_json(show_item(item, explain))


def count_pack(pack: ContextPack, explain: bool) -> int:
    """Count the tokens of a pack, whatever its own count is."""
    return count_json(show_pack(replace(pack, tokens=MOST_TOKENS), explain))
