"""Writes and deletes (docs/reference/contracts/files.md): modes, offsets, conflicts, guards."""

from __future__ import annotations

import pytest
from files_box import Box, MakeBox

from commonplace.kernel.settings import FilesSettings


def test_append_is_the_default_and_ignores_the_offset(box: Box) -> None:
    """003-6.4.1"""
    assert box.call("file_write", path="/f", content="one")["bytes_written"] == 3
    box.call("file_write", path="/f", content="two", offset=1)
    box.call("file_write", path="/f", content="!", offset=999, mode="APPEND")
    assert box.read("/f") == "onetwo!"


def test_truncate_clears_first_and_requires_offset_zero(box: Box) -> None:
    """003-6.4.2"""
    box.write("/f", "long content")
    assert (
        box.code("file_write", path="/f", content="x", mode="TRUNCATE", offset=1)
        == "INVALID_OFFSET"
    )
    assert box.read("/f") == "long content"
    box.write("/f", "x")
    assert box.read("/f") == "x"
    box.write("/f", "")
    assert box.call("file_stat", path="/f")["size"] == 0


def test_overwrite_replaces_bytes_without_truncating(box: Box) -> None:
    """003-6.4.3, 6.4.5, 6.4.6"""
    box.write("/f", "0123456789")
    box.write("/f", "ab", mode="OVERWRITE", offset=2)
    assert box.read("/f") == "01ab456789"
    box.write("/f", "XYZ", mode="OVERWRITE", offset=9)
    assert box.read("/f") == "01ab45678XYZ"
    box.write("/f", "!", mode="OVERWRITE", offset=12)
    assert box.read("/f") == "01ab45678XYZ!"
    assert (
        box.code("file_write", path="/f", content="x", mode="OVERWRITE", offset=14)
        == "INVALID_OFFSET"
    )
    box.write("/new", "made", mode="OVERWRITE")
    assert box.read("/new") == "made"
    assert (
        box.code("file_write", path="/other", content="x", mode="OVERWRITE", offset=1)
        == "INVALID_OFFSET"
    )
    assert box.call("file_stat", path="/other")["exists"] is False


@pytest.mark.parametrize("mode", ["APPEND", "OVERWRITE", "TRUNCATE"])
def test_a_negative_offset_is_invalid_in_every_mode(box: Box, mode: str) -> None:
    """003-6.4.4"""
    box.write("/f", "body")
    assert box.code("file_write", path="/f", content="x", mode=mode, offset=-1) == "INVALID_OFFSET"
    assert box.read("/f") == "body"


def test_an_overwrite_that_would_cut_a_character_names_the_boundaries(box: Box) -> None:
    box.write("/f", "aé日z")
    error = box.error("file_write", path="/f", content="x", mode="OVERWRITE", offset=2)
    assert error.code.name == "INVALID_OFFSET"
    assert error.details["start_boundaries"] == [1, 3]
    error = box.error("file_write", path="/f", content="x", mode="OVERWRITE", offset=3)
    assert error.details["end_boundaries"] == [3, 6]
    assert box.read("/f") == "aé日z"
    box.write("/f", "xyz", mode="OVERWRITE", offset=3)
    assert box.read("/f") == "aéxyzz"
    box.write("/f", "", mode="OVERWRITE", offset=2)
    assert box.read("/f") == "aéxyzz"


def test_path_conflicts_of_writes(box: Box) -> None:
    """003-6.4.7, 6.4.8"""
    box.write("/d/f")
    assert box.code("file_write", path="/d", content="x") == "IS_DIRECTORY"
    assert box.code("file_write", path="", content="x") == "IS_DIRECTORY"
    assert box.code("file_write", path="/d/f/g", content="x") == "NOT_DIRECTORY"
    assert box.code("file_write", path="/d/f/g/h/i", content="x") == "NOT_DIRECTORY"
    box.write("/d-x")
    box.write("/d.x")
    assert box.paths() == ["/d", "/d-x", "/d.x"]


def test_missing_parents_are_created(box: Box) -> None:
    """003-6.4.9, 6.4.10"""
    box.write("/a/b/c/d")
    assert box.paths(depth=9) == ["/a", "/a/b", "/a/b/c", "/a/b/c/d"]


@pytest.mark.parametrize("mode", ["append", "WRITE", "", 1, None])
def test_unknown_modes_are_refused(box: Box, mode: object) -> None:
    assert box.code("file_write", path="/f", content="x", mode=mode) == "INVALID_ARGUMENT"


def test_if_match_guards_against_lost_updates(box: Box) -> None:
    first = box.write("/f", "one", if_match="")["content_hash"]
    second = box.write("/f", "two", if_match=first)["content_hash"]
    error = box.error("file_write", path="/f", content="three", mode="TRUNCATE", if_match=first)
    assert (error.code.name, error.details["content_hash"]) == ("CONTENT_CHANGED", second)
    assert box.code("file_write", path="/f", content="three", if_match="") == "CONTENT_CHANGED"
    assert box.code("file_write", path="/g", content="three", if_match=first) == "CONTENT_CHANGED"
    assert box.read("/f") == "two"


# -- 6.5 delete


def test_files_are_deleted(box: Box) -> None:
    """003-6.5.1"""
    box.write("/a")
    assert box.call("file_delete", path="/a") == {"deleted": 1}
    assert box.code("file_read", path="/a") == "NOT_FOUND"
    assert box.code("file_delete", path="/a") == "NOT_FOUND"


def test_directories_need_recursive(box: Box) -> None:
    """003-6.5.2, 6.5.3"""
    for path in ("/d/a", "/d/b/c", "/d-other", "/d0", "/dd/x"):
        box.write(path)
    error = box.error("file_delete", path="/d")
    assert (error.code.name, error.details["files"]) == ("NOT_EMPTY", 2)
    assert box.call("file_delete", path="/d", recursive=True) == {"deleted": 2}
    assert box.paths(depth=9) == ["/d-other", "/d0", "/dd", "/dd/x"]
    assert box.code("file_delete", path="/d", recursive=True) == "NOT_FOUND"
    assert box.call("file_usage")["files"] == 3


@pytest.mark.parametrize("recursive", ["yes", "true", 1, None])
def test_only_a_real_true_deletes_a_directory(box: Box, recursive: object) -> None:
    """003-6.5.3: what is destructive is not guessed from something that reads like yes."""
    box.write("/d/a")
    assert box.code("file_delete", path="/d", recursive=recursive) == "INVALID_ARGUMENT"
    assert box.paths(path="/d") == ["/d/a"]


@pytest.mark.parametrize("recursive", [False, True])
@pytest.mark.parametrize("wipe", [False, True])
def test_the_root_is_never_deleted(make_box: MakeBox, recursive: bool, wipe: bool) -> None:
    """003-6.5.4 to 6.5.6"""
    box = make_box(FilesSettings(allow_root_wipe=wipe))
    box.write("/a")
    assert box.code("file_delete", path="", recursive=recursive) == "PERMISSION_DENIED"
    assert box.paths() == ["/a"]


def test_a_deleted_path_can_be_written_again(box: Box) -> None:
    box.write("/a", "one")
    box.call("file_delete", path="/a")
    box.write("/a/b", "two")
    assert box.paths(depth=9) == ["/a", "/a/b"]
