"""Data folders that feed one audit trail in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from audit_team import AuditTeam, FeedingFolder

from commonplace.storage.audit.records import AuditTable
from commonplace.storage.audit.trail import TeamTrail
from commonplace.storage.postgres.database import open_database


@pytest.fixture
def team(postgres_url: str, tmp_path: Path) -> Iterator[AuditTeam]:
    with open_database(postgres_url, pool_size=3) as database:
        table = AuditTable(database)
        folders = [
            FeedingFolder(name, tmp_path / name / "audit", table) for name in ("host-a", "host-b")
        ]
        made = AuditTeam(
            database, table, *folders, TeamTrail(table, silent_seconds=0.0, recheck_seconds=0.0)
        )
        yield made
        for folder in folders:
            folder.log.close()
            folder.shipper.close()
