"""health_check: whether the server answers (docs/reference/contracts/instructions.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NotRequired

from typing_extensions import TypedDict

from commonplace.dispatch.tool import Context, Nothing, Tool
from commonplace.kernel.clock import iso
from commonplace.kernel.json_types import Json
from commonplace.server.service import ServerService


class DiagnosticsOutput(TypedDict):
    pid: int
    uptimeSeconds: float
    calls: int
    events: dict[str, int]


class HealthCheckOutput(TypedDict):
    status: str
    timestamp: str
    version: str
    diagnostics: NotRequired[DiagnosticsOutput]


def tool(service: ServerService, trace: Callable[[str, Json], object]) -> Tool:
    """Define health_check. Diagnostics also go to the trace, where it is on."""

    def health_check(ctx: Context, args: Nothing) -> HealthCheckOutput:
        health = service.health()
        output: HealthCheckOutput = {
            "status": "ok",
            "timestamp": iso(health.at),
            "version": health.version,
        }
        if health.diagnostics is not None:
            output["diagnostics"] = {
                "pid": health.diagnostics.pid,
                "uptimeSeconds": health.diagnostics.uptime_seconds,
                "calls": health.diagnostics.calls,
                "events": dict(health.diagnostics.events),
            }
            trace("health:mixed", output["diagnostics"])
        return output

    return Tool(
        name="health_check",
        toolset="server",
        title="Health check",
        description="Status, time and version of the server.",
        input=Nothing,
        output=HealthCheckOutput,
        handler=health_check,
        bare=("health/check",),
    )
