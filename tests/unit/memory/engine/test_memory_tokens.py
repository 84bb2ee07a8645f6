"""Counting tokens."""

from __future__ import annotations

from commonplace.memory.engine.tokens import count_tokens


def test_token_counts_are_close_to_those_of_tokenizers() -> None:
    prose = (
        "The quick brown fox jumps over the lazy dog and runs away from the farmer who keeps "
        "the chickens."
    )
    assert 18 <= count_tokens(prose) <= 26
    assert count_tokens("") == 0
    assert count_tokens("漢字仮名交じり文") >= 4
