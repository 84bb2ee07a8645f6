"""Unigram tokenizer of multilingual models: the likeliest pieces of a text.

The `tokenizers` library holds a vocabulary of 250,000 pieces in 290 MB; a dictionary holds it in
35 MB, and finding the pieces of a passage takes a few milliseconds beside some 50 of the model.
"""

from __future__ import annotations

import math
import re
import unicodedata
from array import array
from collections.abc import Sequence
from pathlib import Path

from commonplace.kernel.lru import LruCache

SPACE = "\u2581"  # stands for a space before a word
_MAX_RUN = 400  # characters of an unbroken run that are read at a time
_CACHED_RUNS = 20_000
_UNKNOWN_PENALTY = 10.0
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b-\u200f\ufeff\ufffd]")


class UnigramTokenizer:
    """Text to the numbers of its pieces, between the marks of a sentence. Thread-safe."""

    FIRST, LAST, UNKNOWN = 0, 2, 3

    def __init__(self, pieces: Sequence[str], scores: Sequence[float], max_tokens: int) -> None:
        self._ids = {piece: number for number, piece in enumerate(pieces) if number > self.UNKNOWN}
        self._scores = array("f", scores)
        self._longest = max(map(len, self._ids))
        self._unknown = min(self._scores) - _UNKNOWN_PENALTY
        self._max_tokens = max_tokens
        self._runs: LruCache[str, tuple[int, ...]] = LruCache(_CACHED_RUNS)

    @classmethod
    def read(cls, folder: Path, max_tokens: int) -> UnigramTokenizer:
        """Read `pieces.txt` and `scores.bin`, as `write_vocabulary` wrote them."""
        pieces = (folder / "pieces.txt").read_text("utf-8").split("\n")
        scores = array("f", (folder / "scores.bin").read_bytes())
        if len(pieces) != len(scores):
            raise ValueError("the vocabulary has another number of pieces than of scores")
        return cls(pieces, scores, max_tokens)

    def encode(self, text: str) -> list[int]:
        ids = [self.FIRST]
        room = self._max_tokens - 1
        for run in _runs(text):
            found = self._runs.get(run)
            if found is None:
                found = tuple(self._best_pieces(run))
                if len(run) <= 32:
                    self._runs.put(run, found)
            ids += found
            if len(ids) >= room:
                break
        return [*ids[:room], self.LAST]

    def _best_pieces(self, run: str) -> list[int]:
        """Return the pieces of the greatest total score (Viterbi); adjacent unknowns are one."""
        ids, scores, longest = self._ids, self._scores, self._longest
        size = len(run)
        best = [0.0] + [-math.inf] * size
        origin = [(0, self.UNKNOWN)] * (size + 1)
        for start in range(size):
            base = best[start]
            for end in range(start + 1, min(start + longest, size) + 1):
                number = ids.get(run[start:end])
                if number is None:
                    if end > start + 1:
                        continue
                    score, number = base + self._unknown, self.UNKNOWN
                else:
                    score = base + scores[number]
                if score > best[end]:
                    best[end], origin[end] = score, (start, number)
        pieces: list[int] = []
        at = size
        while at:
            at, number = origin[at]
            if not (number == self.UNKNOWN and pieces and pieces[-1] == self.UNKNOWN):
                pieces.append(number)
        return pieces[::-1]


def write_vocabulary(folder: Path, pieces: Sequence[str], scores: Sequence[float]) -> None:
    (folder / "pieces.txt").write_text("\n".join(pieces), "utf-8")
    (folder / "scores.bin").write_bytes(array("f", scores).tobytes())


def _runs(text: str) -> list[str]:
    """Return the words of a text, each after its mark; a very long one in parts."""
    plain = unicodedata.normalize("NFKC", _CONTROL.sub("", text))
    runs: list[str] = []
    for word in plain.split():
        marked = SPACE + word
        runs += [marked[at : at + _MAX_RUN] for at in range(0, len(marked), _MAX_RUN)]
    return runs
