"""Lines of files, in every tool that shows a place: read, search, grep and edit."""

from __future__ import annotations

from typing import Any

import pytest
from files_box import AERO_TEXT, Box

from commonplace.kernel.settings import FilesSettings

POEM = "one\ntwo\nthree\nfour\n"


def lines_of(box: Box, found: Any) -> str:
    """Read the lines that a result names."""
    return box.read(found["file_path"], start_line=found["start_line"], end_line=found["end_line"])


def check_lines(box: Box, chunks: list[Any]) -> None:
    """The lines of a chunk are the least that hold its bytes."""
    assert chunks
    for chunk in chunks:
        content = box.read(chunk["file_path"])
        head = content.encode()[: chunk["file_seek_start_bytes"]].decode()
        assert chunk["start_line"] == head.count("\n") + 1
        assert chunk["end_line"] == chunk["start_line"] + chunk["chunk_content"][:-1].count("\n")
        assert chunk["chunk_content"] in lines_of(box, chunk)


def test_a_read_of_lines_returns_them_with_their_bytes(box: Box) -> None:
    box.write("/f", POEM)
    answer = box.call("file_read", path="/f", start_line=2, end_line=3)
    assert answer["content"] == "two\nthree\n"
    assert (answer["start_line"], answer["end_line"], answer["total_lines"]) == (2, 3, 4)
    start, end = answer["file_seek_start_bytes"], answer["file_seek_end_bytes"]
    assert box.read("/f", offset=start, length=end - start) == answer["content"]
    assert box.read("/f", start_line=3) == "three\nfour\n"
    assert box.read("/f", end_line=1) == "one\n"
    whole = box.call("file_read", path="/f", start_line=1, end_line=10**12)
    assert (whole["content"], whole["end_line"]) == (POEM, 4)
    assert "start_line" not in box.call("file_read", path="/f")


@pytest.mark.parametrize(
    ("content", "total", "second"),
    [
        ("a\r\nb\r\nc", 3, "b\r\n"),
        ("a\nb", 2, "b"),
        ("é\nü\u2028ü\x0b\rü\n", 2, "ü\u2028ü\x0b\rü\n"),
        ("\n\n", 2, "\n"),
    ],
)
def test_only_a_line_feed_ends_a_line(box: Box, content: str, total: int, second: str) -> None:
    box.write("/f", content)
    answer = box.call("file_read", path="/f", start_line=2, end_line=2)
    assert (answer["content"], answer["total_lines"]) == (second, total)


@pytest.mark.parametrize("content", ["", "one line"])
def test_lines_beyond_the_end_are_empty(box: Box, content: str) -> None:
    box.write("/f", content)
    answer = box.call("file_read", path="/f", start_line=5, end_line=9)
    assert answer["content"] == ""
    assert answer["file_seek_start_bytes"] == answer["file_seek_end_bytes"] == len(content)
    assert answer["total_lines"] == (1 if content else 0)
    assert "start_line" not in answer


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"start_line": 1, "offset": 1}, "start_line"),
        ({"start_line": 1, "length": 5}, "start_line"),
        ({"end_line": 2, "offset": 1}, "end_line"),
        ({"start_line": 3, "end_line": 2}, "end_line"),
    ],
)
def test_lines_that_make_no_sense_are_refused(
    box: Box, arguments: dict[str, int], field: str
) -> None:
    box.write("/f", POEM)
    error = box.error("file_read", path="/f", **arguments)
    assert (error.code.name, error.details["field"]) == ("INVALID_ARGUMENT", field)
    assert box.code("file_read", path="/f", start_line=0) == "INVALID_ARGUMENT"
    assert box.code("file_read", path="/none", start_line=1) == "NOT_FOUND"
    assert box.code("file_read", path="", start_line=1) == "IS_DIRECTORY"


def test_the_defaults_of_a_byte_range_may_be_sent_with_lines(box: Box) -> None:
    """Forms and some models send every argument."""
    box.write("/f", POEM)
    assert box.read("/f", start_line=2, end_line=2, offset=0, length=-1) == "two\n"


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_search_tells_the_lines_of_a_passage(box: Box, ends: str) -> None:
    box.write("/aero.md", AERO_TEXT.replace("\n", ends))
    box.write("/long.txt", "pitch " * 2_000 + "\nlast words about a propeller")
    box.index()
    for query in ("variable pitch propeller", "ailes en flèche", "last words about a propeller"):
        check_lines(box, box.call("file_search", query=query, limit=20)["chunks"])


def test_lines_are_right_before_a_change_is_indexed(box: Box) -> None:
    """The bytes of the passage stay where they are; the lines before it do not."""
    box.write("/f.md", "aa\nbb\ncc\n" + AERO_TEXT)
    box.index()
    box.call("file_edit", path="/f.md", old_text="aa\nbb\n", new_text="aabbbb")
    check_lines(box, box.call("file_search", query="variable pitch propeller")["chunks"])
    box.index()
    check_lines(box, box.call("file_search", query="variable pitch propeller")["chunks"])


def test_lines_of_an_older_index_are_counted_until_it_is_made_again(box: Box) -> None:
    box.write("/f.md", AERO_TEXT)
    box.index()
    box.change("UPDATE mcp_file_index_records SET chunker = 0")
    box.change("UPDATE mcp_file_chunks SET start_line = 0, end_line = 0")
    check_lines(box, box.call("file_search", query="variable pitch propeller")["chunks"])
    box.index()
    assert box.rows("SELECT count(*) FROM mcp_file_chunks WHERE start_line = 0") == [(0,)]
    check_lines(box, box.call("file_search", query="variable pitch propeller")["chunks"])


def test_grep_shows_the_lines_around_a_match_once(box: Box) -> None:
    box.write("/f", "".join(f"line {number}\n" for number in range(1, 11)))
    matches = box.call("file_grep", pattern="line [257]$", context=2)["matches"]
    shown = [(match["line"], match.get("before", []), match.get("after", [])) for match in matches]
    assert shown == [
        (2, ["line 1"], ["line 3", "line 4"]),
        (5, [], ["line 6"]),
        (7, [], ["line 8", "line 9"]),
    ]
    assert all(match["start_line"] == match["end_line"] == match["line"] for match in matches)
    (plain, *_) = box.call("file_grep", pattern="line 5")["matches"]
    assert "before" not in plain
    assert box.code("file_grep", pattern="x", context=21) == "INVALID_ARGUMENT"
    assert box.code("file_grep", pattern="x", context=-1) == "INVALID_ARGUMENT"


def test_grep_reads_the_files_that_globs_name(box: Box) -> None:
    for path in ("/a.py", "/src/b.py", "/src/deep/c.py", "/src/d.ts", "/tests/e.py", "/notes.md"):
        box.write(path, "needle\n")

    def found(*globs: str, **more: Any) -> list[str]:
        answer = box.call("file_grep", pattern="needle", globs=list(globs), **more)
        assert answer["files_searched"] == len(answer["matches"])
        return [match["file_path"] for match in answer["matches"]]

    assert found("*.py") == ["/a.py", "/src/b.py", "/src/deep/c.py", "/tests/e.py"]
    assert found("/*.py") == ["/a.py"]
    assert found("src/**/*.py") == found("/src/**/*.py") == ["/src/b.py", "/src/deep/c.py"]
    assert found("src/") == ["/src/b.py", "/src/d.ts", "/src/deep/c.py"]
    assert found("*.{ts,md}") == ["/notes.md", "/src/d.ts"]
    assert found("*.py", "!tests/**") == ["/a.py", "/src/b.py", "/src/deep/c.py"]
    assert found("!*.py") == ["/notes.md", "/src/d.ts"]
    assert found("src/**", path_prefix="/tests/") == []
    assert found("src/**", path_prefix="/src/d") == ["/src/d.ts", "/src/deep/c.py"]
    assert found("rust/**") == []
    for broken in ("[a", "", "!"):
        assert box.code("file_grep", pattern="x", globs=[broken]) == "INVALID_ARGUMENT"
    assert box.code("file_grep", pattern="x", globs=["*"] * 21) == "INVALID_ARGUMENT"


def test_an_answer_with_much_context_is_cut_with_a_note(box: Box) -> None:
    box.write("/f", ("needle " + "x" * 390 + "\n" + ("y" * 399 + "\n") * 8) * 200)
    answer = box.call("file_grep", pattern="needle", context=8, limit=500)
    assert answer["has_more"]
    assert 0 < len(answer["matches"]) < 200
    assert "characters" in answer["notes"][0]


def test_several_edits_are_made_in_order(box: Box) -> None:
    box.write("/f", POEM)
    edits = [
        {"old_text": "two", "new_text": "2"},
        {"old_text": "2\nthree", "new_text": "2\n3"},
        {"old_text": "o", "new_text": "O", "replace_all": True},
    ]
    answer = box.call("file_edit", path="/f", edits=edits)
    assert answer["replacements"] == 4
    assert box.read("/f") == "One\n2\n3\nfOur\n"


@pytest.mark.parametrize(
    ("edit", "count", "lines", "word"),
    [
        ({"old_text": "five", "new_text": ""}, 0, None, "exactly"),
        ({"old_text": "o", "new_text": ""}, 3, [1, 2, 4], "replace_all"),
        ({"old_text": "one", "new_text": ""}, 0, None, "earlier edit"),
        ({"old_text": "two  ", "new_text": ""}, 0, None, "line 2"),
    ],
)
def test_one_edit_that_fails_keeps_all_others_back(
    box: Box, edit: dict[str, str], count: int, lines: list[int] | None, word: str
) -> None:
    box.write("/f", POEM)
    edits = [{"old_text": "one", "new_text": "o"}, edit, {"old_text": "four", "new_text": "4"}]
    error = box.error("file_edit", path="/f", edits=edits)
    assert error.code.name == "EDIT_NOT_UNIQUE"
    assert "edits[1]" in error.message
    assert (error.details["edit"], error.details["count"]) == (1, count)
    assert error.details.get("lines") == lines
    assert word in (error.hint or "")
    assert box.read("/f") == POEM


def test_an_edit_says_when_only_the_ends_of_lines_differ(box: Box) -> None:
    box.write("/f", "a\r\nb\r\n")
    error = box.error("file_edit", path="/f", old_text="a\nb", new_text="c")
    assert "CR LF" in (error.hint or "")
    assert "edit" not in error.details
    box.write("/f", "a\nb\n")
    assert "LF alone" in (
        box.error("file_edit", path="/f", old_text="a\r\nb", new_text="c").hint or ""
    )


def test_edits_come_in_one_form(box: Box) -> None:
    box.write("/f", POEM)
    one = {"old_text": "one", "new_text": "1"}
    for wrong in (
        {},
        {"old_text": "one"},
        {"edits": []},
        {"edits": [one], "old_text": "two", "new_text": "2"},
        {"edits": [one], "replace_all": True},
        {"edits": [one] * 101},
        {"edits": [{"old_text": "", "new_text": "x"}]},
    ):
        assert box.code("file_edit", path="/f", **wrong) == "INVALID_ARGUMENT", wrong
    assert box.read("/f") == POEM


def test_the_bytes_of_all_edits_count_as_one_request(make_box: Any) -> None:
    box = make_box(FilesSettings(max_payload_bytes=20))
    box.write("/f", POEM)
    edits = [
        {"old_text": "one", "new_text": "12345678"},
        {"old_text": "two", "new_text": "1234567"},
    ]
    assert box.code("file_edit", path="/f", edits=edits) == "PAYLOAD_TOO_LARGE"
    assert box.read("/f") == POEM
