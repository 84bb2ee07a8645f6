"""Find items that say the same, across sections."""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from commonplace.context.model import ContextCandidate, PackSection

CONTAINED = 0.8  # share of the shorter text's shingles that the other one has
SAME_CODE = 0.95  # of two passages of files: similar code is not the same code
COMPARABLE = 0.3  # a text within a much longer one may be missing in an excerpt of that
SHINGLE_WORDS = 3
LEAST_WORDS = 8  # shorter texts are the same only if they are equal
READ_CHARACTERS = 20_000
MOST_NAMED = 5  # references of the same text that an item names
INDEX_STEP = 4  # a long text is found by every fourth shingle
LEAST_SAMPLED = 32  # shingles of a text that is found by some of them
_BLANKS = str.maketrans(dict.fromkeys(string.punctuation, " "))


@dataclass(frozen=True, slots=True)
class _Shape:
    """The shingles of a text, hashed: runs of SHINGLE_WORDS words, or all words of a short one."""

    shingles: frozenset[int]
    indexed: Sequence[int]  # enough of them to find texts that say the same


def merge_duplicates(candidates: Iterable[ContextCandidate]) -> list[ContextCandidate]:
    """Keep the first of those that say the same; it names the others."""
    kept: list[ContextCandidate] = []
    shapes: list[_Shape] = []
    indexed: set[int] = set()  # of all shapes: most texts share none, and are not compared
    places: dict[str, int] = {}
    for candidate in candidates:
        if candidate.ref in places:
            continue
        shape = _read_shape(candidate.text)
        same = None
        if not shape.shingles.isdisjoint(indexed):
            same = _find_same(candidate, shape, kept, shapes)
        if same is not None:
            first = kept[same]
            if len(first.also) < MOST_NAMED and candidate.ref not in first.also:
                kept[same] = replace(first, also=(*first.also, candidate.ref))
            places[candidate.ref] = same
            continue
        places[candidate.ref] = len(kept)
        indexed.update(shape.indexed)
        kept.append(candidate)
        shapes.append(shape)
    return kept


def _read_shape(text: str) -> _Shape:
    words = text[:READ_CHARACTERS].lower().translate(_BLANKS).split()
    if len(words) < LEAST_WORDS:
        whole = [hash(tuple(words))] if words else []
        return _Shape(frozenset(whole), whole)
    runs = zip(*(words[at:] for at in range(SHINGLE_WORDS)), strict=False)
    hashed = list(map(hash, runs))
    step = INDEX_STEP if len(hashed) >= LEAST_SAMPLED else 1
    return _Shape(frozenset(hashed), hashed[::step])


def _find_same(
    candidate: ContextCandidate,
    shape: _Shape,
    kept: Sequence[ContextCandidate],
    shapes: Sequence[_Shape],
) -> int | None:
    for at, known in enumerate(shapes):
        if shape.shingles.isdisjoint(known.indexed):
            continue
        other = known.shingles
        small, large = sorted((len(shape.shingles), len(other)))
        files = candidate.section is kept[at].section is PackSection.FILES
        least = (SAME_CODE if files else CONTAINED) * small
        if small >= COMPARABLE * large and len(shape.shingles & other) >= least:
            return at
    return None
