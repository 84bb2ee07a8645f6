"""Audit records of data folders reach PostgreSQL: all of them, in order, once."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from audit_team import AuditTeam

from commonplace.storage.audit.shipper import AuditShipper
from commonplace.telemetry.query import AuditFilter


def wait_until(condition: Callable[[], bool], seconds: float = 10.0) -> float:
    began = time.monotonic()
    while not condition():
        assert time.monotonic() < began + seconds, "the condition was not met in time"
        time.sleep(0.02)
    return time.monotonic() - began


def test_records_of_two_servers_are_queried_together(team: AuditTeam) -> None:
    team.first.write("keys_add")
    team.second.write("file_write", "team-b")
    assert team.first.shipper.ship_once()
    assert team.second.shipper.ship_once()
    assert team.tools() == ["file_write", "keys_add"]
    assert team.tools(tenant="team-b") == ["file_write"]
    (record,) = team.table.query(AuditFilter(tool="keys_add"))
    assert record["server"] == "host-a"
    assert record["chain"] == team.first.chain_files()[0].stem


def test_records_arrive_within_two_seconds(team: AuditTeam) -> None:
    team.first.shipper.start()
    team.first.write("first")
    wait_until(lambda: team.tools() == ["first"])
    team.first.write("second")
    assert wait_until(lambda: team.tools() == ["first", "second"]) < 2.0
    assert team.first.shipper.lag_seconds == 0.0


def test_a_pass_after_a_kill_repeats_no_record(team: AuditTeam) -> None:
    for number in range(5):
        team.first.write(f"before-{number}")
    team.first.shipper.ship_once()
    team.first.restart()
    for number in range(5):
        team.first.write(f"after-{number}")
    team.first.shipper.ship_once()
    team.first.shipper.ship_once()
    assert len(team.tools()) == 10
    assert team.trail.verify().records == 11  # and the opening record of the chain


def test_a_killed_process_without_new_records_is_taken_over(team: AuditTeam) -> None:
    team.first.write("one")
    team.first.shipper.ship_once()
    team.first.restart()
    team.first.shipper.ship_once()
    team.first.write("two")
    team.first.shipper.ship_once()
    assert team.tools() == ["one", "two"]


def test_two_processes_of_a_folder_ship_each_record_once(team: AuditTeam) -> None:
    other = AuditShipper(team.first.directory, team.table, "host-a")
    team.first.write("one")
    assert team.first.shipper.ship_once()
    team.first.write("two")
    assert other.ship_once()  # it leaves the work to the first
    assert team.tools() == ["one"]
    team.first.shipper.close()
    assert other.ship_once()
    assert team.tools() == ["one", "two"]
    other.close()


def test_two_shippers_that_both_believe_to_lead_repeat_nothing(team: AuditTeam) -> None:
    """A lock of a network file system may fail; the database still takes each record once."""
    team.first.write("one")
    team.first.shipper.ship_once()
    stale = dict(team.first.shipper._positions)
    team.first.write("two")
    team.first.shipper.ship_once()
    team.first.shipper._positions = stale
    team.first.write("three")
    team.first.shipper.ship_once()
    assert team.tools() == ["one", "three", "two"]


def test_a_batch_larger_than_a_block_arrives_whole(team: AuditTeam) -> None:
    for number in range(1200):
        team.first.write(f"tool-{number}")
    team.first.log.append({"type": "call", "tool": "large", "arguments": {"x": "y" * 3_000_000}})
    team.first.write("last")
    team.first.shipper.ship_once()
    assert team.trail.verify().records == 1203
    assert team.tools(tool="last") == ["last"]


def test_a_spool_that_was_changed_is_not_taken_in_and_is_reported(team: AuditTeam) -> None:
    team.first.write("honest")
    team.first.write("removed")
    (path,) = team.first.chain_files()
    path.write_bytes(path.read_bytes().replace(b"removed", b"forged_"))
    team.first.shipper.ship_once()
    assert team.tools() == []  # a batch is taken in whole or not at all
    verdict = team.trail.verify()
    assert not verdict.ok
    assert any("does not match its hash" in problem.problem for problem in verdict.problems)


def test_a_spool_that_differs_from_what_arrived_is_reported(team: AuditTeam) -> None:
    team.first.write("one")
    team.first.shipper.ship_once()
    (path,) = team.first.chain_files()
    first_line = path.read_bytes().split(b"\n")[0]
    path.write_bytes(first_line + b"\n")
    team.first.restart()
    team.first.shipper.ship_once()
    verdict = team.trail.verify()
    assert [problem.problem for problem in verdict.problems] == [
        "the folder ends before record 1, which has arrived"
    ]


@pytest.mark.parametrize("started", [True, False])
def test_catching_up_brings_what_is_written_now(team: AuditTeam, started: bool) -> None:
    if started:
        team.first.shipper.start()
    team.first.write("one")
    assert team.first.shipper.catch_up(10.0)
    assert team.tools() == ["one"]
