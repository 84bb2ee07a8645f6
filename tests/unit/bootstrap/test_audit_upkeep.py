"""Retention and anchors of a running server: one body over SQLite and PostgreSQL."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from commonplace.bootstrap.app import App, build
from commonplace.bootstrap.audit_upkeep import prune_audit
from commonplace.bootstrap.team import on_postgres
from commonplace.kernel.settings import AuditSettings, Settings, StorageSettings
from commonplace.storage.audit.anchor import read_anchors
from commonplace.telemetry.audit import AuditLog
from commonplace.telemetry.query import AuditFilter


@pytest.fixture(params=["sqlite", "postgres"])
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[App]:
    audit = AuditSettings(anchor=str(tmp_path / "anchor.jsonl"), anchor_minutes=0.01)
    settings = Settings(data=tmp_path / "data").replace(audit=audit)
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
        settings = settings.replace(storage=StorageSettings(url=url))
    with build(settings, local_user_writes=True) as made:
        yield made


def test_old_records_are_removed_and_the_trail_stays_intact(app: App) -> None:
    old = AuditLog(app.settings.audit_directory, clock=lambda: datetime(2020, 1, 1, tzinfo=UTC))
    for _ in range(2):
        old.append({"type": "call", "tool": "old", "tenant": "a"})
    old.close()
    assert app.services.audit is not None
    app.services.audit.append({"type": "call", "tool": "new", "tenant": "a"})
    removed = prune_audit(app.services, 30)
    assert removed == {"records": 3 if on_postgres(app.settings) else 0, "chains": 1}
    verdict = app.services.trail.verify()
    assert verdict.ok, verdict.problems
    records = app.services.trail.query(AuditFilter(limit=100))
    assert [record["tool"] for record in records] == ["new"]


def test_a_running_server_anchors_its_heads(app: App, tmp_path: Path) -> None:
    assert app.services.audit is not None
    app.services.audit.append({"type": "call", "tool": "new", "tenant": "a"})
    app.services.audit_upkeep.start()
    deadline = time.monotonic() + 20
    while not (tmp_path / "anchor.jsonl").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    app.services.audit_upkeep.close()
    marks = read_anchors(tmp_path / "anchor.jsonl")
    assert len(marks) == 1
    verdict = app.services.trail.verify()
    assert verdict.ok, verdict.problems


def test_nothing_runs_without_a_retention_or_an_anchor(tmp_path: Path) -> None:
    with build(Settings(data=tmp_path / "data")) as app:
        app.services.audit_upkeep.start()
        assert app.services.audit_upkeep._thread is None
