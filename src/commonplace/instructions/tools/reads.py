"""Reading the catalogue: list, get, search, query, categories, diff, export, scopes, governance hash."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from pydantic import Field, field_validator
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Context, Nothing, Tier, Tool
from commonplace.instructions.engine.normalise import parse_time
from commonplace.instructions.engine.query import Sort
from commonplace.instructions.errors import CATALOGUE_LIMIT, INVALID_CURSOR
from commonplace.instructions.model import Classification, Requirement, Status
from commonplace.instructions.model import Tier as PriorityTier
from commonplace.instructions.service import DEFAULT_QUERY, DEFAULT_SEARCH, Service
from commonplace.instructions.tools.shapes import Answer, CamelArguments, Entry, inline, known_pairs, threaded

MAX_TEXT = 2000


class ListArguments(CamelArguments):
    category: str | None = Field(default=None, max_length=100, description="Only this category; case does not matter.")
    limit: int | None = Field(default=None, ge=1, description="Most items; without it all, up to 1000.")
    offset: int = Field(default=0, ge=0, description="Items to leave out at the start.")
    expect_id: str | None = Field(
        default=None, max_length=200, description="An id that should be there: put first, and repaired if hidden."
    )


class GetArguments(CamelArguments):
    id: str = Field(min_length=1, max_length=400, description="The instruction's id.")


class SearchArguments(CamelArguments):
    q: str = Field(min_length=1, max_length=MAX_TEXT, description="Words, an identifier, or any part of a title or body.")
    limit: int = Field(default=DEFAULT_SEARCH, ge=1, description="Most items; at most 1000.")
    highlight: bool = Field(default=False, description="Add snippets with the matches marked.")

    @field_validator("q")
    @classmethod
    def _not_blank(cls, q: str) -> str:
        if not q.strip():
            raise ValueError("must hold something to look for")
        return q


class Filters(CamelArguments):
    categories: list[str] | None = Field(default=None, max_length=100, description="Any of these categories.")
    priority_tiers: list[PriorityTier] | None = Field(default=None, description="Any of these tiers.")
    status: list[Status] | None = Field(default=None, description="Any of these states.")
    owners: list[str] | None = Field(default=None, max_length=100, description="Any of these owners.")
    classification: list[Classification] | None = Field(default=None, description="Any of these classifications.")
    workspace_id: str | None = Field(default=None, max_length=200, description="This workspace.")
    user_id: str | None = Field(default=None, max_length=200, description="This user.")
    team_ids: list[str] | None = Field(default=None, max_length=100, description="Any of these teams.")
    created_after: str | None = Field(default=None, max_length=40, description="Created after this ISO 8601 time.")
    updated_after: str | None = Field(default=None, max_length=40, description="Updated after this ISO 8601 time.")
    text: str | None = Field(default=None, max_length=MAX_TEXT, description="Title or body contains this, or all of its words.")
    requirements: list[Requirement] | None = Field(default=None, description="Any of these requirements.")

    @field_validator("created_after", "updated_after")
    @classmethod
    def _is_time(cls, moment: str | None) -> str | None:
        if moment is not None and parse_time(moment) is None:
            raise ValueError("must be an ISO 8601 time such as 2025-09-01T12:00:00Z")
        return moment


class SortBy(CamelArguments):
    field: Literal["createdAt", "updatedAt", "priority", "title"] = Field(description="What to sort by.")
    direction: Literal["asc", "desc"] = Field(default="asc", description="Ascending or descending.")


class QueryArguments(CamelArguments):
    filters: Filters = Field(default_factory=Filters, description="Conditions that must all hold.")
    sort: SortBy | None = Field(default=None, description="Order; by id when absent.")
    limit: int = Field(default=DEFAULT_QUERY, ge=1, description="Most items; at most 1000.")
    cursor: str | None = Field(default=None, max_length=2000, description="nextCursor of the page before.")
    offset: int = Field(default=0, ge=0, description="Items to leave out (older clients; prefer cursor).")
    categories_all: list[str] | None = Field(default=None, max_length=100, description="Older form: all of these categories.")
    categories_any: list[str] | None = Field(default=None, max_length=100, description="Older form of filters.categories.")
    exclude_categories: list[str] | None = Field(default=None, max_length=100, description="Older form: none of these categories.")
    priority_min: int | None = Field(default=None, ge=1, le=100, description="Older form: priority number at least.")
    priority_max: int | None = Field(default=None, ge=1, le=100, description="Older form: priority number at most.")
    priority_tiers: list[PriorityTier] | None = Field(default=None, description="Older form of filters.priorityTiers.")
    requirements: list[Requirement] | None = Field(default=None, description="Older form of filters.requirements.")
    text: str | None = Field(default=None, max_length=MAX_TEXT, description="Older form of filters.text.")

    def applied(self) -> dict[str, Any]:
        flat = self.model_dump(by_alias=True, exclude_none=True, exclude={"filters", "sort", "limit", "cursor", "offset"})
        if "categoriesAny" in flat:
            flat["categories"] = flat.pop("categoriesAny")
        nested = self.filters.model_dump(by_alias=True, exclude_none=True)
        merged = {**flat, **nested}
        if not str(merged.get("text", "x")).strip():
            del merged["text"]
        return merged


class KnownEntry(CamelArguments):
    id: str = Field(max_length=400, description="An id the client has.")
    source_hash: str = Field(max_length=200, description="The sourceHash it has for it.")


class DiffArguments(CamelArguments):
    client_hash: str | None = Field(default=None, max_length=200, description="Catalogue hash the client has.")
    known: list[KnownEntry] | None = Field(default=None, max_length=100_000, description="What the client has, for a precise answer.")


class ExportArguments(CamelArguments):
    ids: list[str] | None = Field(default=None, max_length=100_000, description="Only these; all when absent.")
    meta_only: bool = Field(default=False, description="Leave the bodies out.")


class ScopeArguments(CamelArguments):
    user_id: str | None = Field(default=None, max_length=200, description="The user.")
    workspace_id: str | None = Field(default=None, max_length=200, description="The workspace.")
    team_ids: list[str] = Field(default_factory=list, max_length=100, description="The teams.")


class GovernanceHashArguments(CamelArguments):
    include_items: bool = Field(default=False, description="Add each entry's governance record and hash.")


class ListOutput(TypedDict):
    hash: str
    count: int
    items: list[Entry]
    trace: NotRequired[dict[str, Any]]


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


class QueryOutput(TypedDict):
    items: list[Entry]
    total: int
    returned: int
    nextCursor: NotRequired[str]
    appliedFilters: dict[str, Any]
    performanceMs: float
    hash: str


class Category(TypedDict):
    name: str
    count: int
    lastUpdated: str


class CategoriesOutput(TypedDict):
    categories: list[Category]
    totalDistinct: int
    catalogHash: str
    count: int


class DiffOutput(TypedDict, total=False):
    hash: str
    upToDate: bool
    added: list[Entry]
    updated: list[Entry]
    removed: list[str]
    changed: list[Entry]
    repaired: int
    notes: list[str]


class ExportOutput(TypedDict):
    hash: str
    count: int
    items: list[Entry]


class ScopedOutput(ExportOutput):
    scope: str


class GovernanceHashOutput(TypedDict):
    count: int
    governanceHash: str
    algorithm: str
    items: NotRequired[list[dict[str, Any]]]


def tools(service: Service) -> tuple[Tool, ...]:
    def list_(ctx: Context, args: ListArguments) -> Answer:
        return service.list_entries(args.category, args.limit, args.offset, args.expect_id)

    def get(ctx: Context, args: GetArguments) -> Answer:
        return service.get(args.id)

    def get_enhanced(ctx: Context, args: GetArguments) -> Answer:
        return service.get_enhanced(args.id)

    def search(ctx: Context, args: SearchArguments) -> Answer:
        return service.search(args.q, args.limit, args.highlight)

    def query(ctx: Context, args: QueryArguments) -> Answer:
        sort = Sort(args.sort.field, args.sort.direction == "desc") if args.sort else Sort()
        return service.query(args.applied(), sort, args.limit, args.cursor, args.offset)

    def searches(args: QueryArguments) -> bool:
        return "text" in args.applied()

    def categories(ctx: Context, args: Nothing) -> Answer:
        return service.categories()

    def diff(ctx: Context, args: DiffArguments) -> Answer:
        return service.diff(args.client_hash, known_pairs(args.known))

    def export(ctx: Context, args: ExportArguments) -> Answer:
        return service.export(args.ids, args.meta_only)

    def list_scoped(ctx: Context, args: ScopeArguments) -> Answer:
        return service.list_scoped(args.user_id, args.workspace_id, args.team_ids)

    def governance_hash(ctx: Context, args: GovernanceHashArguments) -> Answer:
        return service.governance_hash(args.include_items)

    return (
        Tool(
            name="instructions_list",
            toolset="instructions",
            title="List instructions",
            description="Instructions in order of id, optionally of one category. `count` is all that match, `hash` the catalogue's state.",
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
                "Finds every title and body that contains the query, and those with all of its words in any form."
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
            description="Filter by category, tier, status, owner, scope, time and text; sort; page with cursors.",
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
            description="Like instructions_get; a file that the catalogue does not show is looked at again, and why it is hidden is said.",
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
            input=Nothing,
            output=CategoriesOutput,
            handler=threaded(service, categories),
            tier=Tier.EXTENDED,
            bare=("instructions/categories",),
        ),
        Tool(
            name="instructions_diff",
            toolset="instructions",
            title="Difference to a client's copy",
            description="What changed since the client's hash, or precisely against the ids and hashes it knows.",
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
            description="The narrowest scope that has instructions: user, workspace, team, else those for all.",
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
            description="One hash over every instruction's governance metadata, stable across restarts.",
            input=GovernanceHashArguments,
            output=GovernanceHashOutput,
            handler=threaded(service, governance_hash),
            tier=Tier.EXTENDED,
            bare=("instructions/governanceHash",),
        ),
    )
