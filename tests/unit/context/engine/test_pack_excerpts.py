"""Cut texts: whole paragraphs, whole lines, the beginning."""

from __future__ import annotations

from commonplace.context.engine.excerpt import MeasuredLines, cut_end, cut_lines_around, cut_prose
from commonplace.kernel.tokens import count_tokens


def test_a_text_that_fits_stays_whole() -> None:
    assert cut_prose("A short text.", frozenset(), 100, count_tokens) == "A short text."


def test_a_heading_comes_with_the_paragraph_below_it() -> None:
    text = "# One\n\nFirst words here.\n\n# Two\n\nSecond words about locks.\n\n" + "filler " * 300
    cut = cut_prose(text, frozenset({"lock"}), 40, count_tokens)
    assert "# Two\nSecond words about locks." in cut
    assert count_tokens(cut) <= 40


def test_one_long_paragraph_is_cut_at_a_word() -> None:
    cut = cut_prose("word " * 1_000, frozenset(), 50, count_tokens)
    assert cut.endswith("word [...]")
    assert count_tokens(cut) <= 50


def test_nothing_useful_is_nothing() -> None:
    assert cut_end("word " * 100, 3, count_tokens) == ""


def test_lines_grow_around_the_line_with_the_words_of_the_task() -> None:
    text = "\n".join(f"line {at}" for at in range(100)) + "\nrelease the lock\nline 101"
    cut = cut_lines_around(MeasuredLines.read(text, frozenset({"lock"}), count_tokens), 40)
    assert cut is not None
    before, lines = cut
    assert "release the lock" in lines
    assert text.split("\n")[before] == lines.split("\n")[0]
    assert count_tokens(lines) <= 40


def test_a_line_that_does_not_fit_is_no_passage() -> None:
    assert cut_lines_around(MeasuredLines.read("x" * 10_000, frozenset(), count_tokens), 20) is None
