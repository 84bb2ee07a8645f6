"""The note "probably nothing here answers" in small projects: how often it is right and how
often it is wrong.

python -m benchmarks.small      asks collections of 1 to 300 documents, cut from the judged ones,
with a model and by words alone

Each small collection holds one document that answers a question and random others. It is asked that
question (`own`), a question of the same collection whose answers are all left out (`other`), and a
question of another collection (`foreign`). Questions are halved by their id; the gains in
`search/fusion.py` were chosen on the first half.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from benchmarks.quality import CANDIDATES, Bench
from benchmarks.retrieval import ROOT, Collection, MemoryPostings, load, parity
from commonplace.search.fusion import DEFAULT, SMALL, SMALL_GAIN, WORDS_SMALL_GAIN, fuse

SIZES = (1, 2, 5, 10, 30, 100, 300)
GAINS = (0.0, 0.65, 0.85, 0.95, 1.05, 1.2, 1.35)
Kind = Literal["own", "other", "foreign"]


@dataclass(frozen=True, slots=True)
class Asked:
    """The log odds of the best hit without any prior, by both modes; minus infinity where
    nothing was found.
    """

    kind: Kind
    half: int
    documents: int
    passages: int
    hybrid: float
    words: float


def ask(
    bench: Bench, collections: dict[str, Collection], questions: int, seed: int
) -> Iterator[Asked]:
    chance = random.Random(seed)
    for name, collection in collections.items():
        chunked, _, _ = bench.index(collection)
        chunks: dict[str, list[str]] = {}
        for chunk, owner in chunked.owner.items():
            chunks.setdefault(owner, []).append(chunk)
        answers = {
            key: {d for d, grade in grades.items() if grade > 0 and d in chunks}
            for key, grades in collection.relevant.items()
        }
        keys = [key for key in collection.queries if answers.get(key)]
        elsewhere = [
            text
            for other in collections
            if other != name
            for text in collections[other].queries.values()
        ]
        for size in (size for size in SIZES if size <= len(chunks)):
            for key in chance.sample(keys, min(questions, len(keys))):
                right = max(
                    sorted(answers[key]), key=lambda document: collection.relevant[key][document]
                )
                free = [document for document in chunks if document not in answers[key]]
                rest = chance.sample(free, min(size - 1, len(free)))
                texts = {
                    chunk: chunked.texts[chunk]
                    for document in (right, *rest)
                    for chunk in chunks[document]
                }
                others = [other for other in keys if not answers[other] & {right, *rest}]
                wanted: list[tuple[Kind, str]] = [
                    ("own", collection.queries[key]),
                    ("foreign", chance.choice(elsewhere)),
                ]
                if others:
                    wanted.append(("other", collection.queries[chance.choice(others)]))
                postings = MemoryPostings(texts)
                vectors = bench.embed(list(texts.values()))
                for kind, text in wanted:
                    hybrid, words = _best(bench, postings, vectors, text)
                    yield Asked(kind, parity(key), size, len(texts), hybrid, words)


def _best(
    bench: Bench, postings: MemoryPostings, vectors: np.ndarray, text: str
) -> tuple[float, float]:
    terms, _ = postings.statistics(text)
    scores, cosines = postings.scores(terms), vectors @ bench.embed([text])[0]
    by_words = {
        int(row) for row in np.argsort(-scores, kind="stable")[:CANDIDATES] if scores[row] > 0
    }
    rows = by_words | {int(row) for row in np.argsort(-cosines, kind="stable")[:CANDIDATES]}
    near = {postings.keys[row]: float(cosines[row]) for row in rows}
    own = {postings.keys[row]: vectors[row] for row in rows}
    hybrid = fuse(
        postings.result(text, scores, sorted(rows)),
        near,
        vectors=own,
        legibility=bench.legibility(text),
    )
    words = fuse(postings.result(text, scores, sorted(by_words)), None)
    return _log_odds(hybrid[0].score if hybrid else 0.0), _log_odds(
        words[0].score if words else 0.0
    )


def _log_odds(score: float) -> float:
    return math.log(score / (1 - score)) if 0 < score < 1 else math.copysign(math.inf, score - 0.5)


def refused(asked: list[Asked], mode: str, gain: float) -> str:
    """How many of each kind the note is given for, in percent; nothing found counts as refused."""
    line = _log_odds(DEFAULT.abstain_below)
    parts = []
    for kind in ("own", "other", "foreign"):
        chosen = [item for item in asked if item.kind == kind]
        below = [
            getattr(item, mode) + max(0.0, gain * math.log(SMALL / item.passages)) < line
            for item in chosen
        ]
        parts.append(f"{kind} {np.mean(below) if below else math.nan:6.1%}")
    return "  ".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=int, default=100, help="of each collection and size")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--models", type=Path, default=ROOT / ".tools" / "models")
    parser.add_argument("--cache", type=Path, default=ROOT / ".tools" / "bench")
    options = parser.parse_args()
    bench = Bench(options.models, options.cache)
    asked = list(
        ask(
            bench,
            {name: load(name) for name in ("cranfield", "cosqa", "devbench")},
            options.questions,
            options.seed,
        )
    )
    small = [item for item in asked if item.passages < SMALL]
    for mode, shipped in (("hybrid", SMALL_GAIN), ("words", WORDS_SMALL_GAIN)):
        print(
            f"\n{mode}: refused below {DEFAULT.abstain_below} in collections under {SMALL} "
            f"passages, by gain (shipped {shipped})"
        )
        for gain in GAINS:
            halves = [
                refused([item for item in small if item.half == half], mode, gain)
                for half in (0, 1)
            ]
            print(f"  {gain:4.2f}  chosen on: {halves[0]}   held out: {halves[1]}")
        print("  by size, shipped gain, held-out half")
        for size in SIZES:
            held_out = [item for item in asked if item.documents == size and item.half == 1]
            print(f"  {size:4}  {refused(held_out, mode, shipped)}")


if __name__ == "__main__":
    main()
