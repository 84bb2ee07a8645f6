"""The audit trail as readers see it: of one data folder, or of all servers of a team."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from commonplace.kernel.json_types import JsonObject
from commonplace.telemetry.query import AuditFilter, query_audit
from commonplace.telemetry.verify import ChainVerdict, verify


class AuditTrail(Protocol):
    """Records to query, and whether they are complete."""

    def query(self, wanted: AuditFilter) -> list[JsonObject]:
        """Return the newest matching records."""
        ...

    def verify(self) -> ChainVerdict:
        """Check every chain."""
        ...


class FolderTrail:
    """The trail of one data folder."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def query(self, wanted: AuditFilter) -> list[JsonObject]:
        return query_audit(self._directory, wanted)

    def verify(self) -> ChainVerdict:
        return verify(self._directory)
