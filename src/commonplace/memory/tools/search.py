"""`rekall_search`: compact results for any text, within a token budget."""

from __future__ import annotations

from typing import Literal, NotRequired

import orjson
from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tool
from commonplace.kernel.tokens import count_tokens
from commonplace.memory.engine.answerability import Verdict
from commonplace.memory.errors import EMBEDDINGS_DISABLED, INVALID_ENTRY_TYPE, MODEL_NOT_AVAILABLE
from commonplace.memory.model import WEAK_SCORE, EntryFilter, EntryType
from commonplace.memory.policy import Abstention
from commonplace.memory.results import EntryHit, SearchAnswer
from commonplace.memory.service import MemoryService
from commonplace.memory.text import QUERY_CHARACTERS
from commonplace.memory.tools.anchors import stale_mark
from commonplace.memory.tools.guard import guarded
from commonplace.memory.tools.shapes import EntryRef, TypeName, entry_ref
from commonplace.search.lexical.text import query_terms, snippet

# The contract says about 100; fewer keep compact results at a fifth of the whole entries.
SNIPPET_CHARACTERS = 90

NEAREST = 3  # entries that are named when none seems to answer
HINT = "Use rekall_show(id) for full content and links"


class MemorySearchInput(Arguments):
    query: str = Field(description="Keywords or a question.")
    context: str | None = Field(
        None, description="What the conversation is about. Enriches the semantic search."
    )
    limit: int = Field(5, ge=1, le=20)
    type: TypeName | None = Field(None, description="Only of this type.")
    project: str | None = Field(None, description="Only of this project.")
    mode: Literal["auto", "meaning"] = Field(
        "auto",
        description="meaning fails without an embedding model. With EMBEDDINGS_DISABLED or "
        "MODEL_NOT_AVAILABLE; auto then searches by words.",
    )
    why: bool = Field(
        False, description="Explain results. Which retriever found each, and which words matched."
    )
    max_tokens: int | None = Field(
        None,
        ge=100,
        le=100_000,
        description="Budget of results. The last ones are dropped to fit.",
    )


class MatchExplanation(TypedDict):
    lexical: float | None
    semantic: float | None
    terms: list[str]
    strength: float
    freshness: float
    order_weight: float


class SearchResult(TypedDict):
    id: str
    type: str
    title: str
    score: float
    snippet: str
    tags: list[str]
    superseded_by: NotRequired[EntryRef]
    contradicts: NotRequired[list[str]]
    status: NotRequired[str]
    stale: NotRequired[str]
    why: NotRequired[MatchExplanation]


class MemorySearchOutput(TypedDict):
    query: str
    total: int
    results: list[SearchResult]
    hint: str
    tokens: int
    mode: NotRequired[str]
    doubtful: NotRequired[bool]
    nearest: NotRequired[list[EntryRef]]


def search_tool(service: MemoryService) -> Tool:
    """Build `rekall_search`."""

    async def handler(context: Context, arguments: MemorySearchInput) -> MemorySearchOutput:
        wanted = EntryFilter(
            type=EntryType(arguments.type) if arguments.type else None, project=arguments.project
        )
        answer = await service.search(
            context.auth.tenant,
            arguments.query,
            arguments.context or "",
            wanted,
            arguments.limit,
            require_embeddings=arguments.mode == "meaning",
        )
        refused = _is_refused(answer.verdict, service.policy.abstain)
        hits = () if refused else answer.hits
        terms = query_terms(arguments.query[:QUERY_CHARACTERS])
        results = [search_result(hit, terms, arguments.why) for hit in hits]
        results, tokens, left_out = within_budget(results, arguments.max_tokens)
        output: MemorySearchOutput = {
            "query": arguments.query,
            "total": 0 if refused else answer.total,
            "results": results,
            "hint": _hint(answer, results, refused, left_out),
            "tokens": tokens,
            "mode": "hybrid" if answer.semantic else "lexical",
        }
        if hits and answer.verdict is not Verdict.LIKELY:
            output["doubtful"] = True
        if refused and answer.hits:
            output["nearest"] = [entry_ref(hit.entry) for hit in answer.hits[:NEAREST]]
        return output

    return Tool(
        name="rekall_search",
        toolset="memory",
        title="Search memory",
        description="Search what was learned: bugs, patterns, decisions, pitfalls, configuration. "
        "Results are compact; open one with rekall_show.",
        input=MemorySearchInput,
        output=MemorySearchOutput,
        handler=guarded(handler),
        field_codes={"type": INVALID_ENTRY_TYPE},
        errors=(INVALID_ENTRY_TYPE, EMBEDDINGS_DISABLED, MODEL_NOT_AVAILABLE),
        redact=frozenset({"context"}),
    )


def _is_refused(verdict: Verdict, abstain: Abstention) -> bool:
    """Say whether a query gets no results."""
    if verdict is Verdict.NOTHING:
        return abstain != "never"
    return verdict is Verdict.DOUBTFUL and abstain == "doubt"


def within_budget(
    results: list[SearchResult], max_tokens: int | None
) -> tuple[list[SearchResult], int, int]:
    """Return the first results that fit the budget, their tokens, and how many were left out."""
    kept: list[SearchResult] = []
    tokens = 0
    for result in results:
        cost = count_tokens(orjson.dumps(result).decode())
        if max_tokens is not None and tokens + cost > max_tokens:
            if kept:
                break
            # The best result always comes, without its extras if need be.
            result = {**result, "snippet": "", "tags": []}
            cost = count_tokens(orjson.dumps(result).decode())
        kept.append(result)
        tokens += cost
    return kept, tokens, len(results) - len(kept)


def search_result(hit: EntryHit, terms: list[str], why: bool) -> SearchResult:
    """Return a hit in its compact form."""
    entry = hit.entry
    result: SearchResult = {
        "id": entry.id,
        "type": entry.type.value,
        "title": entry.title,
        "score": round(hit.score, 2),
        "snippet": snippet(entry.content or entry.title, terms, SNIPPET_CHARACTERS),
        "tags": list(entry.tags),
    }
    if entry.status.value != "active":
        result["status"] = entry.status.value
    if hit.successor is not None:
        result["superseded_by"] = entry_ref(hit.successor)
    if hit.contradicted_by:
        result["contradicts"] = list(hit.contradicted_by)
    if mark := stale_mark(hit.anchors):
        result["stale"] = mark
    if why:
        match = hit.match
        result["why"] = {
            "lexical": None if match.lexical is None else round(match.lexical, 4),
            "semantic": None if match.semantic is None else round(match.semantic, 4),
            "terms": list(match.terms),
            "strength": hit.reliability.strength,
            "freshness": hit.reliability.freshness,
            "order_weight": hit.reliability.weight,
        }
    return result


def _is_weak(answer: SearchAnswer) -> bool:
    """Say whether hits may not answer the query."""
    return (
        not answer.hits or answer.verdict is not Verdict.LIKELY or answer.hits[0].score < WEAK_SCORE
    )


def _describe_unread_language(answer: SearchAnswer) -> str:
    """Say that no model reads the language of the query; without a model if the hits are weak."""
    if answer.unread_language is None:
        return ""
    language = answer.unread_language.capitalize()
    if answer.has_model:
        reason = f"The embedding model does not read {language}"
    elif _is_weak(answer):
        reason = f"No embedding model is in use that reads {language}"
    else:
        return ""
    return (
        f". {reason}: this answer used words only. To search by meaning in about 100 languages: "
        "commonplace models install multilingual"
    )


def _hint(answer: SearchAnswer, results: list[SearchResult], refused: bool, left_out: int) -> str:
    if not answer.hits:
        hint = (
            "Nothing found. Try other words, drop the filters, or add what you learn with "
            "rekall_add"
        )
    elif refused:
        hint = (
            "Nothing in memory seems to answer this. `nearest` names the nearest entries, in case "
            "one says it in other words; add what you learn with rekall_add"
        )
    elif answer.unread_language is None and _is_weak(answer):
        hint = f"Only weak matches: they may not answer this. {HINT}"
    else:
        hint = HINT
    hint += _describe_unread_language(answer)
    if any("stale" in result for result in results):
        hint += ". `stale` names code that changed since: check it first"
    if answer.withheld:
        hint += f". {answer.withheld} withheld, because their code changed: memory_stale"
    if left_out:
        hint += f". {left_out} more did not fit max_tokens"
    if answer.model_loading:
        hint += ". The embedding model is loading: this answer used words only"
    return hint
