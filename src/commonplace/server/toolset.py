"""The toolset `server`: its names, without the imports of its tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from commonplace.dispatch.registry import Toolset
from commonplace.dispatch.tool import Tool
from commonplace.kernel.errors import Code
from commonplace.kernel.json_types import Json

if TYPE_CHECKING:
    from commonplace.server.service import ServerService

BARE = frozenset({"health/check", "metrics/snapshot"})
NAMES = (
    frozenset({"health_check", "metrics_snapshot", "server_status", "audit_query", "audit_verify"})
    | BARE
)


def toolset(
    service: Callable[[], ServerService],
    trace: Callable[[str, Json], object] = lambda label, data: None,
) -> Toolset:
    """Return the toolset; the service is asked for when the first tool is loaded."""

    def load() -> Sequence[Tool]:
        from commonplace.server.tools import audit, health, metrics, status

        built = service()
        return (
            health.tool(built, trace),
            metrics.tool(built),
            status.tool(built),
            *audit.tools(built),
        )

    def codes() -> Sequence[Code]:
        from commonplace.storage.backup.errors import CODES as ARCHIVE_CODES
        from commonplace.storage.credentials.key_records import CODES as KEY_CODES
        from commonplace.storage.locks.data_folder import CODES as OCCUPANCY_CODES
        from commonplace.telemetry.errors import CODES as AUDIT_CODES

        return (*AUDIT_CODES, *KEY_CODES, *OCCUPANCY_CODES, *ARCHIVE_CODES)

    return Toolset(
        "server", "Health, metrics and the audit trail of this server.", NAMES, BARE, load, codes
    )
