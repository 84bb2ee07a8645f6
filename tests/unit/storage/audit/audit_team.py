"""Data folders that feed one audit trail in PostgreSQL."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from commonplace.storage.audit.records import AuditTable
from commonplace.storage.audit.shipper import AuditShipper
from commonplace.storage.audit.trail import TeamTrail
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.telemetry.audit import AuditLog
from commonplace.telemetry.query import AuditFilter


@dataclass
class FeedingFolder:
    """A data folder with an audit log and what ships it."""

    name: str
    directory: Path
    table: AuditTable
    log: AuditLog = field(init=False)
    shipper: AuditShipper = field(init=False)

    def __post_init__(self) -> None:
        self.log = AuditLog(self.directory)
        self.restart()

    def restart(self) -> None:
        """Begin as a new process that knows nothing; the one before ended without closing."""
        if hasattr(self, "shipper"):
            self.shipper._leader.release()  # as the operating system does
        self.shipper = AuditShipper(self.directory, self.table, self.name)

    def write(self, tool: str, tenant: str = "team-a", ts: str | None = None) -> None:
        record = {"type": "call", "tool": tool, "tenant": tenant, "outcome": "ok"}
        self.log.append({**record, "ts": ts} if ts is not None else record)

    def chain_files(self) -> list[Path]:
        return sorted((self.directory / "chains").glob("*.jsonl"))


@dataclass
class AuditTeam:
    """Two folders on one database."""

    database: PostgresDatabase
    table: AuditTable
    first: FeedingFolder
    second: FeedingFolder
    trail: TeamTrail

    def tools(self, **wanted: str) -> list[str]:
        records = self.table.query(AuditFilter(**wanted, limit=1000))  # type: ignore[arg-type]
        return sorted(str(record["tool"]) for record in records)
