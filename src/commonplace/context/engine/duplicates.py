"""Find items that say the same, across sections."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from commonplace.context.model import ContextCandidate, PackSection

CONTAINED = 0.8  # share of the shorter text's shingles that the other one has
SAME_CODE = 0.95  # of two passages of files: similar code is not the same code
COMPARABLE = 0.3  # a text within a much longer one may be missing in an excerpt of that
SHINGLE_WORDS = 3
LEAST_WORDS = 8  # shorter texts are the same only if they are equal
READ_CHARACTERS = 20_000
MOST_NAMED = 5  # references of the same text that an item names

Shape = frozenset[tuple[str, ...]]
"""The shingles of a text: every run of SHINGLE_WORDS words, or the words of a short one."""

_WORD = re.compile(r"[^\W_]+")


def merge_duplicates(candidates: Iterable[ContextCandidate]) -> list[ContextCandidate]:
    """Keep the first of those that say the same; it names the others."""
    kept: list[ContextCandidate] = []
    shapes: list[Shape] = []
    by_shingle: dict[tuple[str, ...], list[int]] = {}
    places: dict[str, int] = {}
    for candidate in candidates:
        if candidate.ref in places:
            continue
        shape = _read_shape(candidate.text)
        same = _find_same(candidate, shape, kept, shapes, by_shingle)
        if same is not None:
            first = kept[same]
            if len(first.also) < MOST_NAMED and candidate.ref not in first.also:
                kept[same] = replace(first, also=(*first.also, candidate.ref))
            places[candidate.ref] = same
            continue
        places[candidate.ref] = len(kept)
        for shingle in shape:
            by_shingle.setdefault(shingle, []).append(len(kept))
        kept.append(candidate)
        shapes.append(shape)
    return kept


def _read_shape(text: str) -> Shape:
    words = _WORD.findall(text[:READ_CHARACTERS].lower())
    if not words:
        return frozenset()
    if len(words) < LEAST_WORDS:
        return frozenset({tuple(words)})
    return frozenset(zip(*(words[at:] for at in range(SHINGLE_WORDS)), strict=False))


def _find_same(
    candidate: ContextCandidate,
    shape: Shape,
    kept: Sequence[ContextCandidate],
    shapes: Sequence[Shape],
    by_shingle: Mapping[tuple[str, ...], Sequence[int]],
) -> int | None:
    shared: dict[int, int] = {}
    for shingle in shape:
        for at in by_shingle.get(shingle, ()):
            shared[at] = shared.get(at, 0) + 1
    for at, count in sorted(shared.items()):
        small, large = sorted((len(shape), len(shapes[at])))
        files = candidate.section is kept[at].section is PackSection.FILES
        if small >= COMPARABLE * large and count >= (SAME_CODE if files else CONTAINED) * small:
            return at
    return None
