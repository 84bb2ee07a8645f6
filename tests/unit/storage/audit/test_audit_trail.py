"""Verification over all servers: what was changed, removed, or never arrived is found."""

from __future__ import annotations

import pytest
from audit_team import AuditTeam

from commonplace.storage.audit.trail import TeamTrail
from commonplace.telemetry.trail import FolderTrail


def problems(team: AuditTeam) -> list[str]:
    return [problem.problem for problem in team.trail.verify().problems]


def fill(team: AuditTeam) -> None:
    for number in range(4):
        team.first.write(f"a-{number}")
        team.second.write(f"b-{number}")
    team.first.shipper.ship_once()
    team.second.shipper.ship_once()


def test_an_intact_trail_of_two_servers_is_verified_from_either(team: AuditTeam) -> None:
    fill(team)
    for folder in (team.first, team.second):
        trail = TeamTrail(team.table, folder=FolderTrail(folder.directory), silent_seconds=60)
        verdict = trail.verify()
        assert verdict.ok, verdict.problems
        assert (verdict.chains, verdict.records, verdict.warnings) == (2, 10, [])


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        (
            "UPDATE audit_record SET line = replace(line, 'a-1', 'x-1') WHERE tool = 'a-1'",
            "the record does not match its hash: it was changed",
        ),
        ("DELETE FROM audit_record WHERE tool = 'a-1'", "found record 3 instead of 2"),
        ("DELETE FROM audit_record WHERE tool = 'a-3'", "5 records arrived, and not all are left"),
        (
            "UPDATE audit_chain SET head_hash = repeat('0', 64) WHERE origin = 'host-a'",
            "its server recorded another record here",
        ),
        (
            "UPDATE audit_record SET seq = 9 WHERE tool = 'a-3'",
            "5 records arrived, and not all are left",
        ),
    ],
)
def test_a_changed_table_is_found(team: AuditTeam, statement: str, found: str) -> None:
    fill(team)
    with team.database.connect() as connection:
        connection.execute(statement)
    assert problems(team) == [found]


def test_a_chain_that_was_removed_whole_is_missed_by_its_witness(team: AuditTeam) -> None:
    fill(team)
    name = team.first.chain_files()[0].stem
    team.first.log.close()
    team.first.log = type(team.first.log)(team.first.directory)
    team.first.write("later")
    team.first.shipper.ship_once()
    with team.database.connect() as connection:
        connection.execute("DELETE FROM audit_record WHERE chain = %s", (name,))
        connection.execute("DELETE FROM audit_chain WHERE chain = %s", (name,))
    (problem,) = problems(team)
    assert problem.startswith("no record of the chain arrived; ")


def test_records_of_a_lost_server_are_a_known_gap(team: AuditTeam) -> None:
    """Its machine burned between the report of its heads and the arrival of the records."""
    fill(team)
    team.first.write("lost-1")
    team.first.write("lost-2")
    name = team.first.chain_files()[0].stem
    head = team.first.shipper._spool.head(name)
    assert head is not None
    team.table.report("host-a", {name: head})
    (problem,) = problems(team)
    assert problem == "2 of 7 records did not arrive from host-a; its server recorded them"


def test_records_of_a_running_server_may_be_on_their_way(team: AuditTeam) -> None:
    fill(team)
    team.first.write("soon")
    name = team.first.chain_files()[0].stem
    head = team.first.shipper._spool.head(name)
    assert head is not None
    team.table.report("host-a", {name: head})
    verdict = TeamTrail(team.table, silent_seconds=60).verify()
    assert verdict.ok
    assert ["did not arrive" in warning.problem for warning in verdict.warnings] == [True]


def test_a_killed_server_is_named_and_one_that_ended_as_planned_is_not(team: AuditTeam) -> None:
    fill(team)
    team.second.shipper.close()
    verdict = team.trail.verify()
    assert verdict.ok
    (warning,) = verdict.warnings
    assert warning.chain == "host-a"
    assert "has not reported since" in warning.problem


def test_retention_cuts_old_records_and_the_rest_stays_verifiable(team: AuditTeam) -> None:
    for day in range(1, 5):
        team.first.write(f"a-{day}", ts=f"2999-01-0{day}T00:00:00.000Z")
        team.second.write(f"b-{day}", ts=f"2999-02-0{day}T00:00:00.000Z")
    team.first.shipper.ship_once()
    team.second.shipper.ship_once()
    assert team.table.cut("2999-01-03") == 4  # both opening records, a-1 and a-2
    assert team.tools() == ["a-3", "a-4", "b-1", "b-2", "b-3", "b-4"]
    verdict = team.trail.verify()
    assert verdict.ok, verdict.problems
    assert verdict.records == 6
    team.first.write("later")
    team.first.shipper.ship_once()
    assert team.trail.verify().ok


def test_a_chain_that_expired_whole_stays_verifiable(team: AuditTeam) -> None:
    fill(team)
    assert team.table.cut("9999") == 10
    verdict = team.trail.verify()
    assert (verdict.ok, verdict.records) == (True, 0)
    team.first.write("later")
    team.first.restart()
    team.first.shipper.ship_once()
    assert team.tools() == ["later"]
    assert team.trail.verify().ok


def test_records_are_exported_as_they_were_written(team: AuditTeam) -> None:
    fill(team)
    exported = set(team.table.export())
    written = {
        line
        for folder in (team.first, team.second)
        for path in folder.chain_files()
        for line in path.read_bytes().splitlines()
    }
    assert exported == written
    assert len(list(team.table.export(tenant="team-a"))) == 8
