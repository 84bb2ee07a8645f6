"""The unigram tokenizer: the same pieces as the `tokenizers` library, on hostile input too."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from commonplace.search.semantic.unigram import UnigramTokenizer, write_vocabulary

PIECES = [
    ("<s>", 0.0),
    ("<pad>", 0.0),
    ("</s>", 0.0),
    ("<unk>", 0.0),
    ("\u2581", -2.0),
    ("\u2581the", -3.0),
    ("\u2581wal", -5.0),
    ("nut", -5.5),
    ("s", -4.0),
    ("\u2581w", -4.5),
    ("al", -4.2),
    ("w", -6.0),
    ("a", -6.1),
    ("l", -6.2),
    ("n", -6.3),
    ("u", -6.4),
    ("t", -6.5),
    ("h", -6.6),
    ("e", -6.7),
    ("\u30d5\u30a1", -7.0),
    ("\u30a4\u30eb", -7.0),
    ("\u30d5", -8.0),
]


@pytest.fixture
def ours(tmp_path: Path) -> UnigramTokenizer:
    write_vocabulary(tmp_path, [piece for piece, _ in PIECES], [score for _, score in PIECES])
    return UnigramTokenizer.read(tmp_path, 64)


@pytest.mark.parametrize(
    "text",
    [
        "the walnuts",
        "walnut  the\tsaw\nthe",
        "\u30d5\u30a1\u30a4\u30eb the",
        "the \u0416\u0416\u0416 nut",
        "\uff54\uff48\uff45 walnut",
        "thethethe",
        "",
    ],
)
def test_pieces_are_those_of_the_library(ours: UnigramTokenizer, text: str) -> None:
    library = Tokenizer(models.Unigram(PIECES, unk_id=3, byte_fallback=False))
    library.normalizer = normalizers.NFKC()
    library.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
    )
    assert ours.encode(text)[1:-1] == library.encode(text).ids


def test_a_long_text_is_cut_between_the_marks(ours: UnigramTokenizer) -> None:
    for text in ("the " * 500, "\u0416" * 100_000, "a" * 50_000):
        ids = ours.encode(text)
        assert len(ids) <= 64
        assert (ids[0], ids[-1]) == (0, 2)


def test_a_vocabulary_without_its_scores_is_refused(tmp_path: Path) -> None:
    write_vocabulary(tmp_path, ["a", "b"], [0.0])
    with pytest.raises(ValueError, match="scores"):
        UnigramTokenizer.read(tmp_path, 64)
