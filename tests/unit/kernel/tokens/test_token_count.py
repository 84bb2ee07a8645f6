"""The count of tokens is never below that of the tokenizer, and not far above."""

from __future__ import annotations

import string
import time
from functools import cache
from pathlib import Path

import bpe_openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.kernel.tokens import count_tokens
from commonplace.kernel.tokens.bound import _costs

ROOT = Path(__file__).resolve().parents[4]
HOSTILE = (
    "",
    " ",
    "\n" * 500,
    " " * 500 + "x",
    "\t" * 100,
    " \t" * 40,
    "\r\n" * 40,
    "qz" * 300,
    "XQJ" * 300,
    "a" * 5000,
    "don't we'll I'VE it'S 'quoted' ''s",
    "\u0661\u0662456 \u06f4\u06f5",
    "e\u0301" * 50,
    "\u00a0 \u2003x\u2028y",
    "日本語の規則です。" * 20,
    "правила для кода " * 20,
    "🙂👩‍👩‍👧‍👦" * 20,
    "\x00\x1c\x1f" * 20,
    "→\n\n\n(word →word …/ —dash",
    "|---|:--:|---:|\n" * 20,
    "9" * 1000,
    "\ud800",
    "<|endoftext|>",
)


@cache
def _encoding() -> bpe_openai.Encoding:
    return bpe_openai.get_encoding("o200k_base")


def tokens_of(text: str) -> int:
    text = text.encode("utf-8", "replace").decode()
    return len(_encoding().encode(text, disallowed_special=()))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_not_counted_too_low(text: str) -> None:
    assert count_tokens(text) >= tokens_of(text)


def test_documents_and_code_are_counted_closely() -> None:
    counted = true = 0
    for pattern in ("docs/how-to/*.md", "src/commonplace/instructions/engine/*.py"):
        for path in ROOT.glob(pattern):
            text = path.read_text("utf-8")
            counted += count_tokens(text)
            true += tokens_of(text)
            assert count_tokens(text) >= tokens_of(text), path.name
    assert counted < 1.5 * true


def test_every_listed_piece_is_one_token_alone_and_two_after_a_sign() -> None:
    wrong = [piece for piece, cost in dict(_costs()).items() if tokens_of(piece) > cost]
    assert wrong == []
    words = [piece for piece in list(_costs())[::40] if piece.isalpha()]
    joined = [sign + word for word in words for sign in string.punctuation]
    assert [text for text in joined if tokens_of(text) > count_tokens(text)] == []


@given(st.text(max_size=200) | st.text(string.printable, max_size=200))
def test_any_text_is_not_counted_too_low(text: str) -> None:
    assert count_tokens(text) >= tokens_of(text)


@given(
    st.lists(
        st.sampled_from(("the", "Use", " ", "'ll", "é", "\n", "(", "zq", "IO", "7")), max_size=40
    )
)
def test_any_sequence_of_pieces_is_not_counted_too_low(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert count_tokens(text) >= tokens_of(text)


def test_counting_is_linear() -> None:
    for text in ("a" * 1_000_000, " " * 1_000_000 + "x", "A" * 1_000_000, "(é" * 300_000):
        started = time.process_time()
        count_tokens(text)
        assert time.process_time() - started < 2
