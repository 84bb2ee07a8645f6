"""Words that a reason quotes, as they were written."""

from __future__ import annotations

from commonplace.memory.engine.terms import as_written, terms_of
from measuring import runs_within


def test_a_long_run_without_spaces_is_not_quoted_as_a_word() -> None:
    text = "部署失败。" + "缓存失效" * 20
    assert as_written(terms_of(text), text) == ["部署失败"]


def test_quoting_words_of_hostile_text_takes_linear_time() -> None:
    text = "".join(chr(0x4E00 + number % 20_000) for number in range(64_000))
    terms = terms_of(text)
    assert runs_within(0.3, lambda: as_written(terms, text))
