"""Equal and nearly equal texts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from zlib import crc32

NEARLY = 0.85  # share of the shingles of two texts that both have
SHINGLE_WORDS = 3
LEAST_WORDS = 8  # shorter texts are duplicates only if they are equal
READ_CHARS = 60_000
SKETCH = 8  # shingles that are looked up to find candidates
MOST_CANDIDATES = 32

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_RUN = re.compile(r"[^\W_]+")
_BETWEEN = {code: " " for code in range(128) if not chr(code).isalnum()}
_DECISIVE = re.compile(r"(?:not|never|no|without|avoid|only|\w*n't|\d.*)\Z")


@dataclass(frozen=True, slots=True)
class TextShape:
    """What is compared of a text: its words, and the words that change a meaning."""

    words: int  # hash of all words
    shingles: frozenset[int]
    decisive: tuple[str, ...]  # numbers and negations, in order
    sketch: tuple[int, ...]  # shingles to find candidates by: texts that agree share some

    @classmethod
    def of(cls, text: str) -> TextShape:
        """Read a text; case, punctuation and markup do not count."""
        words = _WORD.findall(text[:READ_CHARS].lower())
        shingles: Iterable[int] = ()
        if len(words) >= LEAST_WORDS:
            shingles = (
                crc32(" ".join(words[at : at + SHINGLE_WORDS]).encode("utf-8", "replace"))
                for at in range(len(words) - SHINGLE_WORDS + 1)
            )
        decisive = tuple(word for word in words if _DECISIVE.match(word))
        distinct = frozenset(shingles)
        return cls(hash_words(text), distinct, decisive, tuple(sorted(distinct)[:SKETCH]))

    def is_near(self, other: TextShape) -> bool:
        """Tell whether two texts say nearly the same."""
        if self.words == other.words:
            return True
        if not self.shingles or not other.shingles or self.decisive != other.decisive:
            return False
        small, large = sorted((len(self.shingles), len(other.shingles)))
        if small < NEARLY * large:
            return False
        both = len(self.shingles & other.shingles)
        return both >= NEARLY * (len(self.shingles) + len(other.shingles) - both)


class SimilarTexts:
    """The texts that were kept so far, to find one that a new text repeats."""

    def __init__(self) -> None:
        self._equal: dict[int, int] = {}
        self._by_shingle: dict[int, list[int]] = {}
        self._shapes: list[TextShape] = []

    def find_or_keep(self, shape: TextShape) -> int | None:
        """Return the number of a kept text that this one repeats; otherwise keep it."""
        known = self._equal.get(shape.words)
        if known is not None:
            return known
        for shingle in shape.sketch:
            for candidate in self._by_shingle.get(shingle, ()):
                if self._shapes[candidate].is_near(shape):
                    return candidate
        number = len(self._shapes)
        self._shapes.append(shape)
        self._equal[shape.words] = number
        for shingle in shape.sketch:
            holders = self._by_shingle.setdefault(shingle, [])
            if len(holders) < MOST_CANDIDATES:
                holders.append(number)
        return None


def hash_words(text: str) -> int:
    """Hash the words of a text; case, punctuation and markup do not count."""
    lowered = text.lower()
    runs = lowered.translate(_BETWEEN).split() if text.isascii() else _RUN.findall(lowered)
    words = " ".join(runs).encode("utf-8", "replace")
    return int.from_bytes(blake2b(words, digest_size=8).digest(), "big")
