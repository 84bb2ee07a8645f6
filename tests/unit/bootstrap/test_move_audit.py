"""Audit chains of a data folder move into the database of a team."""

from __future__ import annotations

from pathlib import Path

from commonplace.bootstrap.move_audit import AuditMover
from commonplace.storage.audit.records import AuditTable
from commonplace.storage.audit.trail import TeamTrail
from commonplace.storage.postgres.database import open_database
from commonplace.telemetry.audit import AuditLog
from commonplace.telemetry.trail import FolderTrail


def write_chain(data: Path, records: int) -> None:
    log = AuditLog(data / "audit")
    for number in range(records):
        log.append({"type": "call", "tool": f"t{number}", "tenant": "a"})
    log.close()


def test_chains_arrive_once_and_verify(tmp_path: Path, postgres_url: str) -> None:
    for records in (2, 3):
        write_chain(tmp_path, records)
    with open_database(postgres_url, pool_size=2) as database:
        mover = AuditMover(database)
        assert len(mover.lacking(tmp_path)) == 2
        first = mover.move(tmp_path, lambda done, total: None)
        assert (first.found, first.added, first.present, first.refused) == (7, 7, 0, ())
        assert mover.lacking(tmp_path) == []
        second = mover.move(tmp_path, lambda done, total: None)
        assert (second.found, second.added, second.present) == (7, 0, 7)
        assert second.digest == first.digest
        verdict = TeamTrail(
            AuditTable(database), folder=FolderTrail(tmp_path / "audit"), silent_seconds=0.0
        ).verify()
        assert (verdict.ok, verdict.records, verdict.warnings) == (True, 7, [])


def test_a_forged_chain_is_refused_and_named(tmp_path: Path, postgres_url: str) -> None:
    write_chain(tmp_path, 2)
    (path,) = (tmp_path / "audit" / "chains").glob("*.jsonl")
    path.write_bytes(path.read_bytes().replace(b'"t1"', b'"x1"'))
    with open_database(postgres_url, pool_size=2) as database:
        moved = AuditMover(database).move(tmp_path, lambda done, total: None)
        assert moved.refused == (path.stem,)
        assert moved.added == 0


def test_a_folder_without_audit_lacks_nothing(tmp_path: Path, postgres_url: str) -> None:
    with open_database(postgres_url, pool_size=1) as database:
        assert AuditMover(database).lacking(tmp_path) == []
        assert AuditMover(database).move(tmp_path, lambda done, total: None).found == 0
