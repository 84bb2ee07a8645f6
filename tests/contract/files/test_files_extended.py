"""The extended tools of files, and moving a tenant."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from files_box import Box, MakeBox

from commonplace.dispatch.schema import input_schema, output_schema
from commonplace.kernel.auth import ALL_SCOPES, AuthContext, Tenant
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import FilesSettings


def test_an_edit_replaces_a_unique_text(box: Box) -> None:
    box.write("/f", "one two three two")
    answer = box.call("file_edit", path="/f", old_text="three", new_text="3")
    assert (answer["replacements"], answer["size"]) == (1, 13)
    assert box.read("/f") == "one two 3 two"


@pytest.mark.parametrize(("old", "count"), [("two", 2), ("four", 0)])
def test_an_ambiguous_edit_changes_nothing_and_counts_the_matches(
    box: Box, old: str, count: int
) -> None:
    box.write("/f", "one two three two")
    error = box.error("file_edit", path="/f", old_text=old, new_text="x")
    assert (error.code.name, error.details["count"]) == ("EDIT_NOT_UNIQUE", count)
    assert box.read("/f") == "one two three two"


def test_replace_all_and_if_match_of_edits(box: Box) -> None:
    digest = box.write("/f", "a a a")["content_hash"]
    assert (
        box.call(
            "file_edit", path="/f", old_text="a", new_text="éé", replace_all=True, if_match=digest
        )["replacements"]
        == 3
    )
    assert (
        box.code(
            "file_edit", path="/f", old_text="é", new_text="x", replace_all=True, if_match=digest
        )
        == "CONTENT_CHANGED"
    )
    assert box.read("/f") == "éé éé éé"


def test_impossible_edits_are_refused(box: Box) -> None:
    box.write("/d/f", "x")
    assert box.code("file_edit", path="/none", old_text="x", new_text="y") == "NOT_FOUND"
    assert box.code("file_edit", path="/d", old_text="x", new_text="y") == "IS_DIRECTORY"
    assert box.code("file_edit", path="", old_text="x", new_text="y") == "IS_DIRECTORY"
    assert box.code("file_edit", path="/d/f", old_text="", new_text="y") == "INVALID_ARGUMENT"
    assert box.code("file_edit", path="/d/f", old_text="x", new_text="\x00") == "INVALID_ARGUMENT"


def test_edits_respect_the_limits(make_box: MakeBox) -> None:
    box = make_box(FilesSettings(max_file_bytes=10, max_project_bytes=12))
    box.write("/f", "aaaaa")
    assert (
        box.code("file_edit", path="/f", old_text="a", new_text="bbb", replace_all=True)
        == "PAYLOAD_TOO_LARGE"
    )
    box.write("/g", "aaaaaa")
    assert (
        box.code("file_edit", path="/f", old_text="aaaaa", new_text="bbbbbbbb") == "QUOTA_EXCEEDED"
    )


def test_files_and_directories_are_renamed_with_their_times(box: Box) -> None:
    box.write("/a/one", "1")
    box.write("/a/b/two", "2")
    before = box.call("file_stat", path="/a/one")
    assert box.call("file_rename", path="/a/one", new_path="/c/uno") == {"renamed": 1}
    assert box.call("file_stat", path="/c/uno") == before
    assert box.call("file_rename", path="/a", new_path="/z/a") == {"renamed": 1}
    assert box.paths(depth=9) == ["/c", "/c/uno", "/z", "/z/a", "/z/a/b", "/z/a/b/two"]
    assert box.call("file_usage")["files"] == 2


def test_impossible_renames_are_refused(box: Box) -> None:
    box.write("/a/f", "1")
    box.write("/b", "2")
    for path, target, code in (
        ("/a/f", "/b", "ALREADY_EXISTS"),
        ("/b", "/a", "ALREADY_EXISTS"),
        ("/b", "/b", "ALREADY_EXISTS"),
        ("/a", "/a", "ALREADY_EXISTS"),
        ("/a", "/a/inside", "INVALID_PATH"),
        ("/a/f", "/b/below", "NOT_DIRECTORY"),
        ("/b", "/b/below", "NOT_DIRECTORY"),
        ("/none", "/x", "NOT_FOUND"),
        ("", "/x", "PERMISSION_DENIED"),
        ("/a", "", "PERMISSION_DENIED"),
        ("/a", "x", "INVALID_PATH"),
    ):
        assert box.code("file_rename", path=path, new_path=target) == code, (path, target)
    box.write("/deep/" + "x" * 400, "3")
    assert box.code("file_rename", path="/deep", new_path="/" + "y" * 200) == "INVALID_PATH"
    assert box.paths(depth=1) == ["/a", "/b", "/deep"]


def test_the_newest_deleted_version_is_restored(box: Box) -> None:
    box.write("/f", "old")
    box.call("file_delete", path="/f")
    box.write("/f", "new")
    assert box.code("file_restore", path="/f") == "ALREADY_EXISTS"
    box.call("file_delete", path="/f")
    assert box.call("file_restore", path="/f")["restored"] == 1
    assert box.read("/f") == "new"


def test_restoring_a_directory_keeps_newer_files(box: Box) -> None:
    for path in ("/d/a", "/d/b/c", "/d/e"):
        box.write(path, path)
    box.call("file_delete", path="/d", recursive=True)
    box.write("/d/a", "newer")
    box.write("/d/e/f", "a directory now")
    assert box.call("file_restore", path="/d")["paths"] == ["/d/b/c"]
    assert box.read("/d/a") == "newer"
    assert box.code("file_restore", path="/d") == "NOT_FOUND"


def test_grep_finds_lines_by_pattern_and_by_text(box: Box) -> None:
    box.write("/a.py", "import re\ndef f(x):\n    return x  # é f(x)\n")
    box.write("/b.txt", "no function\nDEF f(x)\n")
    match = box.call("file_grep", pattern=r"^def \w+\(")["matches"]
    assert match == [
        {
            "file_path": "/a.py",
            "line": 2,
            "start_line": 2,
            "end_line": 2,
            "file_seek_start_bytes": 10,
            "file_seek_end_bytes": 16,
            "text": "def f(x):",
        }
    ]
    assert box.read("/a.py", offset=10, length=6) == "def f("
    assert len(box.call("file_grep", pattern="def", ignore_case=True)["matches"]) == 2
    literal = box.call("file_grep", pattern="f(x)", literal=True)["matches"]
    assert [(m["file_path"], m["line"]) for m in literal] == [
        ("/a.py", 2),
        ("/a.py", 3),
        ("/b.txt", 2),
    ]
    assert box.call("file_grep", pattern="import", path_prefix="/b")["matches"] == []
    assert box.call("file_grep", pattern="nowhere")["files_searched"] == 2


def test_grep_is_bounded_with_a_note(box: Box) -> None:
    box.write("/a", "x\n" * 1000)
    answer = box.call("file_grep", pattern="x", limit=10)
    assert (len(answer["matches"]), answer["has_more"]) == (10, True)
    answer = box.call("file_grep", pattern="x", limit=9999)
    assert len(answer["matches"]) == 500
    assert answer["notes"]
    box.write("/long", "a" * 100_000 + "needle" + "b" * 100_000)
    assert len(box.call("file_grep", pattern="needle")["matches"][0]["text"]) < 500


@pytest.mark.parametrize(
    "pattern", ["(", "a(?=b)", r"(a)\1", "", "x" * 1001, "a{1001}", "(?P<n", "\ud800"]
)
def test_patterns_that_cannot_run_are_invalid_queries(box: Box, pattern: str) -> None:
    box.write("/a", "aaa")
    assert box.code("file_grep", pattern=pattern) == "INVALID_QUERY"


@pytest.mark.parametrize("pattern", ["^", "$", "", "x*"])
def test_empty_matches_terminate(box: Box, pattern: str) -> None:
    box.write("/a", "one\ntwo\n")
    box.write("/b", "")
    if pattern:
        assert [m["line"] for m in box.call("file_grep", pattern=pattern)["matches"]] == [1, 2]


def test_a_catastrophic_pattern_is_quick(box: Box) -> None:
    box.write("/a", "a" * 50_000)
    assert box.call("file_grep", pattern="(a+)+$")["matches"][0]["line"] == 1
    assert box.call("file_grep", pattern="(a|aa)+b")["matches"] == []


def test_projects_and_usage(box: Box) -> None:
    box.write("/a", "12345", project="beta")
    box.write("/b", "1", project="alpha")
    box.call("file_write", "other", path="/x", content="hidden", project="theirs")
    assert box.call("file_projects")["projects"] == [
        {"project": "alpha", "files": 1, "size_bytes": 1},
        {"project": "beta", "files": 1, "size_bytes": 5},
    ]
    box.call("file_delete", path="/b", project="alpha")
    assert [item["project"] for item in box.call("file_projects")["projects"]] == ["beta"]
    usage = box.call("file_usage", project="alpha")
    assert (usage["files"], usage["deleted_files"], usage["retention_days"]) == (0, 1, 30)


def test_index_status_counts_waiting_jobs(box: Box) -> None:
    box.write("/a", "one")
    waiting = box.call("file_index_status")
    assert (waiting["pending"], waiting["up_to_date"]) == (1, False)
    assert waiting["oldest_queued_at"]
    box.index()
    state = box.call("file_index_status")
    assert state == {
        "chunks": 1, "indexed_files": 1, "pending": 0, "processing": 0, "dead": 0, "embedding": 0,
        "waiting_credential": 0,
        "waiting_reasons": [], "up_to_date": True, "oldest_queued_at": None, "dead_letters": [],
        "outdated": 0, "symbols": 0, "operations": 0, "skipped_descriptions": [],
        "missing_grammars": [],
    }  # fmt: skip
    assert box.call("file_index_status", project="other")["chunks"] == 0


def owner(tenant: str) -> AuthContext:
    return AuthContext(Tenant(tenant), ALL_SCOPES, "test")


def test_a_tenants_files_move_with_their_index(box: Box) -> None:
    box.write("/a", "needle")
    box.index()
    box.write("/b", "queued")
    service = box.files.service
    assert asyncio.run(service.move_tenant(owner("t1"), owner("t9"))) == 2
    assert box.paths() == []
    assert box.call("file_read", "t9", path="/a")["content"] == "needle"
    box.index()
    assert [
        chunk["file_path"]
        for chunk in box.call("file_search", "t9", query="needle queued")["chunks"]
    ] == ["/a", "/b"]
    box.write("/c")
    with pytest.raises(CommonplaceError):
        asyncio.run(service.move_tenant(owner("t9"), owner("t1")))


def test_schemas_are_plain_and_outputs_conform_to_them(box: Box) -> None:
    import jsonschema

    box.write("/a", "one")
    samples = {
        "file_stat": {"path": "/a"}, "file_read": {"path": "/a"}, "file_list": {},
        "file_search": {"query": "one", "explain": True},
        "file_grep": {"pattern": "o"}, "file_usage": {}, "file_index_status": {},
        "file_write": {"path": "/b", "content": "x"},
        "file_edit": {"path": "/a", "old_text": "one", "new_text": "two"},
        "file_rename": {"path": "/b", "new_path": "/c"},
        "file_delete": {"path": "/c"}, "file_restore": {"path": "/c"}, "file_projects": {},
        "file_browse": {}, "file_deleted": {}, "file_symbols": {"name": "one"},
        "file_sync_state": {"origin": "here"},
        "file_sync_apply": {
            "origin": "here", "steps": [{"action": "put", "path": "/s", "content": "x"}]
        },
    }  # fmt: skip
    box.index()
    assert samples.keys() == {tool.name for tool in box.pipeline.registry.all()}
    for tool in map(box.pipeline.registry.tool, samples):
        arguments = {"project": "p"} | samples[tool.name] if tool.name != "file_projects" else {}
        jsonschema.validate(arguments, input_schema(tool.input))
        jsonschema.validate(box.call(tool.name, **samples[tool.name]), output_schema(tool.output))
    assert (
        input_schema(box.pipeline.registry.tool("file_search").input)["properties"]["limit"][
            "default"
        ]
        == 5
    )
    assert (
        input_schema(box.pipeline.registry.tool("file_list").input)["properties"]["limit"][
            "default"
        ]
        == 256
    )
    write = input_schema(box.pipeline.registry.tool("file_write").input)
    assert write["required"] == ["project", "path", "content"]
    assert write["properties"]["mode"]["default"] == "APPEND"


def test_six_tools_are_listed_and_all_are_callable(box: Box) -> None:
    listed = {tool.name for tool in box.pipeline.registry.listed()}
    assert listed == {
        "file_stat",
        "file_read",
        "file_write",
        "file_delete",
        "file_list",
        "file_search",
    }
    assert len(box.pipeline.registry.all()) == 18


def test_a_directory_is_browsed_page_by_page_without_a_gap(box: Box) -> None:
    paths = ["/d", "/a-b", "/a.b", "/a/x", "/a/y", "/a0", "/b/c/d", "/e"]
    for path in paths:
        box.write(path, "1")
    names, after = [], ""
    while True:
        page = box.call("file_browse", after=after, limit=2)
        names += [entry["path"] for entry in page["entries"]]
        if page["next"] is None:
            break
        assert len(page["entries"]) == 2
        after = page["next"]
    assert (
        names
        == [entry["path"] for entry in box.call("file_list")["entries"]]
        == ["/a", "/a-b", "/a.b", "/a0", "/b", "/d", "/e"]
    )
    assert [
        entry["path"] for entry in box.call("file_browse", path="/a", after="/a/x")["entries"]
    ] == ["/a/y"]
    assert box.code("file_browse", path="/none") == "NOT_FOUND"


def test_restorable_files_are_listed_newest_first(box: Box) -> None:
    for path in ("/one", "/d/two", "/d/three", "/back"):
        box.write(path, path)
        box.call("file_delete", path=path)
    box.write("/back", "again")
    assert [file["path"] for file in box.call("file_deleted")["files"]] == [
        "/d/three",
        "/d/two",
        "/one",
    ]
    page = box.call("file_deleted", limit=1, offset=1)
    assert ([file["path"] for file in page["files"]], page["has_more"]) == (["/d/two"], True)
    box.call("file_restore", path="/d")
    assert [file["path"] for file in box.call("file_deleted")["files"]] == ["/one"]


@pytest.mark.parametrize(
    "table", ["mcp_files", "mcp_file_chunks", "mcp_file_index_jobs", "search_partition"]
)
def test_no_answer_contains_sql_or_driver_messages(box: Box, table: str) -> None:
    """Errors of the database are in our own words; the statement is in the log."""
    box.write("/a", "needle")
    box.index()
    box.change(f"ALTER TABLE {table} RENAME TO lost")
    calls: dict[str, dict[str, Any]] = {
        "file_stat": {"path": "/a"},
        "file_read": {"path": "/a"},
        "file_list": {},
        "file_search": {"query": "needle"},
        "file_grep": {"pattern": "needle"},
        "file_write": {"path": "/b", "content": "x"},
        "file_delete": {"path": "/a"},
        "file_index_status": {},
        "file_usage": {},
    }
    failed = 0
    try:
        for tool, arguments in calls.items():
            try:
                said = str(box.call(tool, **arguments))
            except CommonplaceError as error:
                said = f"{error} {error.hint} {error.details}"
                failed += 1
            assert not re.search(
                rf"{table}|SELECT|no such table|relation|LINE \d|SQLError|UndefinedTable", said
            ), (tool, said)
    finally:
        box.change(f"ALTER TABLE lost RENAME TO {table}")
    assert failed
