"""Reading the catalogue: list, get, search, query, categories, diff, export, scopes, governance
hash.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from pydantic import Field, field_validator
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Context, Tier, Tool
from commonplace.instructions.engine.brief import fitting
from commonplace.instructions.engine.normalise import parse_time
from commonplace.instructions.engine.query import Sort
from commonplace.instructions.errors import CATALOGUE_LIMIT, INVALID_CURSOR
from commonplace.instructions.model import Classification, Requirement, Status
from commonplace.instructions.model import Tier as PriorityTier
from commonplace.instructions.service import DEFAULT_QUERY, DEFAULT_SEARCH, Service
from commonplace.instructions.tools.shared import (
    Answer,
    CamelArguments,
    Entry,
    FullArguments,
    inline,
    known_entries,
    threaded,
)
from commonplace.instructions.usecases import comparison
from commonplace.instructions.usecases.briefs import bounded

MAX_TEXT = 2000
COMPACT_LIST = 100
COMPACT_CATEGORIES = 200
PAGE_BY_OFFSET = "Page on with offset, or give a limit."


class ListArguments(CamelArguments):
    category: str | None = Field(
        default=None, max_length=100, description="Only this category; case does not matter."
    )
    limit: int | None = Field(
        default=None, ge=1, description="Most items, up to 1000; 100 compact ones when absent."
    )
    offset: int = Field(default=0, ge=0, description="Items to leave out at the start.")
    full: bool = Field(
        default=False, description="Whole entries with their bodies instead of compact items."
    )
    expect_id: str | None = Field(
        default=None,
        max_length=200,
        description="An id that should be there: put first, and repaired if hidden.",
    )


class GetArguments(CamelArguments):
    id: str = Field(min_length=1, max_length=400, description="The instruction's id.")


class SearchArguments(CamelArguments):
    q: str = Field(
        min_length=1,
        max_length=MAX_TEXT,
        description="Words, an identifier, or any part of a title or body.",
    )
    limit: int = Field(default=DEFAULT_SEARCH, ge=1, description="Most items; at most 1000.")
    full: bool = Field(
        default=False, description="Whole entries with their bodies instead of compact items."
    )
    highlight: bool = Field(default=False, description="Add snippets with the matches marked.")

    @field_validator("q")
    @classmethod
    def _not_blank(cls, q: str) -> str:
        if not q.strip():
            raise ValueError("must hold something to look for")
        return q


class Filters(CamelArguments):
    categories: list[str] | None = Field(
        default=None, max_length=100, description="Any of these categories."
    )
    priority_tiers: list[PriorityTier] | None = Field(
        default=None, description="Any of these tiers."
    )
    status: list[Status] | None = Field(default=None, description="Any of these states.")
    owners: list[str] | None = Field(
        default=None, max_length=100, description="Any of these owners."
    )
    classification: list[Classification] | None = Field(
        default=None, description="Any of these classifications."
    )
    workspace_id: str | None = Field(default=None, max_length=200, description="This workspace.")
    user_id: str | None = Field(default=None, max_length=200, description="This user.")
    team_ids: list[str] | None = Field(
        default=None, max_length=100, description="Any of these teams."
    )
    created_after: str | None = Field(
        default=None, max_length=40, description="Created after this ISO 8601 time."
    )
    updated_after: str | None = Field(
        default=None, max_length=40, description="Updated after this ISO 8601 time."
    )
    text: str | None = Field(
        default=None,
        max_length=MAX_TEXT,
        description="Title or body contains this, or all of its words.",
    )
    requirements: list[Requirement] | None = Field(
        default=None, description="Any of these requirements."
    )

    @field_validator("created_after", "updated_after")
    @classmethod
    def _is_time(cls, moment: str | None) -> str | None:
        if moment is not None and parse_time(moment) is None:
            raise ValueError("must be an ISO 8601 time such as 2025-09-01T12:00:00Z")
        return moment


class SortBy(CamelArguments):
    field: Literal["createdAt", "updatedAt", "priority", "title"] = Field(
        description="What to sort by."
    )
    direction: Literal["asc", "desc"] = Field(default="asc", description="Ascending or descending.")


class QueryArguments(CamelArguments):
    filters: Filters = Field(
        default_factory=Filters, description="Conditions that must all hold; an empty list is none."
    )
    sort: SortBy | None = Field(default=None, description="Order; by id when absent.")
    limit: int = Field(default=DEFAULT_QUERY, ge=1, description="Most items; at most 1000.")
    cursor: str | None = Field(
        default=None, max_length=2000, description="nextCursor of the page before."
    )
    full: bool = Field(
        default=False, description="Whole entries with their bodies instead of compact items."
    )
    offset: int = Field(
        default=0, ge=0, description="Items to leave out (older clients; prefer cursor)."
    )
    categories_all: list[str] | None = Field(
        default=None, max_length=100, description="Older form: all of these categories."
    )
    categories_any: list[str] | None = Field(
        default=None, max_length=100, description="Older form of filters.categories."
    )
    exclude_categories: list[str] | None = Field(
        default=None, max_length=100, description="Older form: none of these categories."
    )
    priority_min: int | None = Field(
        default=None, ge=1, le=100, description="Older form: priority number at least."
    )
    priority_max: int | None = Field(
        default=None, ge=1, le=100, description="Older form: priority number at most."
    )
    priority_tiers: list[PriorityTier] | None = Field(
        default=None, description="Older form of filters.priorityTiers."
    )
    requirements: list[Requirement] | None = Field(
        default=None, description="Older form of filters.requirements."
    )
    text: str | None = Field(
        default=None, max_length=MAX_TEXT, description="Older form of filters.text."
    )

    def applied(self) -> dict[str, Any]:
        flat = self.model_dump(
            by_alias=True,
            exclude_none=True,
            exclude={"filters", "sort", "limit", "cursor", "offset", "full"},
        )
        if "categoriesAny" in flat:
            flat["categories"] = flat.pop("categoriesAny")
        nested = self.filters.model_dump(by_alias=True, exclude_none=True)
        merged = {**flat, **nested}
        return {name: value for name, value in merged.items() if not _is_empty(value)}


def _is_empty(value: Any) -> bool:
    """Tell whether a filter asks for nothing: an empty list or a blank text is no filter."""
    return value == [] or (isinstance(value, str) and not value.strip())


class KnownEntry(CamelArguments):
    id: str = Field(max_length=400, description="An id the client has.")
    source_hash: str = Field(max_length=200, description="The sourceHash it has for it.")
    governance_hash: str | None = Field(
        default=None,
        max_length=200,
        description="The governanceHash it has for it: changes of metadata are then reported too.",
    )


class DiffArguments(CamelArguments):
    client_hash: str | None = Field(
        default=None, max_length=200, description="Catalogue hash the client has."
    )
    known: list[KnownEntry] | None = Field(
        default=None, max_length=100_000, description="What the client has, for a precise answer."
    )


class ExportArguments(CamelArguments):
    ids: list[str] | None = Field(
        default=None, max_length=100_000, description="Only these; all when absent."
    )
    meta_only: bool = Field(default=False, description="Leave the bodies out.")


class ScopeArguments(CamelArguments):
    user_id: str | None = Field(default=None, max_length=200, description="The user.")
    workspace_id: str | None = Field(default=None, max_length=200, description="The workspace.")
    team_ids: list[str] = Field(default_factory=list, max_length=100, description="The teams.")
    limit: int | None = Field(
        default=None, ge=1, description="Most items, up to 1000; 100 compact ones when absent."
    )
    offset: int = Field(default=0, ge=0, description="Items to leave out at the start.")
    full: bool = Field(
        default=False, description="Whole entries with their bodies instead of compact items."
    )


class GovernanceHashArguments(CamelArguments):
    include_items: bool = Field(
        default=False, description="Add each entry's governance record and hash."
    )


class ListOutput(TypedDict):
    hash: str
    count: int
    items: list[Entry]
    trace: NotRequired[dict[str, Any]]
    note: NotRequired[str]


class GetOutput(TypedDict, total=False):
    hash: str
    item: Entry
    notFound: bool
    id: str
    hint: str
    trace: dict[str, Any]


class SearchOutput(TypedDict):
    hash: str
    count: int
    items: list[Entry]
    query: str
    highlights: NotRequired[list[dict[str, Any]]]
    relaxed: NotRequired[bool]
    note: NotRequired[str]


class QueryOutput(TypedDict):
    items: list[Entry]
    total: int
    returned: int
    nextCursor: NotRequired[str]
    appliedFilters: dict[str, Any]
    performanceMs: float
    hash: str
    note: NotRequired[str]


class Category(TypedDict):
    name: str
    count: int
    lastUpdated: str


class CategoriesOutput(TypedDict):
    categories: list[Category]
    totalDistinct: int
    catalogHash: str
    count: int
    note: NotRequired[str]


class DiffOutput(TypedDict, total=False):
    hash: str
    upToDate: bool
    added: list[Entry]
    updated: list[Entry]
    removed: list[str]
    changed: list[Entry]
    repaired: int
    notes: list[str]
    metadataMayDiffer: bool


class ExportOutput(TypedDict):
    hash: str
    count: int
    items: list[Entry]


class ScopedOutput(ExportOutput):
    scope: str
    note: NotRequired[str]


class GovernanceHashOutput(TypedDict):
    count: int
    governanceHash: str
    algorithm: str
    items: NotRequired[list[dict[str, Any]]]


def tools(service: Service) -> tuple[Tool, ...]:
    def list_(ctx: Context, args: ListArguments) -> Answer:
        if not ctx.compact or args.full:
            return service.list_entries(args.category, args.limit, args.offset, args.expect_id)
        answer = service.list_entries(
            args.category,
            args.limit or COMPACT_LIST,
            args.offset,
            args.expect_id,
            service.briefs.listed,
        )
        return answer if args.limit else bounded(answer, answer["count"], PAGE_BY_OFFSET)

    def get(ctx: Context, args: GetArguments) -> Answer:
        return service.get(args.id)

    def get_enhanced(ctx: Context, args: GetArguments) -> Answer:
        return service.get_enhanced(args.id)

    def search(ctx: Context, args: SearchArguments) -> Answer:
        brief = ctx.compact and not args.full
        answer = service.search(args.q, args.limit, args.highlight, brief)
        if not brief or "limit" in args.model_fields_set:
            return answer
        shown = bounded(answer, answer["count"], "Search for more words, or give a limit.")
        if "highlights" in shown:
            shown["highlights"] = shown["highlights"][: len(shown["items"])]
        return shown

    def query(ctx: Context, args: QueryArguments) -> Answer:
        sort = Sort(args.sort.field, args.sort.direction == "desc") if args.sort else Sort()
        brief = ctx.compact and not args.full
        show = service.briefs.listed if brief else None
        answer = service.query(args.applied(), sort, args.limit, args.cursor, args.offset, show)
        if (
            not brief
            or "limit" in args.model_fields_set
            or (fits := fitting(answer["items"])) == answer["returned"]
        ):
            return answer
        shorter = service.query(args.applied(), sort, fits, args.cursor, args.offset, show)
        return {
            **shorter,
            "note": f"{fits} of {answer['total']} are shown, to keep the answer short. Page on "
            f"with nextCursor.",
        }

    def searches(args: QueryArguments) -> bool:
        return "text" in args.applied()

    def categories(ctx: Context, args: FullArguments) -> Answer:
        answer = service.categories()
        if not ctx.compact or args.full or len(answer["categories"]) <= COMPACT_CATEGORIES:
            return answer
        largest = sorted(answer["categories"], key=lambda item: (-item["count"], item["name"]))[
            :COMPACT_CATEGORIES
        ]
        note = (
            f"The {COMPACT_CATEGORIES} largest of {answer['totalDistinct']} are shown. Set "
            f"full for all."
        )
        return {
            **answer,
            "categories": sorted(largest, key=lambda item: str(item["name"])),
            "note": note,
        }

    def diff(ctx: Context, args: DiffArguments) -> Answer:
        return comparison.diff(service, args.client_hash, known_entries(args.known))

    def export(ctx: Context, args: ExportArguments) -> Answer:
        return comparison.export(service, args.ids, args.meta_only)

    def list_scoped(ctx: Context, args: ScopeArguments) -> Answer:
        scope = (args.user_id, args.workspace_id, args.team_ids)
        if not ctx.compact or args.full:
            return service.list_scoped(*scope, args.limit, args.offset)
        answer = service.list_scoped(
            *scope, args.limit or COMPACT_LIST, args.offset, service.briefs.listed
        )
        return answer if args.limit else bounded(answer, answer["count"], PAGE_BY_OFFSET)

    def governance_hash(ctx: Context, args: GovernanceHashArguments) -> Answer:
        return service.governance_hash(args.include_items)

    return (
        Tool(
            name="instructions_list",
            toolset="instructions",
            title="List instructions",
            description=(
                "Instructions in order of id, optionally of one category. Items are compact, "
                "with a snippet of the body; read one with "
                "instructions_get, or set `full`. `count` is all that match, `hash` the "
                "catalogue's state."
            ),
            input=ListArguments,
            output=ListOutput,
            handler=inline(service, list_),
            bare=("instructions/list",),
            errors=(CATALOGUE_LIMIT,),
        ),
        Tool(
            name="instructions_get",
            toolset="instructions",
            title="Get an instruction",
            description="One instruction by id, or notFound.",
            input=GetArguments,
            output=GetOutput,
            handler=inline(service, get),
            bare=("instructions/get",),
        ),
        Tool(
            name="instructions_search",
            toolset="instructions",
            title="Search instructions",
            description=(
                "Find rules by words, identifiers or any part of the text; best first. "
                "Finds every title and body that contains the query, and those with all of its "
                "words in any form. "
                "Items are compact, with a snippet of the body; read one with instructions_get, "
                "or set `full`."
            ),
            input=SearchArguments,
            output=SearchOutput,
            handler=inline(service, search, searches=lambda _: True),
            bare=("instructions/search",),
            errors=(CATALOGUE_LIMIT,),
        ),
        Tool(
            name="instructions_query",
            toolset="instructions",
            title="Query instructions",
            description=(
                "Filter by category, tier, status, owner, scope, time and text; sort; page with "
                "cursors. "
                "Items are compact, with a snippet of the body; read one with instructions_get, "
                "or set `full`."
            ),
            input=QueryArguments,
            output=QueryOutput,
            handler=inline(service, query, searches=searches),
            bare=("instructions/query",),
            errors=(CATALOGUE_LIMIT, INVALID_CURSOR),
        ),
        Tool(
            name="instructions_get_enhanced",
            toolset="instructions",
            title="Get an instruction, repairing",
            description="Like instructions_get; a file that the catalogue does not show is "
            "looked at again, and why it is hidden is said.",
            input=GetArguments,
            output=GetOutput,
            handler=threaded(service, get_enhanced),
            tier=Tier.EXTENDED,
            bare=("instructions/getEnhanced",),
        ),
        Tool(
            name="instructions_categories",
            toolset="instructions",
            title="Categories of instructions",
            description="Every category with its number of instructions and its newest change.",
            input=FullArguments,
            output=CategoriesOutput,
            handler=threaded(service, categories),
            tier=Tier.EXTENDED,
            bare=("instructions/categories",),
        ),
        Tool(
            name="instructions_diff",
            toolset="instructions",
            title="Difference to a client's copy",
            description="What changed since the client's hash, or precisely against the ids and "
            "hashes it knows.",
            input=DiffArguments,
            output=DiffOutput,
            handler=threaded(service, diff),
            tier=Tier.EXTENDED,
            bare=("instructions/diff",),
        ),
        Tool(
            name="instructions_export",
            toolset="instructions",
            title="Export instructions",
            description="All instructions, or some by id, with or without bodies.",
            input=ExportArguments,
            output=ExportOutput,
            handler=threaded(service, export),
            tier=Tier.EXTENDED,
            bare=("instructions/export",),
        ),
        Tool(
            name="instructions_list_scoped",
            toolset="instructions",
            title="Instructions of a scope",
            description="The narrowest scope that has instructions: user, workspace, team, else "
            "those for all.",
            input=ScopeArguments,
            output=ScopedOutput,
            handler=threaded(service, list_scoped),
            tier=Tier.EXTENDED,
            bare=("instructions/listScoped",),
        ),
        Tool(
            name="instructions_governance_hash",
            toolset="instructions",
            title="Governance hash",
            description="One hash over every instruction's governance metadata, stable across "
            "restarts.",
            input=GovernanceHashArguments,
            output=GovernanceHashOutput,
            handler=threaded(service, governance_hash),
            tier=Tier.EXTENDED,
            bare=("instructions/governanceHash",),
        ),
    )
