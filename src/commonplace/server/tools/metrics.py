"""metrics_snapshot: calls and latencies per method since the process started (contract 001, plus
quantiles).
"""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import TypedDict

from commonplace.dispatch.tool import Context, Nothing, Tier, Tool
from commonplace.server.service import ServerService


class Method(TypedDict):
    method: str
    count: int
    avgMs: float
    maxMs: float
    p50Ms: float
    p95Ms: float
    p99Ms: float
    errors: int


class Snapshot(TypedDict):
    generatedAt: str
    scope: Literal["server", "tenant"]
    uptimeSeconds: float
    methods: list[Method]


def tool(service: ServerService) -> Tool:
    def metrics_snapshot(ctx: Context, args: Nothing) -> dict[str, Any]:
        return service.snapshot(ctx.auth)

    return Tool(
        name="metrics_snapshot",
        toolset="server",
        title="Metrics snapshot",
        description="Calls, errors and latencies (mean, max, p50, p95, p99) per method since "
        "this process started; "
        "your own tenant's, or the whole server's with scope admin.",
        input=Nothing,
        output=Snapshot,
        handler=metrics_snapshot,
        tier=Tier.EXTENDED,
        bare=("metrics/snapshot",),
    )
