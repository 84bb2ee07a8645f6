"""Search, indexing, consistency and logging (docs/reference/contracts/files.md, sections 6.7, 7,
8 and 11).
"""

from __future__ import annotations

import re

import pytest
from files_box import AERO_TEXT, Box, MakeBox

from commonplace.kernel.settings import FilesSearch, FilesSettings

# -- 6.7


def test_search_finds_the_part_that_answers(box: Box) -> None:
    """003-6.7.1"""
    box.write("/aero.md", AERO_TEXT)
    box.write("/cook.md", "How to bake bread with flour and yeast.")
    box.index()
    best = box.call("file_search", query="variable pitch propellers")["chunks"][0]
    assert best["file_path"] == "/aero.md"
    assert "Propellers" in best["chunk_content"]
    assert box.found("réduire la trainée des ailes")[0] == "/aero.md"
    assert box.found("yeast") == ["/cook.md"]


def test_chunk_offsets_are_those_of_file_read(box: Box) -> None:
    """003-6.1, 7.2"""
    box.write("/aero.md", AERO_TEXT)
    box.index()
    for query in ("swept wing", "propeller", "flèche"):
        for chunk in box.call("file_search", query=query, limit=20)["chunks"]:
            start, end = chunk["file_seek_start_bytes"], chunk["file_seek_end_bytes"]
            assert 0 <= start < end <= len(AERO_TEXT.encode())
            assert box.read("/aero.md", offset=start, length=end - start) == chunk["chunk_content"]


@pytest.mark.parametrize("query", ["", " ", "\t\n", "\u00a0"])
def test_an_empty_query_is_invalid(box: Box, query: str) -> None:
    """003-6.7.2"""
    assert box.code("file_search", query=query) == "INVALID_QUERY"


def test_limits_of_a_search(box: Box) -> None:
    """003-6.7.4"""
    for n in range(30):
        box.write(f"/f{n:02}", f"needle number {n}")
    box.index()
    assert len(box.found("needle")) == 5
    assert len(box.found("needle", limit=20)) == 20
    answer = box.call("file_search", query="needle", limit=21)
    assert len(answer["chunks"]) == 20
    assert "20" in answer["notes"][0]
    assert box.code("file_search", query="needle", limit=0) == "INVALID_ARGUMENT"


def test_the_prefix_is_a_raw_string_prefix(box: Box) -> None:
    """003-6.7.3, 6.7.5"""
    for path in ("/docs/a", "/docs-old/b", "/doc", "/src/docs/c"):
        box.write(path, "needle")
    box.index()
    assert sorted(box.found("needle", path_prefix="/doc")) == ["/doc", "/docs-old/b", "/docs/a"]
    assert box.found("needle", path_prefix="/docs/") == ["/docs/a"]
    assert box.found("needle", path_prefix="/docs/a") == ["/docs/a"]
    assert box.found("needle", path_prefix="docs") == []
    assert box.found("needle", path_prefix="/doc\x00") == []
    assert box.found("needle", path_prefix="\ud800") == []
    assert box.code("file_search", query="needle", path_prefix="/" * 513) == "INVALID_ARGUMENT"


def test_results_are_ordered_by_score_between_zero_and_one(box: Box) -> None:
    """003-6.7.6"""
    box.write("/both", "apple banana")
    box.write("/one", "apple cherry")
    box.write("/other", "banana banana date")
    box.index()
    chunks = box.call("file_search", query="apple banana")["chunks"]
    scores = [chunk["score"] for chunk in chunks]
    assert chunks[0]["file_path"] == "/both"
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)


def test_equal_scores_are_ordered_by_path(box: Box) -> None:
    for path in ("/c", "/a", "/d", "/b"):
        box.write(path, "same text")
    box.index()
    assert box.found("same text", limit=4) == ["/a", "/b", "/c", "/d"]


def test_deleted_files_never_appear_even_before_the_index_knows(box: Box) -> None:
    """003-6.7.7, 8.9"""
    box.write("/a", "needle here")
    box.write("/d/b", "needle there")
    box.index()
    box.call("file_delete", path="/a")
    assert box.found("needle") == ["/d/b"]
    box.call("file_delete", path="/d", recursive=True)
    assert box.found("needle") == []
    box.index()
    assert box.found("needle") == []
    assert box.rows("SELECT count(*) FROM mcp_file_chunks") == [(0,)]
    assert box.rows(f"SELECT count(*) FROM {box.words_table}") == [(0,)]


def test_a_changed_file_never_shows_text_it_no_longer_has(box: Box) -> None:
    box.write("/a", "needle here")
    box.index()
    box.write("/a", "something else entirely")
    assert box.found("needle") == []
    box.index()
    assert box.found("needle") == []
    assert box.found("something") == ["/a"]


def test_a_renamed_and_a_restored_file_are_found_under_their_path(box: Box) -> None:
    box.write("/a", "needle here")
    box.index()
    box.call("file_rename", path="/a", new_path="/b/c")
    assert box.found("needle") == []
    box.index()
    assert box.found("needle") == ["/b/c"]
    box.call("file_delete", path="/b/c")
    box.index()
    box.call("file_restore", path="/b/c")
    box.index()
    assert box.found("needle") == ["/b/c"]


def test_disabled_search_is_an_error_and_not_listed(make_box: MakeBox) -> None:
    """003-12.2"""
    box = make_box(FilesSettings(search=FilesSearch(enabled=False)))
    error = box.error("file_search", query="x")
    assert (error.code.name, error.retryable) == ("SEARCH_BACKEND_ERROR", False)
    assert "file_search" not in [tool.name for tool in box.pipeline.registry.listed()]


def test_a_search_index_that_cannot_be_read_is_a_retryable_backend_error(box: Box) -> None:
    """003-9"""
    box.write("/a", "needle")
    box.index()
    box.change(f"ALTER TABLE {box.words_table} RENAME TO lost")
    error = box.error("file_search", query="needle")
    assert (error.code.name, error.retryable) == ("SEARCH_BACKEND_ERROR", True)
    assert not re.search(
        r"search_posting|mcp_file|SELECT|no such table|relation|LINE",
        f"{error} {error.hint} {error.details}",
    )
    assert box.read("/a") == "needle"
    box.change(f"ALTER TABLE lost RENAME TO {box.words_table}")
    assert box.found("needle") == ["/a"]


@pytest.mark.parametrize(
    "query",
    [
        "'; DROP TABLE mcp_files; --",
        '" OR 1=1',
        "NEAR(a, b)",
        "a* -b ^c",
        "%%",
        "___",
        "(((",
        "\\",
        "NOT",
        "a AND OR b",
        "\x00",
        "😀",
        "{}[]",
    ],
)
def test_any_query_text_is_legal(box: Box, query: str) -> None:
    box.write("/a", "plain words")
    box.index()
    box.call("file_search", query=query)
    assert box.found("plain") == ["/a"]


def test_a_megabyte_of_query_is_answered(box: Box) -> None:
    box.write("/a", "plain words")
    box.index()
    answer = box.call("file_search", query="plain " + "noise " * 170_000)
    assert "characters" in answer["notes"][0]


def test_unmatched_query_terms_do_not_displace_matched_ones(box: Box) -> None:
    box.write("/keeper.md", "The lighthouse keeper writes his report.")
    box.write("/other.md", "Something else.")
    box.index()
    unknown = " ".join(f"{chr(97 + n % 26)}{chr(97 + n // 26)}quux" for n in range(200))
    assert box.found(f"{unknown} lighthouse keeper") == ["/keeper.md"]


def test_explain_keeps_the_score_components(box: Box) -> None:
    """003-7.4.4"""
    box.write("/a", "the quick brown fox")
    box.index()
    answer = box.call("file_search", query="quick wolves", explain=True)
    explain = answer["chunks"][0]["explain"]
    assert answer["mode"] == "lexical"
    assert explain["lexical"] == pytest.approx(answer["chunks"][0]["score"], abs=1e-6)
    assert explain["semantic"] is None
    assert explain["matched"] == ["quick"]
    assert explain["missing"] == ["wolv"]
    assert "quick" in explain["snippet"]


def test_path_and_headings_are_words_too(box: Box) -> None:
    box.write("/billing/RetryPolicy.py", "def run(): pass")
    box.write("/other.py", "def run(): pass")
    box.index()
    assert box.found("retry policy") == ["/billing/RetryPolicy.py"]
