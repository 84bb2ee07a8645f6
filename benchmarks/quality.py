"""Findability, measured: lexical, semantic and fused retrieval with intervals; held-out splits;
abstention; calibration.

python -m benchmarks.quality                 the whole table, of the default model
python -m benchmarks.quality --model NAME    of another model: quality, multilingual, a model's name
python -m benchmarks.quality --fit           also fit fresh parameters on everything and print them
python -m benchmarks.quality --plot PATH     also draw the plot of docs/explanation/search.md
python -m benchmarks.quality --no-product    without the rows that go through `file_search` itself
"""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.fitting import (
    FITTED,
    Features,
    calibrate,
    calibration_error,
    fit,
    measure,
    ranked,
    words_alone,
)
from benchmarks.plot import draw
from benchmarks.retrieval import (
    CUT,
    DATA,
    ROOT,
    Collection,
    MemoryPostings,
    VectorCache,
    bootstrap,
    load,
    ndcg,
    parity,
    recall,
    simulate_lookups,
)
from commonplace.files.assembly import build_files
from commonplace.files.model import WriteMode
from commonplace.kernel.auth import local_user
from commonplace.search.chunk import split
from commonplace.search.fusion import (
    DEFAULT,
    Parameters,
    fuse,
    size_prior,
)
from commonplace.search.hybrid import ILLEGIBLE_BELOW
from commonplace.search.lexical.sqlite import SqlitePostings
from commonplace.search.profiles import parameters_of
from commonplace.search.retriever import HybridRetriever
from commonplace.search.semantic.installed import open_installed
from commonplace.search.semantic.local import LocalSemantics
from commonplace.search.semantic.models import embed_models
from commonplace.search.semantic.models.chosen_model import installed_name
from commonplace.search.semantic.models.model_catalogue import CHOICES, PINNED
from commonplace.storage.sqlite.database import Database

ALONE = replace(DEFAULT, intercept=DEFAULT.intercept + DEFAULT.words_alone, consensus=0.0)
LANGUAGES = ("french", "german", "spanish", "japanese")  # small sets of our own
CANDIDATES = 30  # of each side, as configured by default; each candidate is scored by both sides
MOST_CHUNKS = 20  # that one file_search returns


class Chunked:
    """A collection as the product indexes it: every document cut into chunks."""

    def __init__(self, collection: Collection) -> None:
        self.texts: dict[str, str] = {}
        self.owner: dict[str, str] = {}
        for key, text in collection.documents.items():
            for number, chunk in enumerate(split(text)):
                self.texts[f"{key}#{number}"] = chunk.text
                self.owner[f"{key}#{number}"] = key


class Bench:
    """Collections, postings and vectors, loaded once."""

    def __init__(self, models: Path, cache: Path, name: str = "default", threads: int = 0) -> None:
        if name in CHOICES:
            embed_models.install_choice(models, CHOICES[name])
        elif name in PINNED:
            embed_models.install_pinned(models, PINNED[name])
        self.embedder = open_installed(models, installed_name(name), threads or os.cpu_count() or 1)
        self.embedder.warm()
        self.parameters = parameters_of(self.embedder.identity)

        def progress(message: str) -> None:
            print(f"  {message} ...", flush=True)

        passages = VectorCache(self.embedder, cache, progress)
        self.embed = passages.embed
        self.ask = VectorCache(self.embedder, cache, progress, queries=True).embed
        self.legibility = self.embedder.legibility
        self.indexed: dict[str, tuple[Chunked, MemoryPostings, np.ndarray]] = {}

    def index(self, collection: Collection) -> tuple[Chunked, MemoryPostings, np.ndarray]:
        if collection.name not in self.indexed:
            chunked = Chunked(collection)
            self.indexed[collection.name] = (
                chunked,
                MemoryPostings(chunked.texts),
                self.embed(list(chunked.texts.values())),
            )
        return self.indexed[collection.name]

    def features(self, collection: Collection) -> Features:
        chunked, postings, vectors = self.index(collection)
        asked = self.ask(list(collection.queries.values()))
        count, width = len(collection.queries), 2 * CANDIDATES
        made = Features(
            collection.name,
            list(collection.queries),
            np.array([parity(key) for key in collection.queries]),
            *(np.zeros((count, width)) for _ in range(3)),
            between=np.zeros((count, width, width), dtype=np.float32),
            information=np.zeros(count),
            legibility=np.array([self.legibility(text) for text in collection.queries.values()]),
            documents=len(postings.keys),
            grades=np.zeros((count, width)),
            present=np.zeros((count, width), dtype=bool),
            siblings=[],
            ideal=np.zeros(count),
            answers=np.zeros(count),
            lexical=np.zeros((count, 2)),
            semantic=np.zeros((count, 2)),
        )
        held_by_words = np.zeros((count, width), dtype=bool)
        raw = np.zeros((count, width))
        for at, (key, text) in enumerate(collection.queries.items()):
            grades = collection.relevant[key]
            terms, ceiling = postings.statistics(text)
            scores, cosines = postings.scores(terms), vectors @ asked[at]
            by_words = [
                int(row)
                for row in np.argsort(-scores, kind="stable")[:CANDIDATES]
                if scores[row] > 0
            ]
            by_meaning = [int(row) for row in np.argsort(-cosines, kind="stable")[:CANDIDATES]]
            rows = list(dict.fromkeys([*by_meaning, *by_words]))
            held = {match.key: match.terms for match in postings.result(text, scores, rows).matches}
            told = {term.term: term.idf for term in terms}
            made.information[at] = sum(told.values())
            made.ideal[at] = ndcg_ideal(list(grades.values()))
            made.answers[at] = len(grades)
            made.present[at, : len(rows)] = True
            made.between[at, : len(rows), : len(rows)] = vectors[rows] @ vectors[rows].T
            owners: dict[str, list[int]] = {}
            for column, row in enumerate(rows):
                chunk = postings.keys[row]
                owners.setdefault(chunked.owner[chunk], []).append(column)
                made.cosine[at, column] = cosines[row]
                made.share[at, column] = min(1.0, scores[row] / ceiling) if ceiling else 0.0
                made.coverage[at, column] = sum(told[t] for t in held.get(chunk, ())) / (
                    made.information[at] or 1.0
                )
                made.grades[at, column] = grades.get(chunked.owner[chunk], 0.0)
                held_by_words[at, column] = row in by_words
                raw[at, column] = scores[row]
            made.siblings += [
                (at, np.array(columns)) for columns in owners.values() if len(columns) > 1
            ]
        made.lexical = ranked(made, np.where(held_by_words, raw, -1.0))
        made.semantic = ranked(made, np.where(made.present, made.cosine + 1.0, -1.0))
        return made

    def best_scores(self, collection: Collection, queries: Sequence[str]) -> np.ndarray:
        """The product's best score for each query against a collection, through `fuse` itself."""
        _, postings, vectors = self.index(collection)
        asked = self.ask(list(queries))
        best = []
        for at, text in enumerate(queries):
            terms, _ = postings.statistics(text)
            scores, cosines = postings.scores(terms), vectors @ asked[at]
            by_words = {
                int(row)
                for row in np.argsort(-scores, kind="stable")[:CANDIDATES]
                if scores[row] > 0
            }
            rows = by_words | {int(row) for row in np.argsort(-cosines, kind="stable")[:CANDIDATES]}
            near = {postings.keys[row]: float(cosines[row]) for row in rows}
            own = {postings.keys[row]: vectors[row] for row in rows}
            prior = size_prior(len(postings.keys), with_meaning=True)
            hits = fuse(
                postings.result(text, scores, sorted(rows)),
                near,
                self.parameters,
                vectors=own,
                legibility=self.legibility(text),
                prior=prior,
            )
            best.append(hits[0].score if hits else 0.0)
        return np.array(best)


class RememberedEmbedder:
    """The product's embedder with vectors kept between runs: the same vectors, without the
    minutes.
    """

    def __init__(self, bench: Bench) -> None:
        self.identity, self.dimensions = bench.embedder.identity, bench.embedder.dimensions
        self.description, self.state = bench.embedder.description, "ready"
        self._embed, self._ask = bench.embed, bench.ask
        self.legibility = bench.embedder.legibility

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        return self._embed(list(texts))

    def embed_query(self, text: str) -> np.ndarray:
        return self._ask([text])[0]

    def warm(self) -> None:
        """Do nothing: the model is not needed."""

    def close(self) -> None:
        """Nothing was opened."""


async def through_file_search(bench: Bench, collection: Collection) -> np.ndarray:
    """(query, 2): what a client sees that writes every document as a file and asks `file_search`
    for the most it gives.
    """
    bench.index(collection)  # embeds what is new in one go
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        database = Database(folder / "commonplace.db", durable=False)
        postings = SqlitePostings(database)
        semantics = LocalSemantics(RememberedEmbedder(bench), folder / "vectors")
        retriever = HybridRetriever(postings, semantics)
        files = build_files(
            database, folder, postings=postings, retriever=retriever, listener=semantics
        )
        names = {f"/d{number}.txt": key for number, key in enumerate(collection.documents)}
        user = local_user()
        for path, key in names.items():
            await files.service.write(
                user, collection.name, path, collection.documents[key], mode=WriteMode.TRUNCATE
            )
        await files.indexer.drain()
        figures = []
        for key, text in collection.queries.items():
            found = await files.service.search(user, collection.name, text, limit=MOST_CHUNKS)
            legible = bench.legibility(text) >= ILLEGIBLE_BELOW
            assert found.mode == ("hybrid" if legible else "lexical"), found.notes
            ranking = list(dict.fromkeys(names[chunk.path] for chunk in found.chunks))
            figures.append(
                (ndcg(ranking, collection.relevant[key]), recall(ranking, collection.relevant[key]))
            )
        files.service.close()
        return np.array(figures)


def ndcg_ideal(grades: list[float]) -> float:
    return sum(
        grade / math.log2(at + 2) for at, grade in enumerate(sorted(grades, reverse=True)[:CUT])
    )


def row(
    label: str, features: Features, figures: np.ndarray, chosen: np.ndarray | slice = slice(None)
) -> str:
    parts = [f"{label:<34}{features.name:<20}"]
    for metric, name in enumerate(("nDCG@10", "recall@10")):
        _, low, high = bootstrap(figures[chosen, metric] - features.better()[chosen, metric])
        parts.append(
            f"{name} {figures[chosen, metric].mean():.3f} (vs better single [{low:+.4f}, "
            f"{high:+.4f}])"
        )
    return "  ".join(parts)


def numbers(parameters: Parameters) -> str:
    return ", ".join(f"{getattr(parameters, name):.2f}" for name in FITTED)


def report_quality(
    judged: Sequence[Features], lookups: Sequence[Features], shipped: Parameters
) -> None:
    print("\nWhole collections, the shipped parameters")
    for features in (*judged, *lookups):
        for label, figures in (
            ("lexical", features.lexical),
            ("semantic", features.semantic),
            ("fused", measure(features, shipped)),
        ):
            print(row(label, features, figures))
    print(
        "\nHeld out by parity of SHA-256 of the query id: fitted on one half, measured on the "
        "other, both directions"
    )
    fitted = {half: fit(judged, lookups, half) for half in (0, 1)}
    for features in judged:
        figures = np.zeros_like(features.lexical)
        for half, parameters in fitted.items():
            other = features.halves != half
            figures[other] = measure(features, parameters)[other]
        print(row("fitted on the other half", features, figures))
    print(
        "  "
        + "; ".join(f"half {half}: {numbers(parameters)}" for half, parameters in fitted.items())
    )
    print("\nOne collection left out: fitted on the others and their own look-ups only")
    for features in judged:
        others = [f for f in judged if f is not features]
        parameters = fit(others, [f for f in lookups if not f.name.startswith(features.name)])
        print(
            row("fitted elsewhere", features, measure(features, parameters)),
            "",
            numbers(parameters),
        )


def report_scores(
    bench: Bench,
    collections: dict[str, Collection],
    judged: Sequence[Features],
    lookups: Sequence[Features],
) -> None:
    shipped = bench.parameters
    bound = shipped.abstain_below
    print(f"\nAbstention: best score below {bound}")
    refused: dict[bool, list[np.ndarray]] = {True: [], False: []}
    for name, source in collections.items():
        for other, target in collections.items():
            below = bench.best_scores(target, list(source.queries.values())) < bound
            refused[name == other].append(below)
            print(f"  {name:<10} asked of {other:<10} refused {below.mean():6.1%} of {len(below)}")
        if source.unanswerable:
            below = bench.best_scores(source, list(source.unanswerable.values())) < bound
            print(
                f"  {name:<10} its own unanswerable     refused {below.mean():6.1%} of {len(below)}"
            )
    foreign, own = np.concatenate(refused[False]), np.concatenate(refused[True])
    print(f"  all foreign refused {foreign.mean():.1%}; all answerable refused {own.mean():.1%}")
    print("\nCalibration error of the score (5 best hits, 10 bins)")
    for features in (*judged, *lookups):
        errors = [
            calibration_error(features, calibrate(judged[1], lookups, shipped, half), 1 - half)
            for half in (0, 1)
        ]
        error = calibration_error(features, shipped, None)
        alone = calibration_error(words_alone(features), ALONE, None)
        print(
            f"  {features.name:<18} fitted on the other half {np.mean(errors):.3f}; shipped "
            f"{error:.3f}; without a model {alone:.3f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--no-product", action="store_true")
    parser.add_argument("--model", default="default", help="a choice, or an installed model")
    parser.add_argument("--threads", type=int, default=0, help="0: all processors")
    parser.add_argument("--models", type=Path, default=ROOT / ".tools" / "models")
    parser.add_argument("--cache", type=Path, default=ROOT / ".tools" / "bench")
    options = parser.parse_args()
    if not DATA.is_dir():
        raise SystemExit(f"no collections at {DATA}; set COMMONPLACE_TEST_DATA")
    started = time.perf_counter()
    bench = Bench(options.models, options.cache, options.model, options.threads)
    collections = {name: load(name) for name in ("cranfield", "cosqa", "devbench")}
    foreign = {name: load(name) for name in LANGUAGES}
    judged = [bench.features(collection) for collection in collections.values()]
    simulated = [
        simulate_lookups(collections["cranfield"], True),
        simulate_lookups(collections["cosqa"], False),
    ]
    lookups = [bench.features(collection) for collection in simulated]
    print(
        f"model {bench.embedder.identity}; load average {os.getloadavg()[0]:.1f}; parameters "
        f"{bench.parameters}"
    )
    if options.fit:
        print("fresh fit:", calibrate(judged[1], lookups, fit(judged, lookups)))
        print(
            "calibration of the shipped parameters:",
            calibrate(judged[1], lookups, bench.parameters),
        )
        print(
            "without a model:",
            calibrate(words_alone(judged[1]), [words_alone(each) for each in lookups], ALONE),
        )
    report_quality(judged, lookups, bench.parameters)
    print("\nOther languages (small sets of our own)")
    others = [bench.features(collection) for collection in foreign.values()]
    for features in others:
        for label, figures in (
            ("lexical", features.lexical),
            ("semantic", features.semantic),
            ("fused", measure(features, bench.parameters)),
        ):
            print(row(label, features, figures))
    if not options.no_product:
        print(
            "\nThe same through file_search: every document written as a file, 20 chunks asked for"
        )
        for features, collection in (
            *zip(judged, collections.values(), strict=True),
            *zip(others, foreign.values(), strict=True),
        ):
            print(row("file_search", features, asyncio.run(through_file_search(bench, collection))))
    report_scores(bench, collections, judged, lookups)
    if options.plot:
        shipped = bench.parameters
        draw([*judged, *lookups, *others], lambda each: measure(each, shipped), options.plot)
    print(f"\n{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
