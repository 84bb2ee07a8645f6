"""Bringing instructions, usage and feedback of a folder into the database of a team."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from commonplace.bootstrap.move_counts import FeedbackMover, UsageMover
from commonplace.bootstrap.move_in import require_moved_in
from commonplace.bootstrap.move_instructions import InstructionMover
from commonplace.instructions.assembly import build_service, build_shared_service
from commonplace.instructions.engine.usage import ReportedUse
from commonplace.instructions.review_service import ReviewService
from commonplace.instructions.service import InstructionsService
from commonplace.instructions.store.feedback import FeedbackFilter
from commonplace.kernel.auth import local_user
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import InstructionsSettings, Settings
from commonplace.storage.errors import NOT_MOVED_IN
from commonplace.storage.postgres.database import PostgresDatabase, open_database

GATES = '{"gates": []}'
FEEDBACK = {"type": "bug-report", "severity": "low", "title": "T", "description": "D"}


@pytest.fixture
def database(postgres_url: str) -> Iterator[PostgresDatabase]:
    with open_database(postgres_url, pool_size=3) as opened:
        yield opened


@pytest.fixture
def teams(database: PostgresDatabase) -> Iterator[Callable[[], InstructionsService]]:
    opened: list[InstructionsService] = []

    def make() -> InstructionsService:
        service = build_shared_service(database, SETTINGS, mutation_enabled=lambda: True)
        service.load()
        opened.append(service)
        return service

    yield make
    for service in opened:
        service.close()


SETTINGS = InstructionsSettings(watch=False, usage_rate_limit_disabled=True)


async def _add(service: InstructionsService, id_: str, body: str, overwrite: bool) -> None:
    await service.add(local_user(), {"id": id_, "body": body}, lax=True, overwrite=overwrite)


def add(service: InstructionsService, id_: str, body: str, *, overwrite: bool = False) -> None:
    import asyncio

    asyncio.run(_add(service, id_, body, overwrite))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder that served for a while."""
    service = build_service(
        tmp_path / "instructions", tmp_path, SETTINGS, mutation_enabled=lambda: True
    )
    add(service, "a", "First")
    add(service, "a", "Second", overwrite=True)
    add(service, "b", "B")
    (tmp_path / "instructions" / "by-hand.json").write_text('{"id": "by-hand", "body": "Hand."}')
    (tmp_path / "instructions" / "broken.json").write_text("{")
    (tmp_path / "instructions" / "gates.json").write_text(GATES)
    for number in range(5):
        service.track_use(
            local_user(), "a", ReportedUse({"userId": f"u{number % 2}"}, {"success": True})
        )
    service.feedback.submit(local_user(), FEEDBACK)
    service.close()
    return tmp_path


def move(mover: Any, folder: Path) -> Any:
    return mover.move(folder, lambda done, total: None)


def mover_of(folder: Path, database: PostgresDatabase) -> InstructionMover:
    return InstructionMover(Settings(data=folder), database)


def test_instructions_arrive_byte_by_byte_with_their_history(
    folder: Path, database: PostgresDatabase, teams: Callable[[], InstructionsService]
) -> None:
    mover = mover_of(folder, database)
    moved = move(mover, folder)
    assert (moved.found, moved.added, moved.present, moved.kept) == (5, 4, 0, ())
    assert moved.refused == ("broken.json: parse",)
    team = teams()
    old = build_service(folder / "instructions", folder, SETTINGS, mutation_enabled=lambda: False)
    old.load()
    assert team.export(local_user()).catalogue_hash == old.export(local_user()).catalogue_hash
    for id_ in ("a", "b", "by-hand"):
        ours = team.get(local_user(), id_)
        theirs = old.get(local_user(), id_)
        assert ours is not None
        assert theirs is not None
        assert _without_usage(ours.item) == _without_usage(theirs.item)
    assert team.evaluate_gates(local_user()) is not None
    history = team.history(local_user(), "a")
    assert [change.action for change in history.changes] == ["overwrite", "add"]
    assert team.history(local_user(), "by-hand").changes[0].action == "moved in"
    old.close()


def _without_usage(item: Any) -> dict[str, Any]:
    usage = ("usageCount", "firstSeenTs", "lastUsedAt")
    return {name: value for name, value in item.items() if name not in usage}


def test_repeating_the_move_changes_nothing_and_verifies_the_same(
    folder: Path, database: PostgresDatabase
) -> None:
    mover = mover_of(folder, database)
    first, second = move(mover, folder), move(mover, folder)
    assert (second.added, second.present, second.digest) == (0, 4, first.digest)
    for counts in (UsageMover(database), FeedbackMover(database)):
        one, two = move(counts, folder), move(counts, folder)
        assert (one.found, one.added, two.added, two.present) == (1, 1, 0, 1)
        assert one.digest == two.digest
        assert counts.lacking(folder) == []


def test_what_the_team_changed_or_removed_stays_as_the_team_has_it(
    folder: Path, database: PostgresDatabase, teams: Callable[[], InstructionsService]
) -> None:
    mover = mover_of(folder, database)
    move(mover, folder)
    team = teams()
    add(team, "a", "Changed by the team", overwrite=True)
    from commonplace.instructions.use_cases.removing import RemovalOptions

    team.remove(local_user(), ["b"], RemovalOptions())
    assert mover.lacking(folder) == []
    again = move(mover, folder)
    assert (again.added, again.kept) == (0, ("a", "b"))
    team.confirmation.load()
    found = team.get(local_user(), "a")
    assert found is not None
    assert found.item["body"] == "Changed by the team"
    assert team.get(local_user(), "b") is None


def test_a_server_may_not_start_before_its_rules_are_moved(
    folder: Path, database: PostgresDatabase
) -> None:
    mover = mover_of(folder, database)
    assert mover.lacking(folder) == ["a", "b", "by-hand", "gates.json"]
    with pytest.raises(CommonplaceError) as refused:
        require_moved_in(folder, [mover])
    assert refused.value.code is NOT_MOVED_IN
    move(mover, folder)
    require_moved_in(folder, [mover])


def test_usage_of_two_folders_adds_up_and_later_uses_follow(
    folder: Path, database: PostgresDatabase, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    line = {"usageCount": 7, "firstSeenTs": "2024-01-01T00:00:00.000Z", "lastUsedAt": "2024-02-01"}
    (other / "usage-snapshot.json").write_text(json.dumps({"a": line}))
    mover = UsageMover(database)
    move(mover, folder)
    move(mover, other)
    assert _stored_usage(database, "a")["usageCount"] == 12
    assert _stored_usage(database, "a")["firstSeenTs"] == "2024-01-01T00:00:00.000Z"
    assert _stored_usage(database, "a")["contexts"]["users"] == {"u0": 3, "u1": 2}
    (other / "usage-snapshot.json").write_text(json.dumps({"a": {**line, "usageCount": 9}}))
    assert mover.lacking(other) == ["a"]
    move(mover, other)
    assert _stored_usage(database, "a")["usageCount"] == 14


def _stored_usage(database: PostgresDatabase, id_: str) -> Any:
    from commonplace.instructions.store.postgres.usage import UsageTable

    return UsageTable(database).read()[id_]


def test_feedback_keeps_its_order_among_that_of_the_team(
    folder: Path, database: PostgresDatabase, teams: Callable[[], InstructionsService]
) -> None:
    team = teams()
    newer = team.feedback.submit(local_user(), {**FEEDBACK, "title": "Newer"})
    move(FeedbackMover(database), folder)
    page = team.feedback.list_entries(local_user(), FeedbackFilter(), limit=10, offset=0)
    assert [entry["title"] for entry in page.entries] == ["Newer", "T"]
    changed = team.feedback.update(
        local_user(), page.entries[1]["id"], status="resolved", metadata=None
    )
    assert changed is not None
    again = move(FeedbackMover(database), folder)
    assert again.kept == (changed["id"],)
    assert team.feedback.get(local_user(), newer["id"]) == newer


def test_a_damaged_file_stops_the_move(tmp_path: Path, database: PostgresDatabase) -> None:
    (tmp_path / "usage-snapshot.json").write_text("[")
    with pytest.raises(CommonplaceError, match="damaged"):
        move(UsageMover(database), tmp_path)


def test_reviews_that_wait_move_once(
    folder: Path, database: PostgresDatabase, teams: Callable[[], InstructionsService]
) -> None:
    service = build_service(
        folder / "instructions", folder, SETTINGS, mutation_enabled=lambda: True
    )
    ReviewService(service.parts_of).submit(local_user(), "a", {"body": "Proposed."}, note="look")
    service.close()
    mover = mover_of(folder, database)
    move(mover, folder)
    move(mover, folder)
    team = teams()
    team.load()
    (event,) = ReviewService(team.parts_of).events(local_user(), "a")
    assert (event.note, event.entry) == ("look", {"body": "Proposed.", "id": "a"})
