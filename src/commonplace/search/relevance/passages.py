"""Passages from ranked chunks: what touches is merged, and one file does not crowd out others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

MOST_BYTES = 4_800  # of a merged passage: three full chunks
MERGE_SHARE = 0.5  # of the best score that a neighbour needs to be worth reading on
CROWDING = 0.85  # factor of the score for each further passage of a file


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


def choose_passages(
    ranked: Sequence[RankedRange], limit: int, *, crowding: float = CROWDING
) -> list[MergedPassage]:
    """Choose at most `limit` passages, best first.

    The next chunk is the one with the best score after the discount for passages that its file
    already has. It joins a passage that it touches if the whole stays readable and it is worth
    reading on; else it is a passage of its own.
    """
    passages: list[MergedPassage] = []
    of_file: dict[str, list[MergedPassage]] = {}
    waiting = list(ranked)
    while waiting:
        best = max(
            waiting,
            key=lambda row: (row.score * crowding ** len(of_file.get(row.path, ())), -row.at),
        )
        waiting.remove(best)
        passages_of_file = of_file.setdefault(best.path, [])
        touched = next((p for p in passages_of_file if _joins(p, best)), None)
        if touched is not None:
            _join(touched, best)
            beside = next(
                (p for p in passages_of_file if p is not touched and _meet(p, touched)), None
            )
            if beside is not None:
                for part in beside.parts:
                    _join(touched, part)
                touched.score = max(touched.score, beside.score)
                passages_of_file.remove(beside)
                passages.remove(beside)
            continue
        if len(passages) >= limit:
            break
        score = best.score * crowding ** len(passages_of_file)
        passage = MergedPassage(best.path, best.start, best.end, score, [best])
        passages.append(passage)
        passages_of_file.append(passage)
    return sorted(passages, key=lambda passage: -passage.score)


def _joins(passage: MergedPassage, row: RankedRange) -> bool:
    touches = row.start == passage.end or row.end == passage.start
    size = passage.end - passage.start + row.end - row.start
    worth = row.score >= MERGE_SHARE * passage.parts[0].score
    return touches and size <= MOST_BYTES and worth


def _meet(one: MergedPassage, other: MergedPassage) -> bool:
    """Return whether two passages touch and are readable as one."""
    size = one.end - one.start + other.end - other.start
    return size <= MOST_BYTES and (one.start == other.end or one.end == other.start)


def _join(passage: MergedPassage, row: RankedRange) -> None:
    passage.start = min(passage.start, row.start)
    passage.end = max(passage.end, row.end)
    passage.parts.append(row)
