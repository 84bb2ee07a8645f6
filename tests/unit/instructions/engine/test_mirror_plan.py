"""Three-way comparison of a folder and a database."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from commonplace.instructions.engine.mirror import plan_mirror

NAMES = st.sampled_from(["a.json", "b.json", "c.json", "gates.json"])
STATES = st.dictionaries(NAMES, st.sampled_from(["1", "2", "3"]))


def test_a_change_of_one_side_goes_to_the_other() -> None:
    base = {"a": "1", "b": "1", "c": "1", "d": "1"}
    folder = {"a": "2", "b": "1", "d": "1", "new": "9"}
    database = {"a": "1", "b": "2", "c": "1", "other": "8"}
    plan = plan_mirror(base, folder, database)
    assert plan.to_database == ("a", "new")
    assert plan.to_folder == ("b", "other")
    assert plan.removed_from_database == ("c",)
    assert plan.removed_from_folder == ("d",)
    assert plan.conflicts == ()


def test_changes_on_both_sides_are_conflicts_unless_they_are_equal() -> None:
    base = {"a": "1", "b": "1", "c": "1", "e": "1"}
    plan = plan_mirror(base, {"a": "2", "b": "2", "e": "2"}, {"a": "3", "b": "2", "c": "2"})
    assert [conflict.name for conflict in plan.conflicts] == ["a", "c", "e"]
    assert plan.conflicts[1].describe() == "removed in the folder, changed in the database"
    assert plan.same == {"b": "2"}
    assert not plan.has_work


def test_without_a_common_state_nothing_is_removed() -> None:
    plan = plan_mirror({}, {"a": "1", "b": "1"}, {"b": "2", "c": "1"})
    assert (plan.to_database, plan.to_folder) == (("a",), ("c",))
    assert not plan.removed_from_database
    assert not plan.removed_from_folder
    assert [conflict.name for conflict in plan.conflicts] == ["b"]


def test_a_preferred_side_decides_conflicts_and_nothing_else() -> None:
    base, folder, database = {"a": "1", "b": "1"}, {"a": "2", "b": "1"}, {"a": "3", "b": "4"}
    preferred = plan_mirror(base, folder, database, "folder")
    assert (preferred.to_database, preferred.to_folder) == (("a",), ("b",))
    other = plan_mirror(base, folder, database, "database")
    assert (other.to_database, other.to_folder) == ((), ("a", "b"))


@given(STATES, STATES, STATES)
def test_every_file_has_one_fate_and_a_carried_out_plan_leaves_only_conflicts(
    base: dict[str, str], folder: dict[str, str], database: dict[str, str]
) -> None:
    plan = plan_mirror(base, folder, database)
    fates = [
        *plan.to_database,
        *plan.to_folder,
        *plan.removed_from_database,
        *plan.removed_from_folder,
        *(conflict.name for conflict in plan.conflicts),
        *plan.same,
    ]
    assert len(fates) == len(set(fates))
    assert set(fates) >= folder.keys() | database.keys()
    ours, theirs = dict(folder), dict(database)
    for name in plan.to_database:
        theirs[name] = ours[name]
    for name in plan.to_folder:
        ours[name] = theirs[name]
    for name in plan.removed_from_database:
        del theirs[name]
    for name in plan.removed_from_folder:
        del ours[name]
    contested = {conflict.name for conflict in plan.conflicts}
    for name in ours.keys() | theirs.keys():
        assert (ours.get(name) == theirs.get(name)) is (name not in contested)
