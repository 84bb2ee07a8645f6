"""server_status: the server and the caller at a glance, with the last hour."""

from __future__ import annotations

from typing import Any, NotRequired

from typing_extensions import TypedDict

from commonplace.dispatch.tool import Context, Nothing, Tier, Tool
from commonplace.server.service import ServerService


class Caller(TypedDict):
    label: str
    tenant: str
    scopes: list[str]


class Point(TypedDict):
    at: str
    calls: int
    errors: int
    average_ms: float
    maximum_ms: float
    memory_bytes: NotRequired[int]


class Process(TypedDict):
    pid: int
    memory_bytes: int
    cpu_seconds: float
    threads: int


class Damage(TypedDict):
    file: str
    part: str
    problem: str
    remedy: str


class Integrity(TypedDict):
    status: str
    checked_at: dict[str, str]
    damage: list[Damage]


class Status(TypedDict):
    status: str
    version: str
    uptime_seconds: float
    read_only: bool
    you: Caller
    slot_seconds: int
    timeline: list[Point]
    process: NotRequired[Process]
    caches: NotRequired[dict[str, dict[str, int]]]
    events: NotRequired[dict[str, int]]
    integrity: NotRequired[Integrity]


def tool(service: ServerService) -> Tool:
    def server_status(ctx: Context, args: Nothing) -> dict[str, Any]:
        return service.status(ctx.auth)

    return Tool(
        name="server_status",
        toolset="server",
        title="Server status",
        description="Version, what your key may do, and your calls of the last hour; with scope "
        "admin everybody's, memory and caches.",
        input=Nothing,
        output=Status,
        handler=server_status,
        tier=Tier.EXTENDED,
    )
