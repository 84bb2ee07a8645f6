"""A loaded encoder: the session of the runtime and the tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

MAX_TEXT_CHARS = 8_192  # more can never reach the model's token limit
WORD_LETTERS = 3.0  # letters per token of the model's own language, names and typos included
_UNKNOWN = ("[UNK]", "<unk>")  # token of characters outside of the vocabulary


class Encoder:
    """The session of one model in memory. Thread-safe."""

    def __init__(self, folder: Path, max_tokens: int, *, unigram: bool = False) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # texts run side by side instead
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(
            str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer: Any = None
        self._unigram: Any = None
        if unigram:
            from commonplace.search.semantic.unigram import UnigramTokenizer

            self._unigram = UnigramTokenizer.read(folder, max_tokens)
            return
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(max_tokens)
        self._tokenizer.no_padding()

    def encode(self, texts: Sequence[str], prefix: str = "") -> list[list[int]]:
        cleaned = [prefix + _clean(text) for text in texts]
        if self._unigram is not None:
            return [self._unigram.encode(text) for text in cleaned]
        return [encoding.ids for encoding in self._tokenizer.encode_batch(cleaned)]

    def letters_per_token(self, text: str) -> float:
        """Return the average letters of tokens that have letters.

        A short word that is one token is known; a text without letters is in no foreign language.
        A vocabulary of bytes has no unknown characters: there, the tokens of one letter overlap.
        """
        if self._tokenizer is None:
            return WORD_LETTERS
        text = " " + _clean(text)  # a vocabulary of bytes has most words with the space before them
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        letters, tokens = 0.0, 0
        for _, word in groupby(
            zip(encoding.word_ids, encoding.tokens, encoding.offsets, strict=True),
            key=itemgetter(0),
        ):
            pieces = [
                (token, start, end)
                for _, token, (start, end) in word
                if any(map(str.isalpha, text[start:end]))
            ]
            if not pieces:
                continue
            whole = text[pieces[0][1] : pieces[-1][2]]
            found = sum(map(str.isalpha, whole))
            known = not any(token in _UNKNOWN for token, _, _ in pieces)
            is_word = known and len(pieces) == 1 and whole.isascii()
            letters += max(found, WORD_LETTERS) if is_word else found
            tokens += len(pieces) if known else found
        return letters / tokens if tokens else WORD_LETTERS

    def run(self, tokens: list[int]) -> Any:
        import numpy as np

        ids = np.array([tokens], dtype=np.int64)
        return self._session.run(None, {"ids": ids, "mask": np.ones_like(ids)})[0][0]


def _clean(text: str) -> str:
    """Replace lone surrogates: legal in our strings, fatal to the tokenizer."""
    return text[:MAX_TEXT_CHARS].encode("utf-8", "replace").decode("utf-8")
