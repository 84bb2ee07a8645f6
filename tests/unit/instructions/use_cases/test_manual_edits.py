"""Files edited by hand or unwritable, and rules that change: no edit is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from catalogue_helpers import CALLER, CatalogueDesk, add_entry, add_together

from commonplace.instructions.store.watcher import FolderWatcher
from commonplace.kernel.errors import CommonplaceError


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[CatalogueDesk]:
    opened = CatalogueDesk(tmp_path)
    yield opened
    opened.service.close()


def test_a_write_sees_the_latest_manual_edit(desk: CatalogueDesk) -> None:
    desk.add("r", body="v1")
    desk.edit("r", "HAND")
    entry = {"id": "r", "tags": ["t"]}
    assert add_entry(desk.service, entry).overwritten
    assert desk.item("r")["body"] == "HAND"
    desk.edit("r", "AGAIN")
    assert desk.govern("r", owner="team").changed
    assert desk.item("r")["body"] == "AGAIN"
    desk.edit("r", "LAST")
    desk.add("r", body="v2")
    desk.service.restore(CALLER, "r")
    assert desk.item("r")["body"] == "LAST"


def test_a_new_file_counts_as_existing(desk: CatalogueDesk) -> None:
    desk.add("first")
    desk.edit("new", "HAND")
    assert add_entry(desk.service, {"id": "new", "body": "agent"}, overwrite=False).skipped
    desk.edit("other", "HAND")
    assert desk.import_("skip", {"id": "other", "body": "agent"}).skipped == 1
    assert [desk.item(id_)["body"] for id_ in ("new", "other")] == ["HAND", "HAND"]


def test_expected_hash_is_compared_with_the_file(desk: CatalogueDesk) -> None:
    known = desk.add("r", body="v1").entry.source_hash
    desk.edit("r", "HAND")
    with pytest.raises(CommonplaceError) as mismatch:
        add_entry(desk.service, {"id": "r", "body": "v2"}, expected_hash=known)
    assert mismatch.value.code.name == "HASH_MISMATCH"


@pytest.mark.parametrize("mode", ["skip", "merge"])
def test_an_import_does_not_replace_an_unreadable_file(desk: CatalogueDesk, mode: str) -> None:
    path = desk.folder / "p.json"
    path.write_text('{"id":"p","body":"PRECIOUS",}')
    result = desk.import_(mode, {"id": "p", "body": "n"}, {"id": "q", "body": "n"})
    assert [(failure.index, failure.error) for failure in result.failures] == [
        (0, "existing_file_unreadable")
    ]
    assert (result.imported, path.read_text()) == (1, '{"id":"p","body":"PRECIOUS",}')
    assert desk.import_("overwrite", {"id": "p", "body": "n"}).imported == 1


def test_one_file_that_cannot_be_written_fails_alone(desk: CatalogueDesk) -> None:
    (desk.folder / "dd.json").mkdir()
    result = desk.import_("overwrite", *({"id": id_, "body": "n"} for id_ in ("j1", "dd", "j2")))
    assert result.imported == 2
    failures = [(failure.index, failure.id, failure.error) for failure in result.failures]
    assert failures == [(1, "dd", "unwritable")]
    ids = ("g1", "g2", "dd", "g3", "g4")
    results = add_together(desk.service, [{"id": id_, "body": "n"} for id_ in ids])
    created = [not isinstance(result, Exception) and result.created for result in results]
    assert created == [True, True, False, True, True]
    assert "dd.json" in str(results[2])
    with pytest.raises(CommonplaceError):
        desk.import_("overwrite", {"id": "dd", "body": "n"})


def test_a_replacement_is_not_merged_into_what_it_replaces(desk: CatalogueDesk) -> None:
    desk.add(
        "old",
        body="same",
        createdAt="2020-01-01T00:00:00Z",
        requirement="deprecated",
        deprecatedBy="new",
    )
    desk.add("new", body="same", createdAt="2021-01-01T00:00:00Z")
    desk.groom(merge_duplicates=True)
    assert desk.item("new")["requirement"] != "deprecated"
    desk.groom(merge_duplicates=True, remove_deprecated=True)
    assert desk.ids() == ["new"]


@pytest.mark.parametrize("chain", ["abc", "cba"])
def test_chains_of_replacements_are_removed_whatever_their_names(
    desk: CatalogueDesk, chain: str
) -> None:
    for id_, following in pairwise(chain):
        desk.add(id_, requirement="deprecated", deprecatedBy=following)
    desk.add(chain[-1])
    for id_, following in (
        ("x", "y"),
        ("y", "x"),
        ("z", "missing"),
    ):  # these chains end nowhere
        desk.add(id_, requirement="deprecated", deprecatedBy=following)
    assert desk.groom(remove_deprecated=True).deprecated_removed == 2
    assert desk.ids() == [chain[-1], "x", "y", "z"]


def test_a_merged_priority_brings_its_tier(desk: CatalogueDesk) -> None:
    desk.add("d1", body="same", createdAt="2020-01-01T00:00:00Z", priority=90)
    desk.add("d2", body="same", createdAt="2021-01-01T00:00:00Z", priority=5)
    desk.groom(merge_duplicates=True)
    merged = desk.item("d1")
    assert (merged["priority"], merged["priorityTier"], merged["reviewIntervalDays"]) == (
        5,
        "P1",
        30,
    )


def test_a_new_owner_rule_applies_to_entries_without_an_owner(desk: CatalogueDesk) -> None:
    (desk.folder / "a.json").write_text('{"id": "a", "body": "x"}')
    (desk.folder / "b.json").write_text('{"id": "b", "body": "x", "owner": "somebody"}')
    watcher = FolderWatcher(desk.store)
    watcher.compare()
    assert desk.item("a")["owner"] == "unowned"
    (desk.folder / "owners.json").write_text(
        '{"ownership": [{"pattern": ".*", "owner": "team-n"}]}'
    )
    watcher.compare(["owners.json"])
    assert [desk.item(id_)["owner"] for id_ in "ab"] == ["team-n", "somebody"]
    (desk.folder / "owners.json").unlink()
    watcher.compare()
    assert desk.item("a")["owner"] == "unowned"


def test_a_governance_update_obeys_owner_rules_and_the_new_interval(desk: CatalogueDesk) -> None:
    desk.add("m", requirement="mandatory", owner="team", priority=50)
    with pytest.raises(CommonplaceError) as refused:
        desk.govern("m", owner="unowned")
    assert "require owner" in refused.value.message
    update = desk.govern("m", lastReviewedAt="2026-01-01T00:00:00Z", reviewIntervalDays=10)
    assert update.entry.document["nextReviewDue"].startswith("2026-01-11")
    desk.add("n", priority=50, owner="team", categories=["c"])
    update = desk.govern("n", lastReviewedAt="2026-01-01T00:00:00Z", priorityTier="P1")
    assert update.entry.document["nextReviewDue"].startswith("2026-01-31")


def test_an_unusable_owner_rule_is_reported_and_the_others_apply(desk: CatalogueDesk) -> None:
    rules = [
        {"pattern": "a(?=b)", "owner": "nobody"},
        {"pattern": "^a"},
        5,
        {"pattern": "^a", "owner": "team-a"},
    ]
    (desk.folder / "owners.json").write_text(json.dumps({"ownership": rules}))
    desk.add("ab")
    assert desk.item("ab")["owner"] == "team-a"
    problem = desk.problems()["owners.json"]
    assert all(part in problem for part in ("'a(?=b)' of rule 1", "rule 2", "rule 3"))


def test_a_new_interval_moves_the_next_review_and_other_edits_do_not(desk: CatalogueDesk) -> None:
    desk.add("r", priority=50, lastReviewedAt="2026-01-01T00:00:00Z")
    assert desk.item("r")["nextReviewDue"].startswith("2026-04-01")  # P3: 90 days after the review
    for patch in ({"reviewIntervalDays": 10}, {"owner": "team", "classification": "public"}):
        update = desk.govern("r", **patch)
        assert update.entry.document["nextReviewDue"].startswith("2026-01-11")
    desk.add("r", priority=45)
    assert desk.item("r")["nextReviewDue"].startswith("2026-01-11")
    desk.add("r", lastReviewedAt="2026-02-01T00:00:00Z")
    assert desk.item("r")["nextReviewDue"].startswith("2026-02-11")


def test_a_new_priority_changes_derived_values_but_not_given_ones(
    desk: CatalogueDesk,
) -> None:
    desk.add("set", priority=50, reviewIntervalDays=7, riskScore=3, priorityTier="P4")
    desk.add("set", priority=5)
    item = desk.item("set")
    assert (item["reviewIntervalDays"], item["riskScore"], item["priorityTier"]) == (7, 3, "P4")
    desk.add("derived", priority=50)
    desk.add("derived", priority=5)
    item = desk.item("derived")
    assert (item["reviewIntervalDays"], item["riskScore"], item["priorityTier"]) == (30, 100, "P1")
    desk.govern("set", priorityTier="P2")
    assert desk.item("set")["reviewIntervalDays"] == 7
    desk.govern("derived", priorityTier="P2", owner="team")
    assert desk.item("derived")["reviewIntervalDays"] == 60


@pytest.mark.parametrize("field", ["status", "classification", "priorityTier"])
def test_a_list_in_place_of_a_word_is_an_invalid_patch(desk: CatalogueDesk, field: str) -> None:
    desk.add("a")
    with pytest.raises(CommonplaceError) as refused:
        desk.govern("a", **{field: []})
    assert refused.value.code.name == "INVALID_INSTRUCTION"


def test_times_are_stored_in_utc(desk: CatalogueDesk) -> None:
    desk.add("a", nextReviewDue="2020-01-01T05:00:00+14:00", createdAt="2026-W01-1")
    item = desk.item("a")
    assert (item["nextReviewDue"], item["createdAt"]) == (
        "2019-12-31T15:00:00.000Z",
        "2025-12-29T00:00:00.000Z",
    )
    desk.add("b", nextReviewDue="2019-12-31T15:00:00Z")
    assert desk.item("b")["nextReviewDue"] == "2019-12-31T15:00:00Z"


def test_repeating_a_value_changes_nothing(desk: CatalogueDesk) -> None:
    desk.add(
        "k",
        priority=30,
        reviewIntervalDays=7,
        nextReviewDue="2030-01-01T00:00:00Z",
        priorityTier="P4",
    )
    add_entry(desk.service, {"id": "k", "priority": 30, "priorityTier": "P4"}, lax=False)
    item = desk.item("k")
    assert (item["reviewIntervalDays"], item["nextReviewDue"], item["priorityTier"]) == (
        7,
        "2030-01-01T00:00:00Z",
        "P4",
    )
    desk.add("f", reviewIntervalDays=10.0)
    assert desk.item("f")["reviewIntervalDays"] == 10


@pytest.mark.parametrize(
    "gate", [{"op": []}, {"op": {}}, {"severity": []}, {"type": []}, {"where": {"requirement": []}}]
)
def test_a_wrong_type_in_gates_is_reported(desk: CatalogueDesk, gate: dict[str, Any]) -> None:
    (desk.folder / "gates.json").write_text(
        json.dumps({"gates": [{"id": "g", "op": "==", "value": 1, **gate}]})
    )
    assert "gates.json" in desk.problems()


def test_a_folder_named_like_a_file_is_not_a_broken_instruction(desk: CatalogueDesk) -> None:
    (desk.folder / "sub.json").mkdir()
    FolderWatcher(desk.store).compare(["sub.json"])
    assert desk.store.rejections() == []
