"""health_check: is it alive, since when, which version (contract 001)."""

from __future__ import annotations

from typing import Any, NotRequired

from typing_extensions import TypedDict

from commonplace.dispatch.tool import Context, Nothing, Tool
from commonplace.server.service import ServerService


class Diagnostics(TypedDict):
    pid: int
    uptimeSeconds: float
    calls: int
    events: dict[str, int]


class Health(TypedDict):
    status: str
    timestamp: str
    version: str
    diagnostics: NotRequired[Diagnostics]


def tool(service: ServerService) -> Tool:
    def health_check(ctx: Context, args: Nothing) -> dict[str, Any]:
        return service.health()

    return Tool(
        name="health_check",
        toolset="server",
        title="Health check",
        description="Check that the server answers. Returns its status, the time and its version.",
        input=Nothing,
        output=Health,
        handler=health_check,
        bare=("health/check",),
    )
