"""Answers of `search_all` and `open_ref` as the JSON that a client receives."""

from __future__ import annotations

from commonplace.context.engine.task import TaskReading
from commonplace.context.finding.model import FindResult, FoundItem, OpenedItem, OpenResult
from commonplace.context.model import ContextQuestion
from commonplace.kernel.hidden_characters import reveal
from commonplace.kernel.json_types import JsonObject
from commonplace.search.lexical.text import query_terms, snippet

SNIPPET = 200  # characters
TITLE = 120
MEANING = "by meaning"


def show_found(query: str, found: FindResult) -> JsonObject:
    """Spell search results; what they do not have is left out."""
    task, terms = TaskReading(ContextQuestion(query)), query_terms(query[:2_000])
    answer: JsonObject = {"results": [_show_item(item, task, terms) for item in found.items]}
    if found.unavailable:
        answer["unavailable"] = {str(kind): why for kind, why in found.unavailable.items()}
    if found.notes:
        answer["notes"] = list(found.notes)
    return answer


def _show_item(item: FoundItem, task: TaskReading, terms: list[str]) -> JsonObject:
    words = task.spell(item.terms)
    shown: JsonObject = {
        "ref": str(item.ref),
        "title": reveal(item.title[:TITLE]),
        "snippet": reveal(snippet(item.text, terms, SNIPPET)),
        "score": round(item.score, 3),
        "why": "; ".join(filter(None, (item.why, words))) or MEANING,
    }
    if item.lines is not None:
        shown["lines"] = list(item.lines)
    if item.marks:
        shown["marks"] = [reveal(mark) for mark in item.marks]
    return shown


def show_opened(result: OpenResult) -> JsonObject:
    """Spell what was opened; what an item does not have is left out."""
    answer: JsonObject = {"items": [_show_opened_item(item) for item in result.items]}
    if result.omitted:
        answer["omitted"] = result.omitted
    return answer | {"tokens": result.tokens, "budget": result.budget}


def _show_opened_item(item: OpenedItem) -> JsonObject:
    if item.error is not None:
        error: JsonObject = {"code": item.error.code.name, "message": item.error.message}
        if item.error.hint:
            error["hint"] = item.error.hint
        return {"ref": item.ref, "error": error}
    shown: JsonObject = {"ref": item.ref}
    if item.title:
        shown["title"] = item.title
    shown["text"] = item.text
    if item.lines is not None:
        shown["lines"] = list(item.lines)
    if item.next:
        shown["next"] = item.next
    if item.updated:
        shown["updated"] = item.updated[:10]
    if item.marks:
        shown["marks"] = list(item.marks)
    return shown
