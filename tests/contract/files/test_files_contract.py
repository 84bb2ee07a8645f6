"""Sections 2 to 6 and 9 of docs/reference/contracts/files.md, sentence by sentence.

The docstring of each test has the id of its promise.
"""

from __future__ import annotations

import pytest
from files_box import Box, MakeBox

from commonplace.files.errors import CODES
from commonplace.kernel.settings import FilesSettings

ZERO = "0001-01-01T00:00:00Z"


# -- section 2: core model


def test_projects_are_isolated_roots(box: Box) -> None:
    """003-2.1"""
    box.write("/a", "one", project="p")
    assert box.paths(project="q") == []
    assert box.code("file_read", project="q", path="/a") == "NOT_FOUND"


def test_the_root_always_exists_as_a_directory(box: Box) -> None:
    """003-2.2"""
    stat = box.call("file_stat", path="", project="never seen")
    assert stat == {
        "exists": True,
        "type": "DIRECTORY",
        "size": 0,
        "created_at": ZERO,
        "updated_at": ZERO,
    }
    assert box.call("file_list", path="", project="never seen") == {
        "entries": [],
        "has_more": False,
    }


def test_directories_are_derived_and_empty_ones_disappear(box: Box) -> None:
    """003-2.3, 2.4, 2.6"""
    box.write("/a/b/c.txt")
    assert box.call("file_stat", path="/a/b")["type"] == "DIRECTORY"
    box.call("file_delete", path="/a/b/c.txt")
    assert box.call("file_stat", path="/a/b")["exists"] is False
    assert box.call("file_stat", path="/a")["exists"] is False


# -- section 3: tenants


def test_tenants_never_see_each_other(box: Box) -> None:
    """003-3.1, 3.2"""
    box.call("file_write", "alice", path="/s", content="secret walrus")
    box.call("file_write", "bob", path="/s", content="other")
    box.index()
    assert box.call("file_read", "alice", path="/s")["content"] == "secret walrus"
    assert box.call("file_read", "bob", path="/s")["content"] == "other"
    assert box.call("file_search", "bob", query="walrus")["chunks"] == []
    assert box.call("file_grep", "bob", pattern="walrus")["matches"] == []
    box.call("file_delete", "bob", path="/s")
    assert box.call("file_stat", "alice", path="/s")["exists"] is True
    assert box.call("file_projects", "carol") == {"projects": []}
    assert box.code("file_restore", "carol", path="/s") == "NOT_FOUND"


# -- section 4: paths


@pytest.mark.parametrize(
    "path",
    [
        "notes/a", "/", "/a/", "/a//b", "//a", "/./a", "/a/.", "/a/..", "/../a", "/a b", "/a\tb",
        "/a\nb", "/a\x00", "/a\x7f", "/é",
        "/a\\b", "/a*b", "/a?b", "/a:b", "/%41", "/a~", " /a", "/a ", "a", ".", "..",
        "/" + "a" * 512, "\ud800", "/a\u2028b",
        "/" + "x/" * 300 + "y",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "tool", ["file_stat", "file_read", "file_write", "file_delete", "file_list"]
)
def test_illegal_paths_are_invalid_path_in_every_tool(box: Box, tool: str, path: str) -> None:
    """003-4.2 to 4.10"""
    if tool == "file_list" and path == "/":
        return
    error = box.error(tool, path=path, **({"content": "x"} if tool == "file_write" else {}))
    assert error.code.name == "INVALID_PATH"
    assert error.details["field"] == "path"


def test_a_missing_slash_is_answered_with_the_probable_path(box: Box) -> None:
    assert box.error("file_read", path="notes/a").hint == "Use /notes/a"


@pytest.mark.parametrize(
    "path", ["/a", "/A-Z_0.9", "/...", "/a/..b", "/-", "/_", "/.hidden/x.", "/" + "a" * 511]
)
def test_legal_paths_are_written_and_read(box: Box, path: str) -> None:
    """003-4.1, 4.11"""
    box.write(path, "body")
    assert box.read(path) == "body"


@pytest.mark.parametrize("project", ["", "x" * 129, "a\x00b", "a\nb", "\x7f", "\ud800"])
def test_illegal_projects_are_invalid_path_and_say_so(box: Box, project: str) -> None:
    """003-4.0"""
    error = box.error("file_stat", project=project, path="/a")
    assert (error.code.name, error.details["field"]) == ("INVALID_PATH", "project")


@pytest.mark.parametrize(
    "project",
    ["x", "x" * 128, "été 2025", "a/b", "../..", "'; DROP TABLE mcp_files; --", "%", "_", "日本"],
)
def test_any_other_text_is_a_project(box: Box, project: str) -> None:
    box.write("/a", "body", project=project)
    assert box.read("/a", project=project) == "body"
    assert [item["project"] for item in box.call("file_projects")["projects"]] == [project]


# -- section 5: content and limits


@pytest.mark.parametrize(
    "content", ["", "plain", "é日本😀", "a\r\nb\u2028c", "\x01\x1f", "x" * 100_000]
)
def test_text_is_read_back_unchanged(box: Box, content: str) -> None:
    """003-5.1"""
    assert box.write("/f", content)["bytes_written"] == len(content.encode())
    answer = box.call("file_read", path="/f")
    assert (answer["content"], answer["content_encoding"]) == (content, "utf-8")


@pytest.mark.parametrize("content", ["\x00", "PNG\x00\x00", "\ud800", "a\udfffb"])
def test_binary_is_refused_with_advice(box: Box, content: str) -> None:
    """003-5.3, 5.4"""
    error = box.error("file_write", path="/f", content=content)
    assert error.code.name == "INVALID_ARGUMENT"
    assert "Base64" in (error.hint or "")
    assert box.call("file_stat", path="/f")["exists"] is False


def test_only_utf8_is_an_encoding(box: Box) -> None:
    """003-5.2"""
    assert (
        box.code("file_write", path="/f", content="x", content_encoding="base64")
        == "INVALID_ARGUMENT"
    )
    box.call("file_write", path="/f", content="x", content_encoding="utf-8")


def test_limits_per_request_file_and_project_count_bytes(make_box: MakeBox) -> None:
    """003-5.5 to 5.9"""
    box = make_box(FilesSettings(max_payload_bytes=10, max_file_bytes=15, max_project_bytes=25))
    assert box.code("file_write", path="/a", content="x" * 11) == "PAYLOAD_TOO_LARGE"
    assert box.code("file_write", path="/a", content="é" * 6) == "PAYLOAD_TOO_LARGE"
    box.call("file_write", path="/a", content="x" * 10)
    assert box.code("file_write", path="/a", content="x" * 6) == "PAYLOAD_TOO_LARGE"
    box.call("file_write", path="/a", content="x" * 5)
    box.call("file_write", path="/b", content="x" * 10)
    assert box.code("file_write", path="/c", content="x") == "QUOTA_EXCEEDED"
    assert box.code("file_write", path="/b", content="x") == "QUOTA_EXCEEDED"
    box.call("file_write", path="/c", content="x", project="other")
    box.call("file_write", "t2", path="/c", content="x")
    box.call("file_delete", path="/a")
    box.call("file_write", path="/c", content="x" * 10)
    assert box.code("file_restore", path="/a") == "QUOTA_EXCEEDED"
    assert box.call("file_usage") | {"retention_days": 0} == {
        "project": "p", "files": 2, "size_bytes": 20, "limit_bytes": 25, "free_bytes": 5,
        "max_file_bytes": 15, "max_payload_bytes": 10,
        "deleted_files": 1, "deleted_bytes": 15, "retention_days": 0,
    }  # fmt: skip


def test_the_quota_of_a_tenant_counts_all_its_projects(make_box: MakeBox) -> None:
    box = make_box(FilesSettings(max_tenant_bytes=25))
    box.call("file_write", path="/a", content="x" * 15)
    box.call("file_write", path="/a", content="x" * 10, project="other")
    for project in ("p", "other", "third"):
        refused = box.error("file_write", path="/b", content="x", project=project)
        assert refused.code.name == "QUOTA_EXCEEDED"
        assert (refused.details["limit_bytes"], refused.details["needed_bytes"]) == (25, 26)
    box.call("file_write", "t2", path="/a", content="x" * 25)
    box.call("file_delete", path="/a", project="other")
    box.call("file_write", path="/b", content="x", project="third")
    assert box.code("file_restore", path="/a", project="other") == "QUOTA_EXCEEDED"
    assert box.call("file_usage", project="other")["files"] == 0


def test_a_full_project_can_still_shrink(make_box: MakeBox) -> None:
    box = make_box(FilesSettings(max_project_bytes=10))
    box.write("/a", "x" * 10)
    box.write("/a", "y" * 9)
    assert box.call("file_usage")["size_bytes"] == 9


# -- 6.2 stat


def test_stat_of_file_directory_and_nothing(box: Box) -> None:
    """003-6.2"""
    written = box.write("/d/f", "héllo")
    stat = box.call("file_stat", path="/d/f")
    assert stat["exists"] is True
    assert (stat["type"], stat["size"]) == ("FILE", 6)
    assert stat["created_at"] == stat["updated_at"] == written["updated_at"]
    assert stat["content_hash"] == written["content_hash"]
    directory = box.call("file_stat", path="/d")
    assert directory == {
        "exists": True,
        "type": "DIRECTORY",
        "size": 0,
        "created_at": ZERO,
        "updated_at": stat["updated_at"],
    }
    assert box.call("file_stat", path="/none") == {
        "exists": False,
        "type": None,
        "size": 0,
        "created_at": ZERO,
        "updated_at": ZERO,
    }
    assert box.call("file_stat", path="/d/f/below")["exists"] is False


def test_a_write_moves_updated_and_keeps_created(box: Box) -> None:
    box.write("/f", "one")
    before = box.call("file_stat", path="/f")
    box.write("/f", "two")
    after = box.call("file_stat", path="/f")
    assert after["created_at"] == before["created_at"]
    assert after["updated_at"] >= before["updated_at"]
    assert after["content_hash"] != before["content_hash"]


# -- 6.3 read


def test_ranges_of_a_file(box: Box) -> None:
    """003-6.3"""
    box.write("/f", "0123456789")
    assert box.read("/f", offset=3) == "3456789"
    assert box.read("/f", offset=3, length=4) == "3456"
    assert box.read("/f", offset=3, length=0) == ""
    assert box.read("/f", offset=3, length=-1) == "3456789"
    assert box.read("/f", offset=8, length=100) == "89"
    assert box.read("/f", offset=10) == ""
    assert box.read("/f", offset=11) == ""
    assert box.read("/f", offset=1 << 80, length=1 << 80) == ""


def test_impossible_reads_are_refused(box: Box) -> None:
    """003-6.3 and the table of answers"""
    box.write("/d/f")
    assert box.code("file_read", path="/d") == "IS_DIRECTORY"
    assert box.code("file_read", path="") == "IS_DIRECTORY"
    assert box.code("file_read", path="/none") == "NOT_FOUND"
    assert box.code("file_read", path="/d/f/below") == "NOT_FOUND"
    assert box.code("file_read", path="/d/f", offset=-1) == "INVALID_OFFSET"
    assert box.code("file_read", path="/d/f", length=-2) == "INVALID_ARGUMENT"


def test_a_range_that_cuts_characters_serves_the_whole_ones_and_says_which(box: Box) -> None:
    box.write("/f", "aé日😀z")  # 1 + 2 + 3 + 4 + 1 bytes
    data = "aé日😀z".encode()
    for start in range(12):
        for length in range(13):
            answer = box.call("file_read", path="/f", offset=start, length=length)
            served = (answer["file_seek_start_bytes"], answer["file_seek_end_bytes"])
            assert answer["content"].encode() == data[served[0] : served[1]]
            assert min(start, 11) <= served[0] <= served[1] <= max(start + length, served[0])
            assert data[start : start + length].decode("utf-8", "ignore") == answer["content"]
            assert answer["size"] == 11


# -- 6.4 write


# -- 6.6 list


def test_depths_of_a_listing(box: Box) -> None:
    """003-6.6.1 to 6.6.3"""
    for path in ("/a.txt", "/d/e/f/g", "/d/x", "/z/y"):
        box.write(path, "12")
    assert box.paths(depth=0) == [""]
    assert box.paths(path="/d", depth=0) == ["/d"]
    assert box.paths() == ["/a.txt", "/d", "/z"]
    assert box.paths(depth=2) == ["/a.txt", "/d", "/d/e", "/d/x", "/z", "/z/y"]
    assert box.paths(path="/d") == ["/d/e", "/d/x"]
    assert box.paths(path="/d", depth=2) == ["/d/e", "/d/e/f", "/d/x"]
    assert box.paths(path="/d", depth=1 << 40) == ["/d/e", "/d/e/f", "/d/e/f/g", "/d/x"]
    assert (
        box.paths(path="/a.txt")
        == box.paths(path="/a.txt", depth=0)
        == box.paths(path="/a.txt", depth=5)
        == ["/a.txt"]
    )


def test_entries_carry_all_fields(box: Box) -> None:
    box.write("/d/f", "12")
    updated = box.call("file_stat", path="/d/f")["updated_at"]
    assert box.call("file_list")["entries"] == [
        {
            "name": "d",
            "path": "/d",
            "type": "DIRECTORY",
            "size": 0,
            "created_at": ZERO,
            "updated_at": updated,
        }
    ]
    file = box.call("file_list", path="/d")["entries"][0]
    assert file | {"content_hash": ""} == {
        "name": "f", "path": "/d/f", "type": "FILE", "size": 2, "created_at": updated,
        "updated_at": updated, "content_hash": "",
    }  # fmt: skip
    root = box.call("file_list", depth=0)["entries"][0]
    assert (root["name"], root["path"], root["type"]) == ("", "", "DIRECTORY")


def test_the_root_may_be_written_as_a_slash_in_lists_only(box: Box) -> None:
    """003-6.6.4, 6.6.5"""
    box.write("/a")
    assert box.paths(path="/") == box.paths(path="") == ["/a"]
    assert box.code("file_stat", path="/") == "INVALID_PATH"


def test_lists_are_sorted_by_path(box: Box) -> None:
    """003-6.6.6"""
    paths = ["/a/b", "/a-b/c", "/a.txt", "/a0", "/a_b", "/A", "/a/b.c/d", "/a/b-c", "/Z/z"]
    for path in paths:
        box.write(path)
    for depth in (1, 2, 3):
        listed = box.paths(depth=depth)
        assert listed == sorted(listed)
    directories = {"/a", "/a-b", "/a/b.c", "/Z"}
    assert set(box.paths(depth=3)) == set(paths) | directories


def test_limits_truncate_with_a_note(box: Box) -> None:
    """003-6.6.8, 6.6.9"""
    for n in range(12):
        box.write(f"/d{n:02}/f")
    answer = box.call("file_list", limit=5)
    assert [entry["path"] for entry in answer["entries"]] == [f"/d{n:02}" for n in range(5)]
    assert answer["has_more"] is True
    assert box.call("file_list", limit=12)["has_more"] is False
    assert box.call("file_list", limit=12, depth=2)["has_more"] is True


def test_the_default_limit_is_256_and_larger_ones_are_lowered_with_a_note(
    make_box: MakeBox,
) -> None:
    """003-6.6, 12.1"""
    box = make_box(FilesSettings(list_limit_max=270))
    for n in range(300):
        box.write(f"/f{n:03}")
    assert len(box.paths()) == 256
    answer = box.call("file_list", limit=5000)
    assert len(answer["entries"]) == 270
    assert "270" in answer["notes"][0]
    assert answer["has_more"] is True


def test_impossible_listings_are_refused(box: Box) -> None:
    assert box.code("file_list", path="/none") == "NOT_FOUND"
    assert box.code("file_list", path="/none", depth=0) == "NOT_FOUND"
    assert box.code("file_list", limit=0) == "INVALID_ARGUMENT"
    assert box.code("file_list", limit=-1) == "INVALID_ARGUMENT"
    assert box.code("file_list", depth=-1) == "INVALID_ARGUMENT"


def test_a_directory_is_as_new_as_its_newest_file(box: Box) -> None:
    box.write("/d/old", "1")
    box.write("/d/e/new", "1")
    newest = box.call("file_stat", path="/d/e/new")["updated_at"]
    assert box.call("file_stat", path="/d")["updated_at"] == newest
    box.call("file_delete", path="/d/e/new")
    assert (
        box.call("file_stat", path="/d")["updated_at"]
        == box.call("file_stat", path="/d/old")["updated_at"]
    )


# -- metacharacters of LIKE


def test_underscore_and_percent_are_ordinary(box: Box) -> None:
    box.write("/a_b/x", "needle one")
    box.write("/aXb/x", "needle two")
    box.index()
    assert box.found("needle", path_prefix="/a_") == ["/a_b/x"]
    assert box.found("needle", path_prefix="/a%") == []
    assert box.call("file_delete", path="/a_b", recursive=True) == {"deleted": 1}
    assert box.paths(depth=2) == ["/aXb", "/aXb/x"]


# -- section 9: codes


def test_every_code_of_the_contract_is_declared() -> None:
    """003-9"""
    names = {code.name for code in CODES}
    assert names >= {
        "NOT_FOUND", "ALREADY_EXISTS", "IS_DIRECTORY", "NOT_DIRECTORY", "INVALID_PATH",
        "INVALID_OFFSET", "INVALID_QUERY", "NOT_EMPTY",
        "PERMISSION_DENIED", "PAYLOAD_TOO_LARGE", "QUOTA_EXCEEDED", "RATE_LIMITED",
        "RESOURCE_BUSY", "SEARCH_BACKEND_ERROR",
    }  # fmt: skip


def test_a_tenant_above_its_rate_learns_when_to_retry(make_box: MakeBox) -> None:
    box = make_box(FilesSettings(rate_per_second=0.01, rate_burst=2))
    box.call("file_stat", path="/a")
    box.call("file_stat", path="/a")
    error = box.error("file_stat", path="/a")
    assert (error.code.name, error.retryable) == ("RATE_LIMITED", True)
    assert error.details["retry_after_seconds"] > 50
    box.call("file_stat", "t2", path="/a")


@pytest.mark.parametrize(
    "arguments", [{"path": 5}, {"path": None}, {"path": ["/a"]}, {"project": 7, "path": "/a"}]
)
def test_wrong_types_are_errors_of_their_field(box: Box, arguments: dict[str, object]) -> None:
    assert box.code("file_stat", **arguments) == "INVALID_PATH"


def test_unknown_arguments_are_refused(box: Box) -> None:
    assert box.code("file_stat", path="/a", depth=3) == "INVALID_ARGUMENT"
