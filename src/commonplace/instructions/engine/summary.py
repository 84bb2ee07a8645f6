"""Summary of an instruction: the fields that tell an agent whether to read it, and a snippet."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

import orjson

from commonplace.instructions.engine.catalogue import Catalogue
from commonplace.instructions.engine.searchable import Standing, standing_of
from commonplace.instructions.fields import UNCATEGORIZED, UNOWNED
from commonplace.instructions.model import Instruction
from commonplace.kernel.json.document import Document
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.kernel.tokens import count_tokens

LISTED_CHARS = 100  # of a snippet in a list
FOUND_CHARS = 240  # of a snippet in search results
ANSWER_TOKENS = 9_800  # of all items; clients warn from 10,000 tokens of an answer on
SEARCHED_CHARS = 200_000  # of a body, to find where a query matches
_SLICE = 4 * LISTED_CHARS + 8  # bytes that hold as many characters of any kind
_BODY = re.compile(rb'\{"id":"[^"]*","title":"[^"\\]*(?:\\.[^"\\]*)*","body":"', re.DOTALL)
_TEXT = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_CUT_ESCAPE = re.compile(rb"\\u[0-9a-f]{0,3}\Z")
_NOTHING_DECODED: Mapping[str, int] = {}
_SCOPES = (
    "workspaceId",
    "userId",
    "teamIds",
    "appliesTo",
    "languages",
    "activation",
    "deprecatedBy",
)
_WORD = re.compile(r"\w+")


def shorten(text: str, width: int) -> str:
    """Return the text on one line, cut at a word after at most `width` characters."""
    line = " ".join(text[: 2 * width].split())
    if len(line) <= width:  # rarely: short, or much of it is white space
        line = " ".join(text[: 4 * width].split())
    if len(line) <= width and len(text) <= 4 * width:
        return line
    cut = line[: width - 1]
    space = cut.rfind(" ", width // 2)
    return (cut[:space] if space > 0 else cut) + "…"


def opening(document: Document) -> str:
    """Return the start of a body without decoding the rest of the document."""
    begins = _BODY.match(document.encoded)
    if begins is None:  # the keys of the file have another order
        return str(document["body"])[:_SLICE]
    part = document.encoded[begins.end() : begins.end() + _SLICE]
    text = _TEXT.match(part)
    inside = _CUT_ESCAPE.sub(b"", text[0] if text is not None else b"")
    try:
        return str(orjson.loads(b'"' + inside.decode(errors="ignore").encode() + b'"'))
    except orjson.JSONDecodeError:  # not a truncated escape after all
        return str(document["body"])[:_SLICE]


def excerpt(body: str, query: str) -> str:
    """Return the part of a body where the query, or its longest word, first occurs."""
    lowered = body[:SEARCHED_CHARS].lower()
    needle = query.strip().lower()
    words = sorted(set(_WORD.findall(needle)), key=lambda word: (-len(word), word))
    at = next(
        (place for word in (needle, *words) if word and (place := lowered.find(word)) >= 0), -1
    )
    start = max(0, at - FOUND_CHARS // 4)
    if start:
        space = body.find(" ", start, at)
        start = space + 1 if space >= 0 else start
    return ("…" if start else "") + shorten(body[start : start + 4 * FOUND_CHARS], FOUND_CHARS - 1)


def summarise(entry: Instruction, snippet: str) -> Document:
    """Return the summary; a shortened text is never called `body`."""
    document = entry.document
    summary: JsonObject = {
        "id": entry.id,
        "title": document["title"],
        "snippet": snippet,
        "priority": document["priority"],
        "requirement": document["requirement"],
        "status": document["status"],
        "categories": [
            category for category in document["categories"] if category != UNCATEGORIZED
        ],
    }
    if document["owner"] != UNOWNED:
        summary["owner"] = document["owner"]
    for name in _SCOPES:
        value = document.get(name)
        if value:
            summary[name] = value
    if standing_of(document) is Standing.DEPRECATED:
        summary["deprecated"] = True
    return Document(summary, _NOTHING_DECODED, keep_quoted=False)


def count_fitting(items: Sequence[Document]) -> int:
    """Return how many of the first items fit into an answer; at least one does."""
    return _count_fitting([item.encoded for item in items])


def count_fitting_values(items: Sequence[Json]) -> int:
    """Return how many of the first values, not encoded yet, fit into an answer."""
    return _count_fitting([orjson.dumps(item) for item in items])


def _count_fitting(items: Sequence[bytes]) -> int:
    if sum(map(len, items)) + len(items) <= ANSWER_TOKENS:  # a token has a byte or more
        return len(items)
    total = 0
    for count, item in enumerate(items):
        total += _count_item(item)
        if total > ANSWER_TOKENS and count:
            return count
    return len(items)


@lru_cache(4_096)
def _count_item(encoded: bytes) -> int:
    """Count the tokens of an item of a list, with its separator."""
    return count_tokens(encoded.decode()) + 1


def summarise_entry(entry: Instruction) -> Document:
    """Return the summary for lists, with the beginning of the body. Computed once per entry."""
    summary = entry.summary
    if summary is None:
        summary = summarise(entry, shorten(opening(entry.document), LISTED_CHARS))
        _ = summary.may_hide  # searched now rather than when it is first sent
        entry.keep_summary(summary)
    return summary


def summarise_matches(catalogue: Catalogue, ids: Sequence[str], query: str) -> list[Document]:
    """Return summaries with the part of each body that matches a query."""
    entries = [catalogue.entries[id_] for id_ in ids]
    return [summarise(entry, excerpt(entry.text[1], query)) for entry in entries]
