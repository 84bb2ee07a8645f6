"""Cells of tables."""

from __future__ import annotations

from commonplace.console.pages.cells import day, link, status_tag, tag


def test_a_tag_is_escaped_and_shows_hidden_characters() -> None:
    assert tag("<b>", "warn") == '<span class="tag warn">&lt;b&gt;</span>'
    assert "U+202E" in tag("a\u202eb")
    assert tag(None) == ""


def test_a_status_has_the_colour_of_its_meaning() -> None:
    assert 'class="tag good"' in status_tag("approved")
    assert 'class="tag bad"' in status_tag("obsolete")
    assert 'class="tag "' in status_tag("unheard-of")


def test_a_link_is_escaped() -> None:
    assert link('/a"b', "<i>") == '<a href="/a&#34;b">&lt;i&gt;</a>'


def test_the_day_of_a_time_is_shown() -> None:
    assert day("2026-11-17T10:00:00.000Z") == "2026-11-17"
    assert day(None) == ""
