"""Filters of the templates: escaping, hidden characters, Markdown, code."""

from __future__ import annotations

import pytest
from markupsafe import Markup

from commonplace.console.rendering import (
    exact,
    format_count,
    format_size,
    format_time,
    make_environment,
    mark_words,
    render_code,
    render_markdown,
    summarize_hidden,
    url,
)

HOSTILE = '<img src=x onerror="alert(1)">'


def render(source: str, **values: object) -> str:
    return make_environment().from_string(source).render(values)


def test_values_are_escaped() -> None:
    assert "<img" not in render("{{ text }}", text=HOSTILE)


def test_hidden_characters_are_shown_except_where_a_person_edits() -> None:
    text = "safe\u202egnp.exe"
    assert "U+202E" in render("{{ text }}", text=text)
    assert render("<textarea>{{ text | exact }}</textarea>", text=text).count("\u202e") == 1
    assert exact("<\u200b>") == Markup("&lt;\u200b&gt;")
    assert "U+202E" in summarize_hidden(text)
    assert summarize_hidden("plain") == ""


def test_an_undefined_name_is_an_error() -> None:
    with pytest.raises(Exception, match="undefined"):
        render("{{ missing }}")


@pytest.mark.parametrize(
    "text",
    [
        HOSTILE,
        "[x](javascript:alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "![x](https://evil.example/beacon.png)",
        "<script>alert(1)</script>",
        "<a href='javascript:alert(1)'>x</a>",
        "[x]: javascript:alert(1)\n[x]",
    ],
)
def test_markdown_never_becomes_active_or_loads_anything(text: str) -> None:
    html = render_markdown(text)
    for forbidden in ("<img", "<script", 'href="javascript', 'href="data', "<a href='"):
        assert forbidden not in html


def test_links_in_markdown_are_marked_as_leading_outside() -> None:
    html = render_markdown("[guide](https://example.org/a)")
    assert 'href="https://example.org/a"' in html
    assert 'rel="noopener noreferrer nofollow"' in html
    assert 'class="outside"' in html


def test_markdown_tables_and_code_are_rendered() -> None:
    html = render_markdown("| a |\n|---|\n| 1 |\n\n```py\nx = '<b>'\n```\n")
    assert "<table>" in html
    assert "x = '&lt;b&gt;'" in html


def test_a_very_long_markdown_text_is_shown_as_text() -> None:
    assert render_markdown("# x\n" * 100_000).startswith('<pre class="text"># x')


@pytest.mark.parametrize("language", ["", "python", "page.py", "no-such-language"])
def test_code_keeps_every_line_with_its_number(language: str) -> None:
    html = render_code("a = 1\n\nb = '<i>'\n", language, first_line=10)
    assert [f'id="L{number}"' in html for number in (9, 10, 11, 12, 13)] == [
        False,
        True,
        True,
        True,
        False,
    ]
    assert "<i>" not in html
    assert "&lt;i&gt;" in html


def test_search_terms_are_marked_and_the_rest_is_escaped() -> None:
    assert mark_words("run <all> tests", ["test"]) == "run &lt;all&gt; <mark>tests</mark>"


def test_addresses_leave_out_what_is_not_set() -> None:
    assert url("/files", q="a b", page=None, sort="", deep=False) == "/console/files?q=a+b"
    assert url("/files", deep=True, tag=["x", "y"]) == "/console/files?deep=on&tag=x&tag=y"
    assert url("/") == "/console/"


def test_sizes_counts_and_times_are_readable() -> None:
    assert [format_size(count) for count in (12, 2048, 3_500_000)] == ["12 B", "2.0 KiB", "3.3 MiB"]
    assert format_count(1, "file") == "1 file"
    assert format_count(1200, "entry", "entries") == "1,200 entries"
    assert ">2026-11-17 09:30</time>" in format_time("2026-11-17T09:30:12.5Z")
    assert format_time(None) == ""


def test_headings_of_a_text_are_below_the_heading_of_its_page() -> None:
    assert "<h2>Title</h2>" in render_markdown("# Title")
    assert "<h6>Deep</h6>" in render_markdown("###### Deep")
