"""Stack traces and diffs are read into files, lines and symbols."""

from __future__ import annotations

import pytest

from commonplace.search.relevance.traces import NamedPlace, find_frame, read_diffs, read_traces


@pytest.mark.parametrize(
    ("line", "place"),
    [
        (
            '  File "/srv/django/db/models/query.py", line 899, in _filter',
            NamedPlace("/srv/django/db/models/query.py", 899, "_filter"),
        ),
        ('  File "a.py", line 3, in <module>', NamedPlace("a.py", 3)),
        (
            "File ~/lib/xarray/core/dataset.py:2110, in Dataset.chunks(self)",
            NamedPlace("~/lib/xarray/core/dataset.py", 2110, "chunks"),
        ),
        (
            "    at Object.parseUrl (/app/lib/url.js:12:7)",
            NamedPlace("/app/lib/url.js", 12, "parseUrl"),
        ),
        (
            "\tat org.acme.io.Reader.fill(Reader.java:88)",
            NamedPlace("Reader.java", 88, "fill"),
        ),
        (
            "#1  0x00007f in parse_header (p=0x1) at src/http.c:412",
            NamedPlace("src/http.c", 412, "parse_header"),
        ),
        ("             at src/net/tcp.rs:31:9", NamedPlace("src/net/tcp.rs", 31)),
        ("  --> src/main.rs:4:5", NamedPlace("src/main.rs", 4)),
        ("\t/go/src/acme/server.go:55 +0x1d", NamedPlace("/go/src/acme/server.go", 55)),
        ("at 10:30 we met", None),
        ("See lib/url.js for more", None),
        ("File names are kept", None),
    ],
)
def test_frames_of_many_languages(line: str, place: NamedPlace | None) -> None:
    assert find_frame(line) == place


def test_python_prints_the_innermost_frame_last_and_others_first() -> None:
    python = [
        "Traceback (most recent call last):",
        '  File "outer.py", line 1, in run',
        "    inner()",
        '  File "inner.py", line 2, in inner',
        "KeyError: 'to'",
    ]
    places, taken = read_traces(python)
    assert [(place.path, place.depth) for place in places] == [("inner.py", 0), ("outer.py", 1)]
    assert taken == {1, 3}
    node = ["Error: no", "    at inner (inner.js:1:2)", "    at outer (outer.js:3:4)"]
    assert [(place.path, place.depth) for place in read_traces(node)[0]] == [
        ("inner.js", 0),
        ("outer.js", 1),
    ]


def test_a_frame_of_go_takes_its_symbol_from_the_line_above() -> None:
    lines = ["goroutine 1 [running]:", "acme/net.(*Server).Serve(0xc0001)", "\t/a/net/server.go:9"]
    places, taken = read_traces(lines)
    assert places == [NamedPlace("/a/net/server.go", 9, "Serve", 0)]
    assert taken == {1, 2}


def test_hunks_of_a_diff_name_files_and_lines() -> None:
    diff = [
        "diff --git a/lib/url.js b/lib/url.js",
        "--- a/lib/url.js",
        "+++ b/lib/url.js",
        "@@ -10,7 +10,7 @@ function parse",
        "-  old()",
        "+  young()",
    ]
    places, taken = read_diffs(diff)
    assert places == [NamedPlace("lib/url.js"), NamedPlace("lib/url.js", 10)]
    assert taken == {0, 1, 2, 3}
