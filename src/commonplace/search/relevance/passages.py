"""Passages from ranked chunks: what touches is merged, and one file does not crowd out others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

MOST_BYTES = 4_800  # of a merged passage: three full chunks
MERGE_SHARE = 0.5  # of the best chunk's evidence that a neighbour needs to be worth reading on
CROWDING = (1.0, 0.85, 0.7)  # factor of the score of the first passages of a file
CROWDED = 0.1  # of all further ones: they follow what other files have


@dataclass(frozen=True, slots=True)
class RankedRange:
    """A chunk in a ranking: its place in the list of candidates, its file and its bytes."""

    at: int
    path: str
    start: int
    end: int
    score: float


@dataclass(slots=True)
class MergedPassage:
    """Touching chunks of one file, in the order of the file."""

    path: str
    start: int
    end: int
    score: float
    parts: list[RankedRange] = field(default_factory=list)


def choose_passages(ranked: Sequence[RankedRange], limit: int) -> list[MergedPassage]:
    """Choose at most `limit` passages, best first.

    The next chunk is the one with the best score after the discount for passages that its file
    already has. It joins a passage that it touches if the whole stays readable and it is worth
    reading on; else it is a passage of its own.
    """
    passages: list[MergedPassage] = []
    of_file: dict[str, list[MergedPassage]] = {}
    waiting = _order(ranked, of_file)
    while waiting:
        negative, _, best = heappop(waiting)
        discounted = _discounted(best, of_file)
        if discounted < -negative:  # its file has another passage since: it waits on
            heappush(waiting, (-discounted, best.at, best))
            continue
        beside = of_file.setdefault(best.path, [])
        touched = next((passage for passage in beside if _joins(passage, best)), None)
        if touched is not None:
            _join(touched, best)
            if _absorb(touched, beside, passages):  # the file has one passage less
                waiting = _order((row for _, _, row in waiting), of_file)
            continue
        if len(passages) >= limit:
            break
        score = _discounted(best, of_file)
        passage = MergedPassage(best.path, best.start, best.end, score, [best])
        passages.append(passage)
        beside.append(passage)
    return sorted(passages, key=lambda passage: -passage.score)


def _order(
    rows: Iterable[RankedRange], of_file: Mapping[str, Sequence[MergedPassage]]
) -> list[tuple[float, int, RankedRange]]:
    """Return a heap of chunks, that with the best discounted score first; ties by rank."""
    waiting = [(-_discounted(row, of_file), row.at, row) for row in rows]
    heapify(waiting)
    return waiting


def _discounted(row: RankedRange, of_file: Mapping[str, Sequence[MergedPassage]]) -> float:
    count = len(of_file.get(row.path, ()))
    return row.score * (CROWDING[count] if count < len(CROWDING) else CROWDED)


def _absorb(
    passage: MergedPassage, beside: list[MergedPassage], passages: list[MergedPassage]
) -> bool:
    """Make one passage of two that have come to touch; return whether there were two."""
    other = next((one for one in beside if one is not passage and _meet(one, passage)), None)
    if other is None:
        return False
    for part in other.parts:
        _join(passage, part)
    passage.score = max(passage.score, other.score)
    beside.remove(other)
    passages.remove(other)
    return True


def _joins(passage: MergedPassage, row: RankedRange) -> bool:
    touches = row.start == passage.end or row.end == passage.start
    size = passage.end - passage.start + row.end - row.start
    worth = _odds(row.score) >= MERGE_SHARE**2 * _odds(passage.parts[0].score)
    return touches and size <= MOST_BYTES and worth


def _odds(score: float) -> float:
    """Return the odds of a score: they grow with the square of the evidence."""
    return score / max(1e-6, 1 - score)


def _meet(one: MergedPassage, other: MergedPassage) -> bool:
    """Return whether two passages touch and are readable as one."""
    size = one.end - one.start + other.end - other.start
    return size <= MOST_BYTES and (one.start == other.end or one.end == other.start)


def _join(passage: MergedPassage, row: RankedRange) -> None:
    passage.start = min(passage.start, row.start)
    passage.end = max(passage.end, row.end)
    passage.parts.append(row)
