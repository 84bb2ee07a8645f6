"""server_status: the server and the caller at a glance, with the last hour."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NotRequired, cast

from typing_extensions import TypedDict

from commonplace.dispatch.tool import Context, Nothing, Tier, Tool
from commonplace.kernel.clock import iso
from commonplace.server.model import ServerOverview
from commonplace.server.service import ServerService
from commonplace.telemetry.timeline import SLOT_SECONDS, TimelineSlot


class StatusCaller(TypedDict):
    label: str
    tenant: str
    scopes: list[str]


class TimelinePoint(TypedDict):
    at: str
    calls: int
    errors: int
    average_ms: float
    maximum_ms: float
    memory_bytes: NotRequired[int]


class ProcessOutput(TypedDict):
    pid: int
    memory_bytes: int
    cpu_seconds: float
    threads: int


class DamageOutput(TypedDict):
    file: str
    part: str
    problem: str
    remedy: str


class IntegrityOutput(TypedDict):
    status: str
    checked_at: dict[str, str]
    damage: list[DamageOutput]


class ServerStatusOutput(TypedDict):
    status: str
    version: str
    uptime_seconds: float
    read_only: bool
    you: StatusCaller
    slot_seconds: int
    timeline: list[TimelinePoint]
    process: NotRequired[ProcessOutput]
    caches: NotRequired[dict[str, dict[str, int]]]
    events: NotRequired[dict[str, int]]
    integrity: NotRequired[IntegrityOutput]


def tool(service: ServerService) -> Tool:
    """Define server_status."""

    def server_status(ctx: Context, args: Nothing) -> ServerStatusOutput:
        return _status_output(service.overview(ctx.auth))

    return Tool(
        name="server_status",
        toolset="server",
        title="Server status",
        description="Version, what your key may do, and your calls of the last hour; with scope "
        "admin all calls, memory and caches.",
        input=Nothing,
        output=ServerStatusOutput,
        handler=server_status,
        tier=Tier.EXTENDED,
    )


def _status_output(overview: ServerOverview) -> ServerStatusOutput:
    caller, process = overview.caller, overview.process
    output: ServerStatusOutput = {
        "status": "ok",
        "version": overview.version,
        "uptime_seconds": overview.uptime_seconds,
        "read_only": overview.read_only,
        "you": {
            "label": caller.label,
            "tenant": caller.tenant,
            "scopes": sorted(scope.value for scope in caller.scopes),
        },
        "slot_seconds": SLOT_SECONDS,
        "timeline": [_show_slot(moment, process is not None) for moment in overview.timeline],
    }
    if process is not None:
        usage = process.usage
        output["process"] = {
            "pid": usage.pid,
            "memory_bytes": usage.memory_bytes,
            "cpu_seconds": usage.cpu_seconds,
            "threads": usage.threads,
        }
        output["caches"] = {name: dict(sizes) for name, sizes in process.caches.items()}
        output["events"] = dict(process.events)
        if process.integrity is not None:
            output["integrity"] = cast(IntegrityOutput, process.integrity)
    return output


def _show_slot(moment: TimelineSlot, with_memory: bool) -> TimelinePoint:
    point: TimelinePoint = {
        "at": iso(datetime.fromtimestamp(moment.at, UTC)),
        "calls": moment.calls,
        "errors": moment.errors,
        "average_ms": moment.average_ms,
        "maximum_ms": moment.maximum_ms,
    }
    if with_memory:
        point["memory_bytes"] = moment.memory_bytes
    return point
