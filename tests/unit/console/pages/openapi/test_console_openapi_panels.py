"""The source tab and the files that can be downloaded."""

from __future__ import annotations

import io
import zipfile

from commonplace.console.pages.openapi.downloads import make_file, pack
from commonplace.console.pages.openapi.panels import AROUND, MAX_SOURCE_CHARS, Panel, cut_source
from commonplace.console.pages.openapi.view import DocumentSource, View


def test_a_small_document_is_shown_whole() -> None:
    shown = cut_source("a\nb\n", 2)
    assert (shown["text"], shown["first"], shown["cut"]) == ("a\nb\n", 1, False)


def test_a_large_document_is_shown_around_a_line() -> None:
    text = "\n".join(f"line {number}" for number in range(1, 20_001)) + "x" * MAX_SOURCE_CHARS
    shown = cut_source(text, 10_000)
    assert shown["first"] == 10_000 - AROUND
    assert shown["text"].split("\n")[AROUND] == "line 10000"
    assert len(shown["text"]) < 5_000
    assert cut_source(text, 0)["first"] == 1
    assert cut_source(text, 10**8)["text"]


def test_generated_files_are_packed_into_a_folder() -> None:
    packed = pack("api", [{"name": "a.go", "content": "package api"}])
    assert zipfile.ZipFile(io.BytesIO(packed)).read("api/a.go") == b"package api"


def test_a_download_is_named_after_what_it_contains() -> None:
    panel = Panel("fix", {}, {"fix_count": 0}, document='{"openapi": "3.1.0"}')
    view = View(DocumentSource("file:a/b"), "fix", {"format": "document"})
    assert make_file(view, panel)[0] == "fixed.json"
    assert make_file(View(DocumentSource("file:a/b"), "fix"), panel)[:2] == (
        "fix.json",
        b'{\n  "fix_count": 0\n}',
    )
