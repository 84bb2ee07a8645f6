"""`memory_timeline`: what was added, changed, superseded and contradicted, by day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Annotated, Literal, NotRequired
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, StringConstraints
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tier, Tool
from commonplace.kernel.clock import Clock, iso, utc_now
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.memory.errors import ENTRY_NOT_FOUND
from commonplace.memory.housekeeping import EntryTimeline, EventKind, TimelineEvent, TimelineFilter
from commonplace.memory.service import MemoryService
from commonplace.memory.tools.guard import guarded
from commonplace.memory.tools.shapes import DateTime, EntryRef

EventName = Literal[
    "added",
    "changed",
    "superseded",
    "merged",
    "contradicted",
    "confirmed",
    "refuted",
    "reactivated",
    "deleted",
    "restored",
    "purged",
]
Day = Annotated[str, StringConstraints(pattern=r"^(19|2\d)\d\d-(0[1-9]|1[0-2])-([0-2]\d|3[01])$")]


class MemoryTimelineInput(Arguments):
    days: int = Field(30, ge=1, le=36_500, description="Days up to `until`.")
    until: Day | None = Field(None, description="Last day (YYYY-MM-DD); default today.")
    timezone: str = Field(
        "UTC", max_length=64, description="Of the days, such as Europe/Paris; `at` stays UTC."
    )
    project: str | None = Field(None, description="Only entries of this project.")
    id: str | None = Field(None, description="Only this entry: id or prefix.")
    kinds: list[EventName] | None = Field(None, max_length=11, description="Only these kinds.")
    limit: int = Field(50, ge=1, le=500, description="Most events.")
    offset: int = Field(0, ge=0, le=1_000_000, description="Events to skip.")


class TimelineItem(TypedDict):
    at: DateTime
    kind: str
    entry: NotRequired[EntryRef]
    other: NotRequired[EntryRef]
    detail: NotRequired[str]


class TimelineDay(TypedDict):
    day: str
    counts: dict[str, int]


class MemoryTimelineOutput(TypedDict):
    events: list[TimelineItem]
    by_day: list[TimelineDay]
    total: int
    has_more: bool


def timeline_tool(service: MemoryService) -> Tool:
    """Build `memory_timeline`."""

    async def handler(context: Context, arguments: MemoryTimelineInput) -> MemoryTimelineOutput:
        zone = _find_zone(arguments.timezone)
        until = _end_of_day(arguments.until, service.clock, zone)
        names = arguments.kinds or [kind.value for kind in EventKind]
        wanted = TimelineFilter(
            # The same hour of an earlier day, whether or not the clocks changed.
            (until - timedelta(days=min(arguments.days, (until - _FIRST).days))).astimezone(UTC),
            until.astimezone(UTC),
            arguments.project,
            arguments.id,
            tuple(EventKind(name) for name in names),
            zone,
        )
        found = await service.housekeeping.timeline(
            context.auth.tenant, wanted, arguments.limit, arguments.offset
        )
        return _output(found, arguments.offset)

    return Tool(
        name="memory_timeline",
        toolset="memory",
        title="Timeline of memory",
        description="What was added, changed, superseded, merged, contradicted or deleted, newest "
        "first, with numbers by day.",
        input=MemoryTimelineInput,
        output=MemoryTimelineOutput,
        handler=guarded(handler),
        tier=Tier.EXTENDED,
        errors=(ENTRY_NOT_FOUND, INVALID_ARGUMENT),
        large=True,
    )


_FIRST = datetime(1900, 1, 1, tzinfo=UTC)


def _find_zone(name: str) -> tzinfo:
    """Return a time zone by its name; raises INVALID_ARGUMENT if there is none."""
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"There is no time zone '{name}'.",
            hint="Give a name such as Europe/Paris, or UTC.",
            details={"field": "timezone"},
        ) from error


def _end_of_day(day: str | None, clock: Clock = utc_now, zone: tzinfo = UTC) -> datetime:
    """Return the moment after a day; a day that a month does not have becomes its last one."""
    now = clock().astimezone(zone)
    if day is None:
        start = now.replace(hour=0, minute=0, second=0, microsecond=0)
    else:
        year, month, number = (int(part) for part in day.split("-"))
        first = datetime(year, month, 1, tzinfo=zone)
        following = (first + timedelta(days=31)).replace(day=1)
        start = min(first + timedelta(days=max(1, number) - 1), following - timedelta(days=1))
    return start + timedelta(days=1)


def _output(found: EntryTimeline, offset: int) -> MemoryTimelineOutput:
    return {
        "events": [_item(event) for event in found.events],
        "by_day": [
            {"day": day, "counts": {kind.value: count for kind, count in counts.items()}}
            for day, counts in found.days.items()
        ],
        "total": found.total,
        "has_more": offset + len(found.events) < found.total,
    }


def _item(event: TimelineEvent) -> TimelineItem:
    item: TimelineItem = {"at": iso(event.at), "kind": event.kind.value}
    if event.entry_id:
        item["entry"] = {"id": event.entry_id, "title": event.title}
    if event.other_id:
        item["other"] = {"id": event.other_id, "title": event.other_title}
    if event.detail:
        item["detail"] = event.detail
    return item
