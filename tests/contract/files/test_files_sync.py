"""Synchronisation of a folder with a project, on both databases."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from files_box import Box, MakeBox

from commonplace.cli.files.remote_project import RemoteProject
from commonplace.console.caller import Answer
from commonplace.dispatch.call import Call, to_json
from commonplace.files.folders.syncing import (
    FolderSync,
    LocalProject,
    SyncOptions,
    SyncReport,
    folder_origin,
)
from commonplace.kernel.auth import ALL_SCOPES, AuthContext, Tenant
from commonplace.kernel.errors import NOT_AVAILABLE, CommonplaceError
from commonplace.kernel.settings import FilesSettings

Sync = Callable[..., SyncReport]
USER = AuthContext(Tenant("t1"), ALL_SCOPES, "t1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("alpha = 1\n")
    (folder / "src" / "b.py").write_text("beta = 2\n")
    (folder / "read me.md").write_text("walrus\n")
    return folder


def sync(box: Box, folder: Path, name: str | None = None, **options: bool) -> SyncReport:
    work = FolderSync(LocalProject(box.files.service, USER, "p"), folder, name)
    return asyncio.run(work.run(SyncOptions(**options)))


def done(report: SyncReport) -> list[tuple[str, str]]:
    return [(change.action, change.path) for change in report.changes]


def identities(box: Box) -> dict[str, int]:
    return {
        path: identity
        for identity, path, deleted in box.rows("SELECT id, path, deleted FROM mcp_files")
        if not deleted
    }


def test_additions_changes_deletions_and_moves_reach_the_project(box: Box, folder: Path) -> None:
    first = sync(box, folder)
    assert done(first) == [
        ("added", "/read_x20me.md"),
        ("added", "/src/a.py"),
        ("added", "/src/b.py"),
    ]
    assert sync(box, folder).changes == []
    before = identities(box)
    (folder / "src" / "a.py").rename(folder / "moved.py")
    (folder / "src" / "b.py").write_text("beta = 3\n")
    (folder / "read me.md").unlink()
    report = sync(box, folder)
    assert done(report) == [
        ("moved", "/moved.py"),
        ("deleted", "/read_x20me.md"),
        ("changed", "/src/b.py"),
    ]
    assert identities(box) == {"/moved.py": before["/src/a.py"], "/src/b.py": before["/src/b.py"]}
    assert box.read("/src/b.py") == "beta = 3\n"
    box.index()
    assert box.found("alpha") == ["/moved.py"]
    assert sync(box, folder).changes == []


def test_a_dry_run_changes_nothing(box: Box, folder: Path) -> None:
    assert len(sync(box, folder, dry_run=True).changes) == 3
    assert identities(box) == {}
    assert box.rows("SELECT 1 FROM mcp_file_sync_entries") == []


def test_files_of_others_are_never_deleted_or_replaced(box: Box, folder: Path) -> None:
    box.write("/notes.md", "by a tool")
    box.write("/src/b.py", "written by a tool")
    report = sync(box, folder)
    assert [(conflict.path, conflict.reason) for conflict in report.conflicts] == [
        ("/src/b.py", "the project has another text at this path")
    ]
    (folder / "src" / "b.py").unlink()
    assert sync(box, folder).changes == []
    assert box.read("/src/b.py") == "written by a tool"
    assert box.read("/notes.md") == "by a tool"


def test_a_change_in_the_project_is_reported_and_kept(box: Box, folder: Path) -> None:
    sync(box, folder)
    box.write("/src/a.py", "by a tool")
    box.call("file_delete", path="/src/b.py")
    (folder / "src" / "a.py").write_text("by a person")
    report = sync(box, folder)
    assert [(conflict.path, conflict.reason) for conflict in report.conflicts] == [
        ("/src/a.py", "changed in the project and in the folder"),
        ("/src/b.py", "deleted in the project"),
    ]
    assert box.read("/src/a.py") == "by a tool"
    assert "/src/b.py" not in identities(box)
    (folder / "src" / "a.py").unlink()
    assert [conflict.path for conflict in sync(box, folder).conflicts] == [
        "/src/a.py",
        "/src/b.py",
    ]
    assert box.read("/src/a.py") == "by a tool"


def test_force_stores_the_folder_and_keeps_the_other_text_restorable(
    box: Box, folder: Path
) -> None:
    sync(box, folder)
    box.write("/src/a.py", "by a tool")
    (folder / "src" / "a.py").write_text("by a person")
    report = sync(box, folder, force=True)
    assert (report.conflicts, done(report)) == ([], [("changed", "/src/a.py")])
    assert box.read("/src/a.py") == "by a person"
    box.call("file_delete", path="/src/a.py")
    kept = [bytes(row[0]) for row in box.rows("SELECT content FROM mcp_files")]
    assert b"by a tool" in kept


def test_equal_edits_on_both_sides_are_no_conflict(box: Box, folder: Path) -> None:
    sync(box, folder)
    box.write("/src/a.py", "the same\n")
    (folder / "src" / "a.py").write_text("the same\n")
    report = sync(box, folder)
    assert (report.changes, report.conflicts) == ([], [])
    (folder / "src" / "a.py").write_text("newer\n")
    assert done(sync(box, folder)) == [("changed", "/src/a.py")]


def test_an_empty_or_missing_folder_deletes_nothing_unless_told(box: Box, folder: Path) -> None:
    sync(box, folder)
    for path in [*folder.rglob("*.*")]:
        path.unlink()
    with pytest.raises(CommonplaceError, match="has no files"):
        sync(box, folder)
    (folder / "src").rmdir()
    folder.rmdir()
    with pytest.raises(CommonplaceError, match="does not exist"):
        sync(box, folder)
    assert len(identities(box)) == 3
    assert len(sync(box, folder, allow_empty=True).changes) == 3
    assert identities(box) == {}


def test_a_second_folder_cannot_wipe_what_the_first_brought(
    box: Box, folder: Path, tmp_path: Path
) -> None:
    sync(box, folder)
    other = tmp_path / "other"
    other.mkdir()
    (other / "c.py").write_text("gamma\n")
    (other / "read me.md").write_text("walrus\n")
    (other / "src").mkdir()
    (other / "src" / "a.py").write_text("alpha = 9\n")
    report = sync(box, other)
    assert done(report) == [("added", "/c.py")]
    assert [(c.path, c.reason) for c in report.conflicts] == [
        (
            "/src/a.py",
            "the project has another text at this path, by a sync of another folder",
        )
    ]
    taken = sync(box, other, take_over=True)
    assert done(taken) == [("changed", "/src/a.py"), ("deleted", "/src/b.py")]
    assert sorted(identities(box)) == ["/c.py", "/read_x20me.md", "/src/a.py"]


def test_a_named_source_continues_in_another_folder(box: Box, folder: Path, tmp_path: Path) -> None:
    sync(box, folder, "ci")
    folder.rename(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "src" / "a.py").unlink()
    assert done(sync(box, tmp_path / "elsewhere", "ci")) == [("deleted", "/src/a.py")]


def test_a_folder_that_becomes_a_file_and_the_other_way_round(box: Box, folder: Path) -> None:
    (folder / "notes").write_text("walrus\n")
    sync(box, folder)
    text = (folder / "src" / "a.py").read_text()
    for name in ("a.py", "b.py"):
        (folder / "src" / name).unlink()
    (folder / "src").rmdir()
    (folder / "src").write_text(text)
    (folder / "notes").unlink()
    (folder / "notes").mkdir()
    (folder / "notes" / "inner").write_text("walrus\n")
    report = sync(box, folder)
    assert report.skipped == []
    assert report.conflicts == []
    assert sorted(identities(box)) == ["/notes/inner", "/read_x20me.md", "/src"]
    assert sync(box, folder).changes == []


def test_moves_into_each_others_place_end_where_the_folder_has_them(box: Box, folder: Path) -> None:
    sync(box, folder)
    (folder / "src" / "a.py").rename(folder / "tmp")
    (folder / "src" / "b.py").rename(folder / "x")
    (folder / "src").rmdir()
    (folder / "tmp").rename(folder / "src")  # a file where the other's folder was
    report = sync(box, folder)
    assert report.conflicts == []
    assert {path: box.read(path) for path in identities(box)} == {
        "/read_x20me.md": "walrus\n",
        "/src": "alpha = 1\n",
        "/x": "beta = 2\n",
    }


def test_what_cannot_be_stored_is_reported_and_links_are_not_followed(
    make_box: MakeBox, folder: Path, tmp_path: Path
) -> None:
    box = make_box(FilesSettings().replace(max_file_bytes=1000))
    (tmp_path / "secret.txt").write_text("outside")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "linked").symlink_to(tmp_path)
    (folder / "large.txt").write_text("x" * 1001)
    (folder / "logo.png").write_bytes(b"\x89PNG\0")
    (folder / ("n" * 250)).mkdir()
    (folder / ("n" * 250) / ("m" * 250)).mkdir()
    (folder / ("n" * 250) / ("m" * 250) / "too-long.txt").write_text("x")
    os.mkfifo(folder / "pipe")
    report = sync(box, folder)
    assert {skipped.path.rpartition("/")[2] for skipped in report.skipped} == {
        "large.txt",
        "link.txt",
        "linked",
        "logo.png",
        "pipe",
        "too-long.txt",
    }
    assert len(identities(box)) == 3


def test_a_full_project_is_reported_file_by_file(make_box: MakeBox, folder: Path) -> None:
    box = make_box(FilesSettings().replace(max_project_bytes=20))
    report = sync(box, folder)
    assert [skipped.reason.partition(":")[0] for skipped in report.skipped] == ["QUOTA_EXCEEDED"]
    (folder / "src" / "b.py").unlink()
    (folder / "read me.md").write_text("w\n")
    assert sync(box, folder).skipped == []


def test_tenants_have_their_own_syncs(box: Box, folder: Path) -> None:
    sync(box, folder)
    other = AuthContext(Tenant("t2"), ALL_SCOPES, "t2")
    work = FolderSync(LocalProject(box.files.service, other, "p"), folder)
    assert len(asyncio.run(work.run()).changes) == 3
    assert asyncio.run(box.files.service.delete_tenant(other))[0] == 3
    assert sync(box, folder).unchanged == 3


class LossyServer:
    """The tools as a server elsewhere gives them; every second answer is lost on its way."""

    def __init__(self, box: Box) -> None:
        self._box = box
        self.calls = 0

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        self.calls += 1
        call = Call(tool, dict(arguments), USER)
        outcome = await self._box.pipeline.run(call)
        if self.calls % 2:
            lost = CommonplaceError(NOT_AVAILABLE, "The server does not answer.", retryable=True)
            return Answer(None, lost.as_dict())
        if outcome.error is not None:
            return Answer(None, outcome.error.as_dict())
        assert outcome.output is not None
        return Answer(to_json(outcome.output))


def test_a_sync_through_tools_whose_answers_get_lost_is_complete(box: Box, folder: Path) -> None:
    warnings: list[str] = []
    remote = RemoteProject(LossyServer(box), "p", warnings.append, first_delay_seconds=0.001)
    work = FolderSync(remote, folder)
    first = asyncio.run(work.run())
    assert (len(first.changes), first.conflicts, first.skipped) == (3, [], [])
    assert "Trying again" in warnings[0]
    before = identities(box)
    (folder / "src" / "a.py").rename(folder / "moved.py")
    (folder / "src" / "b.py").write_text("beta = 3\n")
    (folder / "read me.md").unlink()
    report = asyncio.run(work.run())
    assert report.conflicts == []
    assert done(report) == [
        ("moved", "/moved.py"),
        ("deleted", "/read_x20me.md"),
        ("changed", "/src/b.py"),
    ]
    assert identities(box) == {"/moved.py": before["/src/a.py"], "/src/b.py": before["/src/b.py"]}
    assert box.read("/src/b.py") == "beta = 3\n"
    # what came through tools is known to the sync of the same folder in this process
    assert sync(box, folder).unchanged == 2
    assert asyncio.run(work.run()).unchanged == 2


def test_a_large_project_is_compared_page_by_page(box: Box, folder: Path) -> None:
    sync(box, folder)
    box.write("/by-agent.md", "text")
    box.call("file_delete", path="/src/a.py")
    origin = folder_origin(folder)
    pages, after = [], ""
    while True:
        pages.append(box.call("file_sync_state", origin=origin, after=after, limit=1))
        if pages[-1]["next"] is None:
            break
        after = pages[-1]["next"]
    whole = box.call("file_sync_state", origin=origin)
    assert len(pages) == 4
    assert [file for page in pages for file in page["files"]] == whole["files"]
    assert {path: digest for page in pages for path, digest in page["brought"].items()} == whole[
        "brought"
    ]
    assert sorted(whole["brought"]) == ["/read_x20me.md", "/src/a.py", "/src/b.py"]
    assert [file["path"] for file in whole["files"]] == [
        "/by-agent.md",
        "/read_x20me.md",
        "/src/b.py",
    ]
    assert whole["files"][1]["source_path"] == "/read me.md"


@pytest.mark.parametrize(
    ("step", "code"),
    [
        ({"action": "put", "path": "/a"}, "INVALID_ARGUMENT"),
        ({"action": "delete", "path": "/a", "content": "x"}, "INVALID_ARGUMENT"),
        ({"action": "move", "path": "/a", "expected": "0"}, "INVALID_ARGUMENT"),
        ({"action": "move", "path": "/a", "source": "/b"}, "INVALID_ARGUMENT"),
        ({"action": "adopt", "path": "/a"}, "INVALID_ARGUMENT"),
        ({"action": "steal", "path": "/a"}, "INVALID_ARGUMENT"),
        ({"action": "put", "path": "a b", "content": "x"}, "INVALID_PATH"),
        ({"action": "put", "path": "/a", "content": "x", "source_path": "/../a"}, "INVALID_PATH"),
        ({"action": "put", "path": "/a", "content": "x" * 101}, "PAYLOAD_TOO_LARGE"),
    ],
)
def test_steps_that_make_no_sense_change_nothing(
    make_box: MakeBox, step: dict[str, Any], code: str
) -> None:
    box = make_box(FilesSettings().replace(max_file_bytes=100))
    fine = {"action": "put", "path": "/fine", "content": "x"}
    assert box.code("file_sync_apply", origin="o", steps=[fine, step]) == code
    assert identities(box) == {}
