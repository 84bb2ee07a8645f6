"""What the eight walk tools share: arguments, the frame of the answer, the definition."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, NotRequired, TypeVar

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tool
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.walk.query import Row, WalkQuery, WalkResult
from commonplace.openapi.errors import ANSWER_TOO_LARGE, SPEC_INPUT
from commonplace.openapi.tools.spec import DOCUMENT, READING, OptionalText, SpecInput

PATH = (
    "* is one segment, ** any number. Such as /users/* or /repos/**/issues; without a slash * is "
    "any text: *users*."
)
EXTENSION = "x-name or x-name=value. Such as x-internal=true."
GROUPED = "Count per group instead. Returns {key, count} groups, largest first."
STATUS = "Such as 200, 4xx, default."


def lower_text(value: Json) -> Json:
    """Read a name in any case; an empty one as not given."""
    if isinstance(value, str):
        return value.strip().lower() or None
    return value


class WalkInput(Arguments):
    spec: SpecInput = Field(description=DOCUMENT)
    detail: bool = Field(False, description="Whole objects, not summaries.")
    resolve_refs: bool = False
    limit: int | None = Field(None, ge=0, description="Default 100, 25 with detail. At most 1000.")
    offset: int = Field(0, ge=0)
    extension: OptionalText = Field(None, max_length=400, description=EXTENSION)

    def query(self) -> WalkQuery:
        """Return the arguments that all walks share."""
        group_by = getattr(self, "group_by", None)
        return WalkQuery(
            self.detail,
            self.resolve_refs,
            self.limit or None,
            self.offset,
            group_by,
            self.extension,
        )


class GroupOutput(TypedDict):
    key: str
    count: int


class WalkOutput(TypedDict):
    total: int
    matched: int
    returned: int
    groups: NotRequired[list[GroupOutput]]
    truncated: NotRequired[bool]
    next_offset: NotRequired[int]
    circular_refs: NotRequired[list[str]]
    unresolved_refs: NotRequired[list[str]]
    refs_left: NotRequired[list[str]]


WalkArguments = TypeVar("WalkArguments", bound=WalkInput)


def walk_tool(
    kind: str,
    title: str,
    description: str,
    input_: type[WalkArguments],
    output: type,
    handler: Callable[[Context, WalkArguments], Awaitable[JsonObject]],
) -> Tool:
    """Build a walk tool; they differ in their filters and rows only."""
    return Tool(
        name=f"oas_walk_{kind}",
        toolset="openapi",
        title=title,
        description=description,
        input=input_,
        output=output,
        handler=handler,
        aliases=(f"walk_{kind}",),
        open_world=True,
        field_codes={"spec": SPEC_INPUT},
        errors=(*READING, ANSWER_TOO_LARGE),
        message_first=True,
        large=True,
    )


@dataclass(frozen=True, slots=True)
class WireRows(Generic[Row]):
    """The wire form of a walk's rows; `name` and `details_name` are their fields in the answer."""

    summary: Callable[[Row], JsonObject]
    detail: Callable[[Row], JsonObject]
    details_name: str
    name: str = "summaries"


def show_walk(result: WalkResult[Row], rows: WireRows[Row]) -> JsonObject:
    """Return the wire form of a walk; empty lists are left out."""
    if result.listing == "groups":
        name = "groups"
        shown = [{"key": group.key, "count": group.count} for group in result.groups]
    elif result.listing == "details":
        name, shown = rows.details_name, [rows.detail(row) for row in result.rows]
    else:
        name, shown = rows.name, [rows.summary(row) for row in result.rows]
    output: JsonObject = {
        "total": result.total,
        "matched": result.matched,
        "returned": len(shown),
    }
    if shown:
        output[name] = shown
    if result.next_offset is not None:
        output |= {"truncated": True, "next_offset": result.next_offset}
    optional = {
        "circular_refs": result.circular_refs,
        "unresolved_refs": result.unresolved_refs,
        "refs_left": result.refs_left,
        "webhook_operations": result.webhook_operations,
        "callback_operations": result.callback_operations,
    }
    return output | drop_empty(optional)


def drop_empty(fields: JsonObject) -> JsonObject:
    """Return the fields without the empty and false ones."""
    return {name: value for name, value in fields.items() if value}
