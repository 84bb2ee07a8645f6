"""Tools that read instructions: get, list, and lists of scopes and categories."""

from __future__ import annotations

from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Context, Tier, Tool
from commonplace.instructions.errors import CATALOGUE_LIMIT
from commonplace.instructions.results.reading import CatalogueListing, CategoryCount
from commonplace.instructions.service import InstructionsService
from commonplace.instructions.tools.compact import cut_items
from commonplace.instructions.tools.shapes import (
    FULL_ENTRIES,
    Answer,
    CamelInput,
    FullInput,
    InstructionItem,
    inline,
    threaded,
)
from commonplace.kernel.json_types import JsonObject

COMPACT_LIST = 100
COMPACT_CATEGORIES = 200
PAGE_BY_OFFSET = "Page on with offset, or give a limit."


def tools(service: InstructionsService) -> tuple[Tool, ...]:
    """Return the tools of this module."""
    return (
        list_tool(service),
        get_tool(service),
        get_enhanced_tool(service),
        categories_tool(service),
        list_scoped_tool(service),
    )


class InstructionIdInput(CamelInput):
    id: str = Field(min_length=1, max_length=400)


class InstructionGetInput(InstructionIdInput):
    archived: bool = Field(default=False, description="Also an archived one.")


class InstructionGetOutput(TypedDict, total=False):
    hash: str
    item: InstructionItem
    notFound: bool
    archived: bool
    id: str
    hint: str
    trace: JsonObject


def get_tool(service: InstructionsService) -> Tool:
    """`instructions_get`"""

    def handle(ctx: Context, args: InstructionGetInput) -> Answer:
        found = service.get(ctx.auth, args.id, archived=args.archived)
        if found is None:
            if service.get(ctx.auth, args.id, archived=True) is not None:
                hint = "It is archived; ask with archived: true."
                return {"notFound": True, "archived": True, "id": args.id, "hint": hint}
            return {
                "notFound": True,
                "id": args.id[:200],
                "hint": "instructions_search finds ids by words; getEnhanced repairs a hidden "
                "file.",
            }
        return {"hash": found.catalogue_hash, "item": found.item}

    return Tool(
        name="instructions_get",
        toolset="instructions",
        title="Get an instruction",
        description="Get one instruction, or notFound.",
        input=InstructionGetInput,
        output=InstructionGetOutput,
        handler=inline(service, handle),
        bare=("instructions/get",),
        large=True,
    )


def get_enhanced_tool(service: InstructionsService) -> Tool:
    """`instructions_get_enhanced`"""

    def handle(ctx: Context, args: InstructionIdInput) -> Answer:
        lookup = service.get_repairing(ctx.auth, args.id)
        answer: JsonObject = {"notFound": True, "id": args.id[:200]}
        if lookup.found is not None:
            answer = {"hash": lookup.found.catalogue_hash, "item": lookup.found.item}
        if lookup.repair is not None:
            answer["trace"] = lookup.repair.trace_fields()
        return answer

    return Tool(
        name="instructions_get_enhanced",
        toolset="instructions",
        title="Get an instruction, repairing",
        description="Like instructions_get, but looks again for a file that the catalogue does "
        "not show, and says why.",
        input=InstructionIdInput,
        output=InstructionGetOutput,
        handler=threaded(service, handle),
        tier=Tier.EXTENDED,
        bare=("instructions/getEnhanced",),
    )


class InstructionListInput(CamelInput):
    category: str | None = Field(default=None, max_length=100)
    limit: int | None = Field(
        default=None, ge=1, description="Default 100. At most 1000, also the default with full."
    )
    offset: int = Field(default=0, ge=0)
    full: bool = Field(default=False, description=FULL_ENTRIES)
    expect_id: str | None = Field(
        default=None,
        max_length=200,
        description="Put first, repaired if hidden. An id that should be there.",
    )


class InstructionListOutput(TypedDict):
    hash: str
    count: int
    items: list[InstructionItem]
    trace: NotRequired[JsonObject]
    note: NotRequired[str]


def list_tool(service: InstructionsService) -> Tool:
    """`instructions_list`"""

    def handle(ctx: Context, args: InstructionListInput) -> Answer:
        compact = ctx.compact and not args.full
        listing = service.list_entries(
            ctx.auth,
            category=args.category,
            limit=args.limit or (COMPACT_LIST if compact else None),
            offset=args.offset,
            expect_id=args.expect_id,
            compact=compact,
        )
        answer: JsonObject = {
            "hash": listing.catalogue_hash,
            "count": listing.total,
            "items": listing.items,
        }
        if listing.repair is not None:
            answer["trace"] = listing.repair.trace_fields()
        if not compact or args.limit:
            return answer
        return cut_items(answer, listing.total, PAGE_BY_OFFSET)

    return Tool(
        name="instructions_list",
        toolset="instructions",
        title="List instructions",
        description=(
            "List instructions by id, each with a snippet; read one with instructions_get. "
            "`count` is all that match."
        ),
        input=InstructionListInput,
        output=InstructionListOutput,
        handler=inline(service, handle),
        bare=("instructions/list",),
        errors=(CATALOGUE_LIMIT,),
        large=True,
    )


class InstructionScopeInput(CamelInput):
    user_id: str | None = Field(default=None, max_length=200, description="Of this user.")
    workspace_id: str | None = Field(default=None, max_length=200, description="Of this workspace.")
    team_ids: list[str] = Field(default_factory=list, max_length=100, description="Of these teams.")
    limit: int | None = Field(
        default=None, ge=1, description="Default 100. At most 1000, also the default with full."
    )
    offset: int = Field(default=0, ge=0)
    full: bool = Field(default=False, description=FULL_ENTRIES)


class InstructionScopeOutput(TypedDict):
    hash: str
    count: int
    items: list[InstructionItem]
    scope: str
    note: NotRequired[str]


def list_scoped_tool(service: InstructionsService) -> Tool:
    """`instructions_list_scoped`"""

    def show(listing: CatalogueListing) -> JsonObject:
        return {
            "hash": listing.catalogue_hash,
            "count": listing.total,
            "scope": listing.scope,
            "items": listing.items,
        }

    def handle(ctx: Context, args: InstructionScopeInput) -> Answer:
        compact = ctx.compact and not args.full
        listing = service.list_scoped(
            ctx.auth,
            user=args.user_id,
            workspace=args.workspace_id,
            teams=args.team_ids,
            limit=args.limit or (COMPACT_LIST if compact else None),
            offset=args.offset,
            compact=compact,
        )
        answer = show(listing)
        if not compact or args.limit:
            return answer
        return cut_items(answer, listing.total, PAGE_BY_OFFSET)

    return Tool(
        name="instructions_list_scoped",
        toolset="instructions",
        title="Instructions of a scope",
        description="The narrowest scope that has instructions: user, workspace, team, else "
        "those for all.",
        input=InstructionScopeInput,
        output=InstructionScopeOutput,
        handler=threaded(service, handle),
        tier=Tier.EXTENDED,
        bare=("instructions/listScoped",),
    )


class CategoryItem(TypedDict):
    name: str
    count: int
    lastUpdated: str


class CategoriesOutput(TypedDict):
    categories: list[CategoryItem]
    totalDistinct: int
    catalogHash: str
    count: int
    note: NotRequired[str]


def categories_tool(service: InstructionsService) -> Tool:
    """`instructions_categories`"""

    def show(category: CategoryCount) -> CategoryItem:
        return {
            "name": category.name,
            "count": category.count,
            "lastUpdated": category.last_updated,
        }

    def handle(ctx: Context, args: FullInput) -> Answer:
        found = service.categories(ctx.auth)
        shown = found.categories
        if ctx.compact and not args.full and len(shown) > COMPACT_CATEGORIES:
            largest = sorted(shown, key=lambda category: (-category.count, category.name))
            shown = sorted(largest[:COMPACT_CATEGORIES], key=lambda category: category.name)
        answer: JsonObject = {
            "categories": [show(category) for category in shown],
            "totalDistinct": len(found.categories),
            "catalogHash": found.catalogue_hash,
            "count": len(found.categories),
        }
        if len(shown) < len(found.categories):
            answer["note"] = (
                f"The {COMPACT_CATEGORIES} largest of {len(found.categories)} are shown. Set full "
                f"for all."
            )
        return answer

    return Tool(
        name="instructions_categories",
        toolset="instructions",
        title="Categories of instructions",
        description="Every category with its number of instructions and its newest change.",
        input=FullInput,
        output=CategoriesOutput,
        handler=threaded(service, handle),
        tier=Tier.EXTENDED,
        bare=("instructions/categories",),
    )
