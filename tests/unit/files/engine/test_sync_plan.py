"""Plans of a synchronisation: three contents of a path decide what happens to it."""

from __future__ import annotations

from itertools import product

import pytest

from commonplace.files.engine.sync import (
    EMPTY_HASH,
    SyncAction,
    SyncPlan,
    SyncStep,
    SyncViews,
    plan_sync,
)
from commonplace.files.model import FilePath

PATH = FilePath("/a")


def plan(
    folder: dict[str, str],
    project: dict[str, str],
    known: dict[str, str],
    *,
    unknown: tuple[str, ...] = (),
    force: bool = False,
) -> SyncPlan:
    def named(view: dict[str, str]) -> dict[FilePath, str]:
        return {FilePath(path): digest for path, digest in view.items()}

    views = SyncViews(
        named(folder), named(project), named(known), frozenset(map(FilePath, unknown))
    )
    return plan_sync(views, force=force)


@pytest.mark.parametrize(
    ("local", "remote", "known", "action"),
    [
        ("1", None, None, SyncAction.PUT),
        ("1", "1", None, SyncAction.ADOPT),
        ("1", "1", "1", None),
        ("1", "1", "2", SyncAction.ADOPT),
        ("2", "1", "1", SyncAction.PUT),
        (None, "1", "1", SyncAction.DELETE),
        (None, None, "1", SyncAction.FORGET),
        (None, "1", None, None),  # never brought: not ours to delete
    ],
)
def test_a_file_nobody_else_changed_follows_the_folder(
    local: str | None, remote: str | None, known: str | None, action: SyncAction | None
) -> None:
    views = [{"/a": digest} if digest else {} for digest in (local, remote, known)]
    made = plan(*views)
    assert [step.action for step in made.steps] == ([action] if action else [])
    assert made.conflicts == []


@pytest.mark.parametrize(
    ("local", "remote", "known"),
    [("1", "2", None), ("1", "2", "1"), ("1", "2", "3"), ("1", None, "1"), ("1", None, "2"),
     (None, "2", "1")],
)  # fmt: skip
def test_a_change_in_the_project_is_a_conflict_and_both_sides_stay(
    local: str | None, remote: str | None, known: str | None
) -> None:
    views = [{"/a": digest} if digest else {} for digest in (local, remote, known)]
    assert plan(*views).steps == []
    assert [conflict.path for conflict in plan(*views).conflicts] == ["/a"]
    forced = plan(*views, force=True)
    assert forced.conflicts == []
    [step] = forced.steps
    assert step.expected == remote  # what nobody saw is not replaced


def test_no_combination_loses_a_text_that_the_sync_did_not_bring() -> None:
    choices = (None, "1", "2", "3")
    for local, remote, known in product(choices, repeat=3):
        views = [{"/a": digest} if digest else {} for digest in (local, remote, known)]
        for step in plan(*views).steps:
            if step.action in (SyncAction.PUT, SyncAction.DELETE):
                assert remote == known


def test_a_deletion_and_an_addition_of_one_content_are_a_move() -> None:
    made = plan({"/new/a.py": "1"}, {"/a.py": "1"}, {"/a.py": "1"})
    assert made.steps == [SyncStep(SyncAction.MOVE, FilePath("/new/a.py"), "1", "1",
                                   FilePath("/a.py"))]  # fmt: skip


def test_moves_prefer_the_same_name_and_use_each_source_once() -> None:
    old = {"/x/a": "1", "/x/b": "1"}
    made = plan({"/y/b": "1", "/y/c": "1", "/y/d": "1"}, old, old)
    assert [(step.source, step.path) for step in made.moves] == [
        ("/x/b", "/y/b"),
        ("/x/a", "/y/c"),
    ]
    assert [step.path for step in made.puts] == ["/y/d"]
    assert made.deletes == []


def test_empty_files_and_paths_inside_each_other_are_not_moved() -> None:
    assert plan({"/b": EMPTY_HASH}, {"/a": EMPTY_HASH}, {"/a": EMPTY_HASH}).moves == []
    made = plan({"/a/b": "1"}, {"/a": "1"}, {"/a": "1"})
    assert made.moves == []
    assert [step.action for step in made.steps] == [SyncAction.DELETE, SyncAction.PUT]


def test_what_cannot_be_read_is_not_missing() -> None:
    assert plan({}, {"/a": "1"}, {"/a": "1"}, unknown=("/a",)).steps == []
