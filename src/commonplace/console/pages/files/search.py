"""Search in the files of a project: by meaning and words, or for exact lines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from commonplace.console.caller import CallError
from commonplace.console.page import Page
from commonplace.console.pages.files.places import Place
from commonplace.kernel.json_types import JsonObject
from commonplace.search.lexical.text import query_terms

PASSAGES = 10
MOST_PASSAGES = 20
LINES = 100
MOST_LINES = 500
SNIPPET_CHARS = 400
MODES = (("", "Meaning and words"), ("text", "Exact text"), ("regex", "Regular expression"))


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What a person looks for, as the address says it."""

    query: str
    below: str = ""
    mode: str = ""
    more: bool = False

    @property
    def filters(self) -> dict[str, str]:
        return {"q": self.query, "below": self.below, "mode": self.mode}


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A passage or line that was found, with its address."""

    path: str
    address: str
    where: str
    text: str
    terms: tuple[str, ...] = ()
    score: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class FileFindings:
    """What a search found, or why it failed."""

    passages: list[FoundPassage]
    summary: str = ""
    notes: tuple[str, ...] = ()
    has_more: bool = False
    error: CallError | None = None


def read_request(page: Page) -> SearchRequest:
    """Return the search that the address names."""
    mode = page.query("mode")
    known = mode if mode in dict(MODES) else ""
    return SearchRequest(page.query("q"), page.query("below"), known, page.query("more") == "on")


async def search(page: Page, place: Place, request: SearchRequest) -> FileFindings:
    """Run a search."""
    if request.mode:
        return await _search_lines(page, place, request)
    limit = MOST_PASSAGES if request.more else PASSAGES
    answer = await page.call(
        "file_search",
        {
            "project": place.project,
            "query": request.query,
            "limit": limit,
            "explain": True,
            "path_prefix": request.below,
        },
    )
    if answer.error is not None:
        return FileFindings([], error=answer.error)
    terms = tuple(query_terms(request.query))
    chunks = answer.output["chunks"]
    return FileFindings(
        [_passage(place, request, chunk, terms) for chunk in chunks],
        f"Passages found: {len(chunks)}, best first ({answer.output['mode']}).",
        tuple(answer.output.get("notes", ())),
        has_more=len(chunks) == limit < MOST_PASSAGES,
    )


async def _search_lines(page: Page, place: Place, request: SearchRequest) -> FileFindings:
    limit = MOST_LINES if request.more else LINES
    answer = await page.call(
        "file_grep",
        {
            "project": place.project,
            "pattern": request.query,
            "literal": request.mode == "text",
            "limit": limit,
            "path_prefix": request.below,
        },
    )
    if answer.error is not None:
        return FileFindings([], error=answer.error)
    found = answer.output["matches"]
    is_cut = bool(answer.output["has_more"])
    return FileFindings(
        [_line(place, request, match) for match in found],
        f"Lines found: {len(found)}{' and more' if is_cut else ''}, "
        f"in {answer.output['files_searched']:,} files.",
        tuple(answer.output.get("notes", ())),
        has_more=is_cut and limit < MOST_LINES,
    )


def _passage(
    place: Place, request: SearchRequest, chunk: JsonObject, terms: tuple[str, ...]
) -> FoundPassage:
    first, last = chunk["start_line"], chunk["end_line"]
    why = chunk.get("explain", {})
    return FoundPassage(
        str(chunk["file_path"]),
        _address(place, request, chunk),
        f"lines {first:,} to {last:,}" if last > first else f"line {first:,}",
        str(why.get("snippet") or chunk["chunk_content"][:SNIPPET_CHARS]),
        terms,
        float(chunk["score"]),
        explain(why, request.query),
    )


def _line(place: Place, request: SearchRequest, match: JsonObject) -> FoundPassage:
    terms = tuple(query_terms(request.query)) if request.mode == "text" else ()
    return FoundPassage(
        str(match["file_path"]),
        _address(place, request, match),
        f"line {match['line']:,}",
        str(match["text"])[:SNIPPET_CHARS],
        terms,
    )


def _address(place: Place, request: SearchRequest, found: JsonObject) -> str:
    start, end = found["file_seek_start_bytes"], found["file_seek_end_bytes"]
    target = place.at(str(found["file_path"]))
    return target.address(start=str(start), end=end, **request.filters) + "#hit"


def explain(why: JsonObject, query: str) -> str:
    """Say in words why a passage was ranked where it is."""
    parts = []
    if why.get("matched"):
        parts.append(f"words found: {in_words(why['matched'], query)}")
    if why.get("missing"):
        parts.append(f"not found: {in_words(why['missing'], query)}")
    if why.get("cosine") is not None:
        parts.append(f"closeness in meaning {why['cosine']:.2f}")
    if why.get("bm25") is not None:
        parts.append(f"word weight {why['bm25']:.2f}")
    return "Why: " + ("; ".join(parts) or "closest of what is stored")


def in_words(terms: Iterable[str], query: str) -> str:
    """Return search terms as the words that the person typed; the index keeps stems."""
    typed = {term: word for word in query.split() for term in query_terms(word)}
    return ", ".join(dict.fromkeys(typed.get(term, term) for term in terms))
