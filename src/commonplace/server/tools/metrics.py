"""metrics_snapshot: calls and latencies per method (docs/reference/contracts/instructions.md)."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from commonplace.dispatch.tool import Context, Nothing, Tier, Tool
from commonplace.kernel.clock import iso
from commonplace.server.service import ServerService


class MethodMetrics(TypedDict):
    method: str
    count: int
    avgMs: float
    maxMs: float
    p50Ms: float
    p95Ms: float
    p99Ms: float
    errors: int


class MetricsSnapshotOutput(TypedDict):
    generatedAt: str
    scope: Literal["server", "tenant"]
    uptimeSeconds: float
    methods: list[MethodMetrics]


def tool(service: ServerService) -> Tool:
    """Define metrics_snapshot."""

    def metrics_snapshot(ctx: Context, args: Nothing) -> MetricsSnapshotOutput:
        found = service.figures(ctx.auth)
        return {
            "generatedAt": iso(found.at),
            "scope": found.scope,
            "uptimeSeconds": found.uptime_seconds,
            "methods": [
                {
                    "method": figures.tool,
                    "count": figures.count,
                    "avgMs": figures.average_ms,
                    "maxMs": figures.maximum_ms,
                    "p50Ms": figures.p50_ms,
                    "p95Ms": figures.p95_ms,
                    "p99Ms": figures.p99_ms,
                    "errors": figures.errors,
                }
                for figures in found.methods
            ],
        }

    return Tool(
        name="metrics_snapshot",
        toolset="server",
        title="Metrics snapshot",
        description="Calls, errors and latencies (mean, max, p50, p95, p99) per method since "
        "this process started; "
        "your own tenant's, or the whole server's with scope admin.",
        input=Nothing,
        output=MetricsSnapshotOutput,
        handler=metrics_snapshot,
        tier=Tier.EXTENDED,
        bare=("metrics/snapshot",),
    )
