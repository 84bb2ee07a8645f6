"""Usage and feedback storage: one body over the files of a folder and the tables of a team."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from commonplace.instructions.engine.usage import ReportedUse
from commonplace.instructions.store.feedback import FeedbackEntries, FeedbackFilter, FeedbackStore
from commonplace.instructions.store.feedback_file import FeedbackFile
from commonplace.instructions.store.usage import UsageStorage, UsageStore
from commonplace.instructions.store.usage_file import UsageFile


@dataclass(frozen=True)
class Storages:
    """Two processes or servers, each with its own view of one storage."""

    usage: tuple[UsageStorage, UsageStorage]
    feedback: tuple[FeedbackEntries, FeedbackEntries]


@pytest.fixture(params=["folder", "postgresql"])
def storages(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storages]:
    if request.param == "folder":
        usage, feedback = tmp_path / "usage.json", tmp_path / "feedback.json"
        yield Storages(
            (UsageFile(usage), UsageFile(usage)), (FeedbackFile(feedback), FeedbackFile(feedback))
        )
        return
    from commonplace.instructions.store.postgres.feedback import FeedbackTable
    from commonplace.instructions.store.postgres.usage import UsageTable
    from commonplace.storage.postgres.database import open_database

    url = request.getfixturevalue("postgres_url")
    with open_database(url, pool_size=2) as one, open_database(url, pool_size=2) as two:
        yield Storages((UsageTable(one), UsageTable(two)), (FeedbackTable(one), FeedbackTable(two)))


def counters(storage: UsageStorage) -> UsageStore:
    return UsageStore(
        storage,
        clock=lambda: "2025-01-01T00:00:00.000Z",
        flush_seconds=600.0,
        rate_limited=False,
    )


def stored(storage: UsageStorage, id_: str) -> int:
    return int(storage.read().get(id_, {}).get("usageCount", 0))


def test_uses_of_two_servers_add_up(storages: Storages) -> None:
    first, second = (counters(storage) for storage in storages.usage)
    for _ in range(5):
        first.track("a", ReportedUse({"userId": "ann"}, {"success": True}))
    assert stored(storages.usage[1], "a") == 2  # the first two at once, the others in a batch
    for _ in range(3):
        second.track("a", ReportedUse({"userId": "bob"}, {"success": False}))
    first.close()
    second.close()
    assert stored(storages.usage[0], "a") == 8
    fresh = counters(storages.usage[1])
    assert fresh.details()["a"]["metrics"]["successes"] == 5
    assert fresh.details()["a"]["metrics"]["failures"] == 3
    assert fresh.details()["a"]["contexts"]["users"] == 2


def test_a_removed_counter_is_gone_for_the_other_server_too(storages: Storages) -> None:
    first, second = (counters(storage) for storage in storages.usage)
    first.track("a")
    first.track("b")
    storages.usage[1].read()
    assert dict(second.all())["a"].total == 1
    assert first.prune(["a", "never"]) == 1
    assert stored(storages.usage[1], "a") == 0
    assert [id_ for id_, _ in second.all()] == ["b"]
    second.track("a")
    assert stored(storages.usage[0], "a") == 1


def test_feedback_of_one_server_is_read_and_updated_on_the_other(storages: Storages) -> None:
    first, second = (
        FeedbackStore(entries, clock=lambda: "2025-01-01T00:00:00.000Z")
        for entries in storages.feedback
    )
    entry = {"type": "bug-report", "severity": "low", "title": "T", "description": "D"}
    made = [first.submit({**entry, "title": f"T{number}"}, "ann") for number in range(3)]
    page = second.select(FeedbackFilter(), 10, 0)
    assert page.total == 3
    assert [item["title"] for item in page.entries] == ["T2", "T1", "T0"]
    changed = second.update(made[1]["id"], "resolved", {"by": "bob"}, "bob")
    assert changed is not None
    assert first.get(made[1]["id"]) == changed
    assert first.counts(None).by_status == {"new": 2, "resolved": 1}
    assert second.update("0" * 16, "resolved", None, "bob") is None
    assert first.storage().entries == 3


def test_only_the_newest_feedback_stays(storages: Storages) -> None:
    for number in range(5):
        storages.feedback[number % 2].append({"id": f"{number}", "title": "x"}, 3)
    assert [entry["id"] for entry in storages.feedback[0].read()] == ["2", "3", "4"]
