"""An instruction in brief: the fields that tell an agent whether to read it, and a snippet
instead of the body.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from commonplace.instructions.model import UNCATEGORIZED, UNOWNED, Instruction
from commonplace.kernel.json.document import Document

LISTED_CHARS = 100  # of a snippet in a list of a hundred
FOUND_CHARS = 240  # of a snippet in search results
ANSWER_BYTES = 36_000  # under 10,000 tokens of English and JSON
SEARCHED_CHARS = 200_000  # of a body, for the place where a query matches
_SLICE = 4 * LISTED_CHARS + 8  # bytes that hold as many characters, whichever they are
_BODY = re.compile(rb'\{"id":"[^"]*","title":"[^"\\]*(?:\\.[^"\\]*)*","body":"', re.DOTALL)
_TEXT = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_CUT_ESCAPE = re.compile(rb"\\u[0-9a-f]{0,3}\Z")
_SCOPES = ("workspaceId", "userId", "teamIds", "deprecatedBy")
_WORD = re.compile(r"\w+")


def shorten(text: str, width: int) -> str:
    """Return the text on one line, cut at a word where it is longer than `width` characters."""
    line = " ".join(text[: 4 * width].split())
    if len(line) <= width and len(text) <= 4 * width:
        return line
    cut = line[: width - 1]
    space = cut.rfind(" ", width // 2)
    return (cut[:space] if space > 0 else cut) + "…"


def opening(document: Document) -> str:
    """Return the start of a body without decoding the rest of the document."""
    begins = _BODY.match(document.encoded)
    if begins is None:  # a file in another order of keys
        return str(document["body"])[:_SLICE]
    part = document.encoded[begins.end() : begins.end() + _SLICE]
    text = _TEXT.match(part)
    inside = _CUT_ESCAPE.sub(b"", text[0] if text is not None else b"")
    try:
        return str(orjson.loads(b'"' + inside.decode(errors="ignore").encode() + b'"'))
    except orjson.JSONDecodeError:  # what looked like a cut escape was none
        return str(document["body"])[:_SLICE]


def excerpt(body: str, query: str) -> str:
    """Return the part of a body where the query, or the longest of its words, first stands."""
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


def brief_of(entry: Instruction, snippet: str) -> Document:
    """Return the compact item: a shortened text never stands under the name `body`."""
    document = entry.document
    brief: dict[str, Any] = {
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
        brief["owner"] = document["owner"]
    for name in _SCOPES:
        value = document.get(name)
        if value:
            brief[name] = value
    return Document(brief, {})


def fitting(items: Sequence[Document], budget: int = ANSWER_BYTES) -> int:
    """Return how many of the items, from the first, fit into an answer of so many bytes.

    At least one does.
    """
    return _fitting((len(item.encoded) + 1 for item in items), budget)


def fitting_values(items: Sequence[Any], budget: int = ANSWER_BYTES) -> int:
    """Return the same for values that are not encoded yet."""
    return _fitting((len(orjson.dumps(item)) + 1 for item in items), budget)


def _fitting(sizes: Iterable[int], budget: int) -> int:
    count = total = 0
    for size in sizes:
        total += size
        if total > budget and count:
            break
        count += 1
    return count
