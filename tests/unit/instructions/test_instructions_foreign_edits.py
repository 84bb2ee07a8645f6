"""Files that somebody changed a moment ago, files that cannot be written, rules that change:
nothing is lost, and answers are true.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from commonplace.instructions.engine.groom import GroomMode
from commonplace.instructions.model import LOCAL_ACTOR
from commonplace.instructions.service import Service
from commonplace.instructions.store.watcher import Watcher
from commonplace.instructions.usecases.governance import Governance
from commonplace.instructions.usecases.maintenance import Maintenance
from commonplace.instructions.usecases.restoring import Undo
from commonplace.instructions.usecases.writing import Writing
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import InstructionsSettings


class Desk:
    def __init__(self, home: Path) -> None:
        self.folder = home / "in"
        settings = InstructionsSettings(watch=False, write_retries=0)
        self.service = Service(self.folder, home, settings, mutation_enabled=lambda: True)
        self.writing = Writing(self.service)

    def add(self, id_: str, **fields: Any) -> dict[str, Any]:
        entry = {"id": id_, **({"body": f"Body of {id_}"} | fields)}
        return self.writing.add(entry, overwrite=True, lax=True, actor=LOCAL_ACTOR)[0]

    def import_(self, mode: str, *entries: dict[str, Any]) -> dict[str, Any]:
        return self.writing.import_entries(
            entries,
            mode=mode,
            validate=True,
            batch_size=None,
            expected_hash=None,
            actor=LOCAL_ACTOR,
        )

    def govern(self, id_: str, **patch: Any) -> dict[str, Any]:
        governance = Governance(self.service, self.writing)
        return governance.update(
            id_, patch, bump_part="none", expected_hash=None, actor=LOCAL_ACTOR
        )

    def groom(self, **mode: bool) -> dict[str, Any]:
        return Maintenance(self.service, self.writing).groom(GroomMode(**mode), None, LOCAL_ACTOR)

    def item(self, id_: str) -> dict[str, Any]:
        return dict(self.service.get(id_)["item"])

    def by_hand(self, id_: str, body: str) -> None:
        path = self.folder / f"{id_}.json"
        document = json.loads(path.read_text()) if path.exists() else {"id": id_}
        path.write_text(json.dumps({**document, "body": body}))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    (tmp_path / "in").mkdir()
    made = Desk(tmp_path)
    made.service.load()
    yield made
    made.service.close()


def test_a_write_sees_what_was_edited_by_hand_a_moment_ago(desk: Desk) -> None:
    desk.add("r", body="v1")
    desk.by_hand("r", "HAND")
    entry = {"id": "r", "tags": ["t"]}
    assert desk.writing.add(entry, overwrite=True, lax=True, actor=LOCAL_ACTOR)[0]["overwritten"]
    assert desk.item("r")["body"] == "HAND"
    desk.by_hand("r", "AGAIN")
    assert desk.govern("r", owner="team")["changed"]
    assert desk.item("r")["body"] == "AGAIN"
    desk.by_hand("r", "LAST")
    history = Undo(desk.service, desk.writing)
    desk.add("r", body="v2")
    history.restore("r", None, expected_hash=None, actor=LOCAL_ACTOR)
    assert desk.item("r")["body"] == "LAST"


def test_a_file_that_appeared_a_moment_ago_exists(desk: Desk) -> None:
    desk.add("first")
    desk.by_hand("new", "HAND")
    answer, _ = desk.writing.add(
        {"id": "new", "body": "agent"}, overwrite=False, lax=True, actor=LOCAL_ACTOR
    )
    assert answer["skipped"]
    desk.by_hand("other", "HAND")
    assert desk.import_("skip", {"id": "other", "body": "agent"})["skipped"] == 1
    assert [desk.item(id_)["body"] for id_ in ("new", "other")] == ["HAND", "HAND"]


def test_expected_hash_is_that_of_the_file(desk: Desk) -> None:
    known = desk.add("r", body="v1")["sourceHash"]
    desk.by_hand("r", "HAND")
    with pytest.raises(CommonplaceError) as mismatch:
        desk.writing.add(
            {"id": "r", "body": "v2"},
            overwrite=True,
            lax=True,
            expected_hash=known,
            actor=LOCAL_ACTOR,
        )
    assert mismatch.value.code.name == "HASH_MISMATCH"


@pytest.mark.parametrize("mode", ["skip", "merge"])
def test_an_import_does_not_replace_a_file_that_it_could_not_read(desk: Desk, mode: str) -> None:
    path = desk.folder / "p.json"
    path.write_text('{"id":"p","body":"PRECIOUS",}')
    answer = desk.import_(mode, {"id": "p", "body": "n"}, {"id": "q", "body": "n"})
    assert [(line["index"], line["code"]) for line in answer["errors"]] == [
        (0, "existing_file_unreadable")
    ]
    assert (answer["imported"], path.read_text()) == (1, '{"id":"p","body":"PRECIOUS",}')
    assert desk.import_("overwrite", {"id": "p", "body": "n"})["imported"] == 1


def test_one_file_that_cannot_be_written_fails_alone(desk: Desk) -> None:
    (desk.folder / "dd.json").mkdir()
    answer = desk.import_("overwrite", *({"id": id_, "body": "n"} for id_ in ("j1", "dd", "j2")))
    assert (
        answer["imported"],
        [(line["index"], line["id"], line["code"]) for line in answer["errors"]],
    ) == (2, [(1, "dd", "unwritable")])

    async def together() -> list[Any]:
        asked = (
            desk.writing.add_with_others(
                {"id": id_, "body": "n"}, overwrite=True, lax=True, actor=LOCAL_ACTOR
            )
            for id_ in ("g1", "g2", "dd", "g3", "g4")
        )
        return await asyncio.gather(*asked, return_exceptions=True)

    answers = asyncio.run(together())
    assert [not isinstance(one, Exception) and one[0]["created"] for one in answers] == [
        True,
        True,
        False,
        True,
        True,
    ]
    assert "dd.json" in str(answers[2])
    with pytest.raises(CommonplaceError):
        desk.import_("overwrite", {"id": "dd", "body": "n"})


def test_a_replacement_is_not_merged_into_what_it_replaces(desk: Desk) -> None:
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
    assert [entry.id for entry in desk.service.shelf.catalogue] == ["new"]


@pytest.mark.parametrize("chain", ["abc", "cba"])
def test_chains_of_replacements_go_whatever_their_names(desk: Desk, chain: str) -> None:
    for id_, following in pairwise(chain):
        desk.add(id_, requirement="deprecated", deprecatedBy=following)
    desk.add(chain[-1])
    for id_, following in (
        ("x", "y"),
        ("y", "x"),
        ("z", "missing"),
    ):  # nothing stands at the end of these
        desk.add(id_, requirement="deprecated", deprecatedBy=following)
    assert desk.groom(remove_deprecated=True)["deprecatedRemoved"] == 2
    assert [entry.id for entry in desk.service.shelf.catalogue] == [chain[-1], "x", "y", "z"]


def test_what_takes_over_a_priority_takes_over_its_tier(desk: Desk) -> None:
    desk.add("d1", body="same", createdAt="2020-01-01T00:00:00Z", priority=90)
    desk.add("d2", body="same", createdAt="2021-01-01T00:00:00Z", priority=5)
    desk.groom(merge_duplicates=True)
    merged = desk.item("d1")
    assert (merged["priority"], merged["priorityTier"], merged["reviewIntervalDays"]) == (
        5,
        "P1",
        30,
    )


def test_a_new_rule_of_ownership_reaches_what_names_no_owner(desk: Desk) -> None:
    (desk.folder / "a.json").write_text('{"id": "a", "body": "x"}')
    (desk.folder / "b.json").write_text('{"id": "b", "body": "x", "owner": "somebody"}')
    watcher = Watcher(desk.service.shelf)
    watcher._compare()
    assert desk.item("a")["owner"] == "unowned"
    (desk.folder / "owners.json").write_text(
        '{"ownership": [{"pattern": ".*", "owner": "team-n"}]}'
    )
    watcher._compare(["owners.json"])
    assert [desk.item(id_)["owner"] for id_ in "ab"] == ["team-n", "somebody"]
    (desk.folder / "owners.json").unlink()
    watcher._compare()
    assert desk.item("a")["owner"] == "unowned"


def test_governance_keeps_the_rule_of_owners_and_counts_from_the_new_interval(desk: Desk) -> None:
    desk.add("m", requirement="mandatory", owner="team", priority=50)
    with pytest.raises(CommonplaceError) as refused:
        desk.govern("m", owner="unowned")
    assert "require owner" in refused.value.message
    answer = desk.govern("m", lastReviewedAt="2026-01-01T00:00:00Z", reviewIntervalDays=10)
    assert answer["nextReviewDue"].startswith("2026-01-11")
    desk.add("n", priority=50, owner="team", categories=["c"])
    assert desk.govern("n", lastReviewedAt="2026-01-01T00:00:00Z", priorityTier="P1")[
        "nextReviewDue"
    ].startswith("2026-01-31")


def test_a_rule_of_owners_that_cannot_be_run_is_reported_and_the_others_hold(desk: Desk) -> None:
    rules = [
        {"pattern": "a(?=b)", "owner": "nobody"},
        {"pattern": "^a"},
        5,
        {"pattern": "^a", "owner": "team-a"},
    ]
    desk.folder.mkdir(exist_ok=True)
    (desk.folder / "owners.json").write_text(json.dumps({"ownership": rules}))
    desk.add("ab")
    assert desk.item("ab")["owner"] == "team-a"
    problem = desk.service.configuration.problems()["owners.json"]
    assert all(part in problem for part in ("'a(?=b)' of rule 1", "rule 2", "rule 3"))


def test_a_new_interval_moves_the_next_review_and_other_edits_do_not(desk: Desk) -> None:
    desk.add("r", priority=50, lastReviewedAt="2026-01-01T00:00:00Z")
    assert desk.item("r")["nextReviewDue"].startswith(
        "2026-04-01"
    )  # P3: ninety days from the review
    assert desk.govern("r", reviewIntervalDays=10)["nextReviewDue"].startswith("2026-01-11")
    assert desk.govern("r", owner="team", classification="public")["nextReviewDue"].startswith(
        "2026-01-11"
    )
    desk.add("r", priority=45)
    assert desk.item("r")["nextReviewDue"].startswith("2026-01-11")
    desk.add("r", lastReviewedAt="2026-02-01T00:00:00Z")
    assert desk.item("r")["nextReviewDue"].startswith("2026-02-11")


def test_what_somebody_set_survives_a_new_priority_and_what_was_derived_follows_it(
    desk: Desk,
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
def test_a_list_where_a_word_belongs_is_an_invalid_patch(desk: Desk, field: str) -> None:
    desk.add("a")
    with pytest.raises(CommonplaceError) as refused:
        desk.govern("a", **{field: []})
    assert refused.value.code.name == "INVALID_INSTRUCTION"


def test_times_are_kept_in_utc_and_compared_as_times(desk: Desk) -> None:
    desk.add("a", nextReviewDue="2020-01-01T05:00:00+14:00", createdAt="2026-W01-1")
    item = desk.item("a")
    assert (item["nextReviewDue"], item["createdAt"]) == (
        "2019-12-31T15:00:00.000Z",
        "2025-12-29T00:00:00.000Z",
    )
    desk.add("b", nextReviewDue="2019-12-31T15:00:00Z")
    assert desk.item("b")["nextReviewDue"] == "2019-12-31T15:00:00Z"


def test_repeating_a_value_is_no_change_of_it(desk: Desk) -> None:
    desk.add(
        "k",
        priority=30,
        reviewIntervalDays=7,
        nextReviewDue="2030-01-01T00:00:00Z",
        priorityTier="P4",
    )
    desk.writing.add(
        {"id": "k", "priority": 30, "priorityTier": "P4"},
        overwrite=True,
        lax=False,
        actor=LOCAL_ACTOR,
    )
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
def test_a_wrong_type_in_gates_is_a_problem_of_that_file(desk: Desk, gate: dict[str, Any]) -> None:
    (desk.folder / "gates.json").write_text(
        json.dumps({"gates": [{"id": "g", "op": "==", "value": 1, **gate}]})
    )
    assert "gates.json" in desk.service.configuration.problems()


def test_a_folder_with_the_name_of_a_file_is_no_broken_instruction(desk: Desk) -> None:
    (desk.folder / "sub.json").mkdir()
    Watcher(desk.service.shelf)._compare(["sub.json"])
    assert not desk.service.shelf.rejections
