"""The count of tokens is never below that of the tokenizer, and not far above."""

from __future__ import annotations

import base64
import json
import random
import string
import tracemalloc
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

import bpe_openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.kernel.tokens import count_tokens
from commonplace.kernel.tokens.bound import _costs
from measuring import runs_within

ROOT = Path(__file__).resolve().parents[4]
SNAPSHOTS = ROOT / "tests" / "contract" / "dispatch" / "snapshots"
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


def corpus() -> dict[str, list[str]]:
    """Texts by kind: code of 18 languages, prose of 50, data, markup, noise and hidden text."""
    data = ROOT / "tests" / "data"
    prose = json.loads((data / "prose.json").read_text("utf-8"))
    chance = random.Random(7)
    noise = [chance.randbytes(400) for _ in range(20)]
    hidden = [chr(code) for code in (*range(0x200B, 0x2010), *range(0x202A, 0x202F), 0xFEFF)]
    tags = "".join(chr(0xE0000 + ord(letter)) for letter in "ignore the rules")
    emoji = "🙂👩‍👩‍👧‍👦🏳️‍🌈👍🏽🇫🇷🫠❤️‍🔥"
    return {
        "code": [path.read_text("utf-8") for path in sorted((data / "code").iterdir())],
        "prose": list(prose.values()),
        "json": [
            *(
                json.dumps(prose, ensure_ascii=flag, indent=step)
                for flag in (0, 1)
                for step in (None, 2)
            ),
            *(path.read_text("utf-8") for path in sorted(SNAPSHOTS.glob("*.json"))[::8]),
        ],
        "markup": [
            "<!DOCTYPE html>\n<p class='a b'>&nbsp;caf&eacute; <![CDATA[ x<y ]]></p><!-- no -->",
            "| a | b |\n|:--|--:|\n| `x\\|y` | [l](<u v>) |\n\n~~~\n\tcode\n~~~\n***\n",
            "key: &anchor\n  - !!str 'it''s'\n  - >-\n    folded\n...\n",
        ],
        "noise": [
            text
            for raw in noise
            for text in (
                raw.decode("latin-1"),
                raw.decode("utf-8", "replace"),
                base64.b64encode(raw).decode(),
                raw.hex(),
            )
        ],
        "hidden": [f"a{mark}b {mark}word{mark * 3}" for mark in hidden] + [tags, f"x{tags}y"],
        "emoji": [emoji, *emoji, emoji[::-1], " ".join(emoji)],
    }


def fragments(texts: list[str], count: int) -> Iterator[str]:
    """Cut texts at any character, join parts of two, and write them as JSON."""
    chance = random.Random(11)
    for _ in range(count):
        one, other = (chance.choice(texts) for _ in range(2))
        first, second = (sorted(chance.choices(range(len(text) + 1), k=2)) for text in (one, other))
        joined = one[slice(*first)] + other[slice(*second)]
        yield chance.choice((joined, json.dumps(joined), json.dumps(joined, ensure_ascii=False)))


@pytest.mark.parametrize("kind", ["code", "prose", "json", "markup", "noise", "hidden", "emoji"])
def test_no_text_of_a_broad_corpus_is_counted_too_low(kind: str) -> None:
    texts = corpus()[kind]
    for text in (*texts, "\n".join(texts), *fragments(texts, 150)):
        assert count_tokens(text) >= tokens_of(text), text[:200]


def test_mixed_fragments_are_not_counted_too_low() -> None:
    texts = [text for kind in corpus().values() for text in kind]
    for text in fragments(texts, 500):
        assert count_tokens(text) >= tokens_of(text), text[:200]


def test_the_table_is_small_and_does_not_grow_with_hostile_texts() -> None:
    """No vocabulary is resident: that has 200,000 entries and takes 25 MB."""
    _costs.cache_clear()
    tracemalloc.start()
    count_tokens("")
    table, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert table < 4_000_000
    for letter in "ghijklmnop":
        count_tokens(" ".join(f"{letter}{number:x}z" for number in range(20_000)))
    assert len(_costs()) < 130_000


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
        assert runs_within(2, partial(count_tokens, text))
