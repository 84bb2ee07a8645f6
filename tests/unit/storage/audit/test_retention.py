"""Old audit chains are removed, and verification can tell them from deleted ones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from commonplace.storage.audit.retention import prune_chains
from commonplace.telemetry.audit import AuditLog
from commonplace.telemetry.chain import registered_names
from commonplace.telemetry.verify import verify

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def write_chain(directory: Path, moment: datetime, records: int = 3) -> str:
    """Write a chain as a process did at this time; return its name."""
    before = set(directory.glob("chains/*.jsonl"))
    log = AuditLog(directory, clock=lambda: moment)
    for number in range(records):
        log.append({"type": "call", "tool": f"t{number}", "tenant": "a"})
    log.close()
    (made,) = set(directory.glob("chains/*.jsonl")) - before
    return made.stem


@pytest.fixture
def audit(tmp_path: Path) -> AuditLog:
    for days in (400, 300, 10):
        write_chain(tmp_path / "audit", NOW - timedelta(days=days))
    return AuditLog(tmp_path / "audit", clock=lambda: NOW)


def test_chains_older_than_the_retention_are_removed_and_the_rest_is_intact(
    audit: AuditLog,
) -> None:
    assert prune_chains(audit, "2029-12-01") == 2
    audit.close()
    verdict = verify(audit.directory)
    assert verdict.ok, verdict.problems
    assert verdict.chains == 2  # the one of ten days ago, and the one that recorded the removal
    assert len(registered_names(audit.directory)) == 2


def test_nothing_is_written_where_nothing_expires(audit: AuditLog) -> None:
    assert prune_chains(audit, "2020-01-01") == 0
    assert len(list(audit.directory.glob("chains/*.jsonl"))) == 3


def test_a_chain_that_was_deleted_by_hand_is_still_reported(audit: AuditLog) -> None:
    assert prune_chains(audit, "2029-01-01") == 1
    deleted = sorted(audit.directory.glob("chains/*.jsonl"))[0]
    deleted.unlink()
    (audit.directory / "heads" / f"{deleted.stem}.head").unlink()
    audit.close()
    assert [problem.chain for problem in verify(audit.directory).problems] == [deleted.stem]


def test_a_second_removal_remembers_what_others_still_mention(audit: AuditLog) -> None:
    assert prune_chains(audit, "2029-01-01") == 1
    audit.close()
    later = AuditLog(audit.directory, clock=lambda: NOW + timedelta(days=1000))
    assert prune_chains(later, "2031-01-01") == 3
    later.close()
    verdict = verify(audit.directory)
    assert verdict.ok, verdict.problems
    assert verdict.chains == 1


def test_a_chain_that_may_not_go_stays(audit: AuditLog) -> None:
    assert prune_chains(audit, "2029-12-01", lambda name, head: False) == 0


def test_a_damaged_chain_is_not_removed(audit: AuditLog) -> None:
    first = sorted(audit.directory.glob("chains/*.jsonl"))[0]
    first.write_bytes(first.read_bytes()[:-20])
    assert prune_chains(audit, "2029-01-01") == 0
