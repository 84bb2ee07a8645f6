"""Tools that find instructions: search and query."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import asdict
from typing import TYPE_CHECKING, Literal, NotRequired

from pydantic import Field, field_validator
from pydantic.alias_generators import to_snake
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Context, Output, Tool
from commonplace.instructions.engine.query import CatalogueFilters, CatalogueOrder
from commonplace.instructions.engine.summary import count_fitting
from commonplace.instructions.errors import CATALOGUE_LIMIT, INVALID_CURSOR, INVALID_RULE_PATH
from commonplace.instructions.fields import (
    MAX_PATH_CHARS,
    Activation,
    Classification,
    PriorityTier,
    Requirement,
    Status,
)
from commonplace.instructions.results.reading import CatalogueMatches, QueryResult
from commonplace.instructions.service import InstructionsService
from commonplace.instructions.tools.compact import cut_items
from commonplace.instructions.tools.shapes import (
    FULL_ENTRIES,
    Answer,
    CamelInput,
    InstructionItem,
    check_time,
    inline,
)
from commonplace.instructions.use_cases.search.finding import CatalogueQuestion
from commonplace.kernel.json_types import Json, JsonObject

if TYPE_CHECKING:
    from commonplace.instructions.engine.highlight import Highlight

MAX_TEXT = 2000
DEFAULT_SEARCH = 50
DEFAULT_QUERY = 100


def tools(service: InstructionsService) -> tuple[Tool, ...]:
    """Return the tools of this module."""
    return search_tool(service), query_tool(service)


class InstructionSearchInput(CamelInput):
    q: str = Field(
        min_length=1,
        max_length=MAX_TEXT,
        description="Question, words or any part of the text.",
    )
    limit: int = Field(default=DEFAULT_SEARCH, ge=1)
    full: bool = Field(default=False, description=FULL_ENTRIES)
    highlight: bool = Field(default=False, description="Add snippets with marked matches.")
    status: list[Status] | None = None
    categories: list[str] | None = Field(default=None, max_length=100)
    workspace_id: str | None = Field(default=None, max_length=200)
    user_id: str | None = Field(default=None, max_length=200)
    team_ids: list[str] | None = Field(default=None, max_length=100)
    path: str | None = Field(
        default=None,
        max_length=MAX_PATH_CHARS,
        description="Applies to this repository path. Includes what applies to every path.",
    )

    def question(self, *, compact: bool) -> CatalogueQuestion:
        """Return the search that the arguments describe."""
        filters = CatalogueFilters(
            status=self.status or None,
            categories=self.categories or None,
            workspace_id=self.workspace_id or None,
            user_id=self.user_id or None,
            team_ids=self.team_ids or None,
            path=self.path or None,
        )
        return CatalogueQuestion(self.q, self.limit, self.highlight, compact, filters)

    @field_validator("q")
    @classmethod
    def _not_blank(cls, q: str) -> str:
        if not q.strip():
            raise ValueError("must not be empty")
        return q


class InstructionSearchOutput(TypedDict):
    hash: str
    count: int
    items: list[InstructionItem]
    query: str
    highlights: NotRequired[list[JsonObject]]
    relaxed: NotRequired[bool]
    corrected: NotRequired[dict[str, str]]
    note: NotRequired[str]


def _show_highlight(highlight: Highlight) -> JsonObject:
    return {
        "id": highlight.id,
        "fields": [asdict(field) for field in highlight.fields],
        "snippet": highlight.snippet,
    }


def _show_matches(found: CatalogueMatches, args: InstructionSearchInput, compact: bool) -> Answer:
    answer: JsonObject = {
        "hash": found.catalogue_hash,
        "count": found.total,
        "items": found.items,
        "query": args.q,
    }
    if found.relaxed:
        answer["relaxed"] = True
    if found.corrected:
        answer["corrected"] = dict(found.corrected)
    if found.highlights is not None:
        answer["highlights"] = [_show_highlight(highlight) for highlight in found.highlights]
    if compact and found.note is not None:
        answer["note"] = found.note
    if not compact or "limit" in args.model_fields_set:
        return answer
    shown = cut_items(answer, found.total, "Search for more words, or give a limit.")
    if "highlights" in shown:
        shown["highlights"] = shown["highlights"][: len(shown["items"])]
    return shown


def search_tool(service: InstructionsService) -> Tool:
    """`instructions_search`"""

    def handle(ctx: Context, args: InstructionSearchInput) -> Output | Awaitable[Output]:
        compact = ctx.compact and not args.full
        question = args.question(compact=compact)
        if service.meaning.usable is None:
            return _show_matches(service.search(ctx.auth, question), args, compact)

        async def find() -> Output:
            found = await service.search_by_meaning(ctx.auth, question)
            return _show_matches(found, args, compact)

        return find()

    return Tool(
        name="instructions_search",
        toolset="instructions",
        title="Search instructions",
        description=(
            "Find rules, best first: every one that contains the query or all of its words, and "
            "related ones by meaning, parts of words and typos. Drafts come after approved rules, "
            "deprecated ones last. Items have a snippet; read one with instructions_get."
        ),
        input=InstructionSearchInput,
        output=InstructionSearchOutput,
        handler=inline(service, handle, searches=lambda _: True, by_meaning=True),
        bare=("instructions/search",),
        errors=(CATALOGUE_LIMIT, INVALID_RULE_PATH),
        large=True,
    )


class InstructionFiltersInput(CamelInput):
    categories: list[str] | None = Field(default=None, max_length=100)
    priority_tiers: list[PriorityTier] | None = None
    status: list[Status] | None = None
    owners: list[str] | None = Field(default=None, max_length=100)
    classification: list[Classification] | None = None
    workspace_id: str | None = Field(default=None, max_length=200)
    user_id: str | None = Field(default=None, max_length=200)
    team_ids: list[str] | None = Field(default=None, max_length=100)
    activation: list[Activation] | None = None
    languages: list[str] | None = Field(default=None, max_length=50)
    path: str | None = Field(
        default=None,
        max_length=MAX_PATH_CHARS,
        description="Applies to this repository path. Includes what applies to every path.",
    )
    created_after: str | None = Field(default=None, max_length=40, description="ISO 8601.")
    updated_after: str | None = Field(default=None, max_length=40, description="ISO 8601.")
    text: str | None = Field(
        default=None,
        max_length=MAX_TEXT,
        description="In title or body. As a whole, or all of its words.",
    )
    requirements: list[Requirement] | None = None

    @field_validator("created_after", "updated_after")
    @classmethod
    def _is_time(cls, moment: str | None) -> str | None:
        return check_time(moment)


class InstructionSortInput(CamelInput):
    field: Literal["createdAt", "updatedAt", "priority", "title"]
    direction: Literal["asc", "desc"] = "asc"


class InstructionQueryInput(CamelInput):
    filters: InstructionFiltersInput = Field(
        default_factory=InstructionFiltersInput,
        description="All must hold, any value of a list. Empty lists match all.",
    )
    sort: InstructionSortInput | None = Field(default=None, description="Default by id.")
    limit: int = Field(default=DEFAULT_QUERY, ge=1)
    cursor: str | None = Field(
        default=None, max_length=2000, description="nextCursor of the last page."
    )
    full: bool = Field(default=False, description=FULL_ENTRIES)
    offset: int = Field(default=0, ge=0, description="Older form, as all below.")
    categories_all: list[str] | None = Field(default=None, max_length=100)
    categories_any: list[str] | None = Field(default=None, max_length=100)
    exclude_categories: list[str] | None = Field(default=None, max_length=100)
    priority_min: int | None = Field(default=None, ge=1, le=100)
    priority_max: int | None = Field(default=None, ge=1, le=100)
    priority_tiers: list[PriorityTier] | None = None
    requirements: list[Requirement] | None = None
    text: str | None = Field(default=None, max_length=MAX_TEXT)

    def merge_filters(self) -> JsonObject:
        """Merge both forms of the filters, in contract spelling, without empty ones."""
        flat = self.model_dump(
            by_alias=True,
            exclude_none=True,
            exclude={"filters", "sort", "limit", "cursor", "offset", "full"},
        )
        if "categoriesAny" in flat:
            flat["categories"] = flat.pop("categoriesAny")
        merged = {**flat, **self.filters.model_dump(by_alias=True, exclude_none=True)}
        return {name: value for name, value in merged.items() if not _is_empty(value)}

    def order(self) -> CatalogueOrder:
        """Return the requested order; by id if none is given."""
        if self.sort is None:
            return CatalogueOrder()
        return CatalogueOrder(self.sort.field, self.sort.direction == "desc")


def _is_empty(value: Json) -> bool:
    return value == [] or (isinstance(value, str) and not value.strip())


def _filters(applied: JsonObject) -> CatalogueFilters:
    return CatalogueFilters(**{to_snake(name): value for name, value in applied.items()})


class InstructionQueryOutput(TypedDict):
    items: list[InstructionItem]
    total: int
    returned: int
    nextCursor: NotRequired[str]
    appliedFilters: JsonObject
    performanceMs: float
    hash: str
    note: NotRequired[str]


def query_tool(service: InstructionsService) -> Tool:
    """`instructions_query`"""

    def show(result: QueryResult, applied: JsonObject) -> JsonObject:
        answer: JsonObject = {
            "hash": result.catalogue_hash,
            "items": result.items,
            "total": result.total,
            "returned": len(result.items),
        }
        if result.next_cursor:
            answer["nextCursor"] = result.next_cursor
        return {**answer, "appliedFilters": applied, "performanceMs": result.elapsed_ms}

    def handle(ctx: Context, args: InstructionQueryInput) -> Answer:
        applied = args.merge_filters()
        compact = ctx.compact and not args.full

        def run(limit: int) -> QueryResult:
            return service.query(
                ctx.auth,
                _filters(applied),
                order=args.order(),
                limit=limit,
                cursor=args.cursor,
                offset=args.offset,
                compact=compact,
            )

        result = run(args.limit)
        if not compact or "limit" in args.model_fields_set:
            return show(result, applied)
        fitting = count_fitting(result.items)
        if fitting == len(result.items):
            return show(result, applied)
        note = (
            f"{fitting} of {result.total} are shown, to keep the answer short. Page on with "
            f"nextCursor."
        )
        return {**show(run(fitting), applied), "note": note}

    return Tool(
        name="instructions_query",
        toolset="instructions",
        title="Query instructions",
        description=(
            "Filter, sort and page instructions. Items have a snippet; read one with "
            "instructions_get."
        ),
        input=InstructionQueryInput,
        output=InstructionQueryOutput,
        handler=inline(service, handle, searches=lambda args: "text" in args.merge_filters()),
        bare=("instructions/query",),
        errors=(CATALOGUE_LIMIT, INVALID_CURSOR, INVALID_RULE_PATH),
        large=True,
    )
