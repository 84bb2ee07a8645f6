"""The audit trail of one data folder as readers see it."""

from __future__ import annotations

from pathlib import Path

from commonplace.telemetry.audit import AuditLog
from commonplace.telemetry.trail import FolderTrail


def test_records_are_exported_as_they_were_written(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit")
    for tenant, ts in (("a", "2030-01-01T00:00:00.000Z"), ("b", "2030-02-01T00:00:00.000Z")):
        log.append({"type": "call", "tool": "t", "tenant": tenant, "ts": ts})
    log.close()
    trail = FolderTrail(tmp_path / "audit")
    (path,) = (tmp_path / "audit" / "chains").glob("*.jsonl")
    lines = path.read_bytes().splitlines()
    assert list(trail.export()) == lines
    assert list(trail.export(tenant="a")) == [lines[1]]
    assert list(trail.export(since="2030-01-15")) == [lines[2]]
    assert list(trail.export(since="2030-01-01", until="2030-01-15")) == [lines[1]]
