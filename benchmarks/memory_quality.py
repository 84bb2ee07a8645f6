"""Memory's quality: what is found, what is suggested, which questions have no answer, how many
tokens an answer costs.

Whatever was chosen with data in view was chosen on the tuning half of it; marks are judged on the
held-out half. Devbench and the pairs' held-out half were never used to choose anything.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import bpe_openai
import orjson

from benchmarks.measure import ROOT, median, show, verdict
from benchmarks.retrieval import Collection, VectorCache, load, parity
from commonplace.kernel.auth import LOCAL_TENANT as TENANT
from commonplace.memory.assembly import open_memory
from commonplace.memory.engine.contradiction import Statement, find_contradiction
from commonplace.memory.engine.documents import entry_id
from commonplace.memory.engine.suggest import (
    SettledPairs,
    SimilarityCandidate,
    Thresholds,
    nearest,
    propose_pairs,
)
from commonplace.memory.model import WEAK_SCORE, Draft, Entry, EntryFilter, EntryType
from commonplace.memory.retrieval.hybrid import HybridIndex
from commonplace.memory.retrieval.lexical import LexicalIndex
from commonplace.memory.retrieval.vectors import summaries
from commonplace.memory.service import MemoryService
from commonplace.memory.tools.search import search_result
from commonplace.memory.tools.show import show_output
from commonplace.search.lexical.text import query_terms
from commonplace.search.semantic.embed import LocalEmbedder
from commonplace.search.semantic.models import embed_models
from commonplace.search.semantic.models.model_catalogue import PINNED

CONTRADICTIONS = ROOT / "tests" / "data" / "memory" / "contradictions.jsonl"
WORDED = ROOT / "tests" / "data" / "memory" / "worded_contradictions.jsonl"
PAIRS = ROOT / "tests" / "data" / "memory" / "pairs.jsonl"
MODELS = Path(os.environ.get("COMMONPLACE_MODELS", ROOT / ".tools" / "models"))
CACHE = ROOT / ".tools" / "bench"
HALVES = ("tuning", "held-out")
O200K = bpe_openai.get_encoding("o200k_base")
DEPTHS = (1, 5, 10, 20)
Rankings = Mapping[str, Sequence[str]]
passed: list[bool] = []


def check(ok: bool) -> str:
    passed.append(ok)
    return verdict(ok)


def model(name: str = embed_models.DEFAULT_MODEL) -> LocalEmbedder:
    """Install a model if it is missing, and load it."""
    if name == embed_models.DEFAULT_MODEL:
        embed_models.install_default(MODELS)
    elif not (MODELS / name).is_dir():
        embed_models.install_pinned(MODELS, PINNED[name])
    embedder = LocalEmbedder(MODELS / name, threads=os.cpu_count() or 1, load_wait_seconds=120)
    embedder.embed_query("ready")
    return embedder


class Remembering:
    """The model, with the vectors of earlier runs: a text of a collection is embedded once on a
    machine.
    """

    state = "ready"

    def __init__(self, real: LocalEmbedder, say: Callable[[str], None] = print) -> None:
        self._real = real
        self._cache = VectorCache(real, CACHE, say)
        self.identity, self.dimensions = real.identity, real.dimensions

    def warm(self) -> None:
        return None

    def embed(self, texts: Sequence[str]) -> Any:
        return self._cache.embed(texts)

    def embed_query(self, text: str) -> Any:
        return self._real.embed_query(text)

    def legibility(self, text: str) -> float:
        return self._real.legibility(text)


async def keep(
    service: MemoryService, texts: Iterable[tuple[str, str]], *, embed: bool = False
) -> dict[str, str]:
    """Entries of (name, text), titled by their first line; returns name by id."""
    moment = datetime.now(UTC)
    names: dict[str, str] = {}
    entries: list[Entry] = []
    for name, text in texts:
        title = text.strip().splitlines()[0].split(" . ")[0][:100] if text.strip() else name
        entries.append(
            service.draft(EntryType.REFERENCE, title, text).entry(service.new_id(), moment)
        )
        names[entries[-1].id] = name
    known = (await service.store.add_all(TENANT, entries, [], {})).known
    for gone, existing in known.items():
        names[gone] = names[existing]
    if embed:
        new = [entry for entry in entries if entry.id not in known]
        await service.index.embed_whole(TENANT, new)
    service.vectors.mark_complete(TENANT)
    return names


class Store:
    """One collection as entries, asked by words, by meaning, and by both."""

    def __init__(self, folder: Path, collection: Collection, embedder: Remembering) -> None:
        self.collection = collection
        self.service = open_memory(folder, embedder=embedder)
        self.names = asyncio.run(keep(self.service, collection.documents.items(), embed=True))

    def ranked(self, queries: Mapping[str, str], by: str) -> dict[str, list[str]]:
        return asyncio.run(self._ranked(queries, by))

    def best(self, queries: Mapping[str, str]) -> list[float]:
        """The score of the first answer to each question."""

        async def ask() -> list[float]:
            answers = [
                await self.service.search(TENANT, text, "", EntryFilter(), 1)
                for text in queries.values()
            ]
            return [answer.hits[0].score if answer.hits else 0.0 for answer in answers]

        return asyncio.run(ask())

    async def _ranked(self, queries: Mapping[str, str], by: str) -> dict[str, list[str]]:
        hybrid, service = self.service.index, self.service
        assert isinstance(hybrid, HybridIndex)
        found: dict[str, list[str]] = {}
        if by == "words":
            service = MemoryService(service.store, LexicalIndex(hybrid.postings))
        for query, text in queries.items():
            if by == "meaning":
                near = hybrid.vectors.store.search(
                    summaries(TENANT), hybrid.embedder.embed_query(text), max(DEPTHS)
                ).cosines
                found[query] = [
                    self.names[entry_id(key)] for key in sorted(near, key=lambda key: -near[key])
                ]
            else:
                answer = await service.search(TENANT, text, "", EntryFilter(), max(DEPTHS))
                found[query] = [self.names[hit.entry.id] for hit in answer.hits]
        return found


def half(queries: Mapping[str, str], which: str) -> dict[str, str]:
    return {key: text for key, text in queries.items() if HALVES[parity(key)] == which}


def recall(found: Rankings, collection: Collection, depth: int) -> float:
    shares = [
        len(collection.relevant[q].keys() & set(r[:depth])) / len(collection.relevant[q])
        for q, r in found.items()
    ]
    return sum(shares) / len(shares)


def measure_found(embedder: LocalEmbedder) -> None:
    remembering = Remembering(embedder)
    rows: list[tuple[str, ...]] = []
    at_10: dict[tuple[str, str, str], float] = {}
    with tempfile.TemporaryDirectory() as folder:
        stores = {
            name: Store(Path(folder) / name, load(name), remembering)
            for name in ("cosqa", "cranfield", "devbench")
        }
        for name, store in stores.items():
            for which in HALVES if name != "devbench" else ("all",):
                queries = (
                    half(store.collection.queries, which)
                    if name != "devbench"
                    else store.collection.queries
                )
                for by in ("words", "meaning", "fused"):
                    found = store.ranked(queries, by)
                    at_10[name, which, by] = recall(found, store.collection, 10)
                    rows.append(
                        (
                            name,
                            which,
                            str(len(queries)),
                            by,
                            *(f"{recall(found, store.collection, d):.3f}" for d in DEPTHS),
                        )
                    )
                    if (name, by) == ("devbench", "fused"):
                        smoke = recall(found, store.collection, 5)
        show(
            "Found: recall at depth",
            ("collection", "half", "questions", "by", *(f"@{d}" for d in DEPTHS)),
            rows,
        )
        for name in ("cosqa", "cranfield"):
            fused, best = (
                at_10[name, "held-out", "fused"],
                max(at_10[name, "held-out", by] for by in ("words", "meaning")),
            )
            print(
                f"{name}, held-out: fused not below the better single retriever at 10: "
                f"{fused:.3f}, {best:.3f} {check(fused >= best)}"
            )
        code = at_10["cosqa", "held-out", "fused"]
        print(f"cosqa, held-out: recall@10 >= 0.80: {code:.3f} {check(code >= 0.80)}")
        print(f"devbench: recall@5 = 1: {smoke:.3f} {check(smoke == 1)}")
        _measure_line(stores)
        for store in stores.values():
            store.service.close()


def _measure_line(stores: Mapping[str, Store]) -> None:
    """Questions that have an answer reach the line, questions asked of the wrong collection stay
    below it.
    """
    rows = []
    for which in (*HALVES, "devbench"):
        if which == "devbench":
            own = [(stores["devbench"], stores["devbench"].collection.queries)]
            foreign = [(stores["devbench"], stores["devbench"].collection.unanswerable)]
        else:
            own = [
                (stores[name], half(stores[name].collection.queries, which))
                for name in ("cosqa", "cranfield")
            ]
            foreign = [(stores["cosqa"], own[1][1]), (stores["cranfield"], own[0][1])]
        answered = [score >= WEAK_SCORE for store, queries in own for score in store.best(queries)]
        refused = [
            score < WEAK_SCORE for store, queries in foreign for score in store.best(queries)
        ]
        shares = sum(answered) / len(answered), sum(refused) / len(refused)
        ok = check(min(shares) >= 0.9) if which != "tuning" else ""
        rows.append(
            (
                which,
                f"{len(answered)}",
                f"{shares[0]:.3f}",
                f"{len(refused)}",
                f"{shares[1]:.3f}",
                ok,
            )
        )
    show(
        f"The line of {WEAK_SCORE}: answerable questions above it, others below",
        ("half", "answerable", "above", "without answer", "below", ">= 0.9"),
        rows,
    )


def measure_suggested(embedder: LocalEmbedder) -> None:
    """Each pair as two entries, asked what is proposed; thresholds were chosen on the tuning
    half.
    """
    pairs = [json.loads(line) for line in PAIRS.read_text("utf-8").splitlines()]
    collections = {"devbench": load("devbench").documents, "cosqa": load("cosqa").documents}
    rows = []
    for split in HALVES:
        chosen = [
            (_side(pair["a"], collections), _side(pair["b"], collections), pair["label"])
            for pair in pairs
            if pair["split"] == split
        ]
        labels = [label for _, _, label in chosen]
        for how, cosines in (
            ("vectors", _cosines(chosen, embedder)),
            ("words", [None] * len(chosen)),
        ):
            told = [
                _proposed(a, b, cosine) for (a, b, _), cosine in zip(chosen, cosines, strict=True)
            ]
            for what, predicted, actual in (
                (
                    "any suggestion",
                    [kind is not None for kind in told],
                    [label != "none" for label in labels],
                ),
                (
                    "contradiction",
                    [kind == "contradiction" for kind in told],
                    [label == "contradiction" for label in labels],
                ),
            ):
                right = sum(p and a for p, a in zip(predicted, actual, strict=True))
                precision, found = right / max(1, sum(predicted)), right / sum(actual)
                ok = check(precision >= 0.8 and found >= 0.6) if split == "held-out" else ""
                rows.append(
                    (
                        split,
                        how,
                        what,
                        f"{len(labels)}",
                        f"{labels.count('none')}",
                        f"{precision:.2f}",
                        f"{found:.2f}",
                        ok,
                    )
                )
    columns = ("half", "by", "what", "pairs", "negatives", "precision", "recall", "")
    show("Suggested: precision >= 0.8, recall >= 0.6 on the held-out half", columns, rows)
    _measure_contradictions()
    _measure_worded(embedder)


def _measure_contradictions() -> None:
    """Each labelled pair, asked whether it contradicts itself."""
    pairs = [json.loads(line) for line in CONTRADICTIONS.read_text("utf-8").splitlines()]
    rows = []
    for split in HALVES:
        chosen = [pair for pair in pairs if pair["split"] == split]
        told = [
            find_contradiction(Statement(**pair["a"]), Statement(**pair["b"])) is not None
            for pair in chosen
        ]
        actual = [pair["label"] == "contradiction" for pair in chosen]
        right = sum(found and label for found, label in zip(told, actual, strict=True))
        precision, found = right / max(1, sum(told)), right / sum(actual)
        ok = check(precision >= 0.9 and found >= 0.8) if split == "held-out" else ""
        rows.append((split, f"{len(chosen)}", f"{precision:.2f}", f"{found:.2f}", ok))
    columns = ("half", "pairs", "precision", "recall", "")
    show("Contradictions: precision >= 0.9, recall >= 0.8 on the held-out half", columns, rows)


def _measure_worded(embedder: LocalEmbedder) -> None:
    """Measure pairs as two people would write them, with the cosine of the model."""
    pairs = [json.loads(line) for line in WORDED.read_text("utf-8").splitlines()]
    sides = [(_entry(pair["a"], "1"), _entry(pair["b"], "2")) for pair in pairs]
    left = embedder.embed([f"{a.title}\n{a.content}" for a, _ in sides])
    right = embedder.embed([f"{b.title}\n{b.content}" for _, b in sides])
    cosines = [float(cosine) for cosine in (left * right).sum(axis=1)]
    rows = []
    for name, split in sorted({(pair["set"], pair["split"]) for pair in pairs}):
        chosen = [n for n, p in enumerate(pairs) if (p["set"], p["split"]) == (name, split)]
        told = [_propose(*sides[n], cosines[n]) == "contradiction" for n in chosen]
        actual = [pairs[n]["label"] == "contradiction" for n in chosen]
        right_ones = sum(found and label for found, label in zip(told, actual, strict=True))
        precision, found = right_ones / max(1, sum(told)), right_ones / sum(actual)
        ok = check(precision >= 0.9 and found >= 0.8) if split == "held-out" else ""
        rows.append((name, split, f"{len(chosen)}", f"{precision:.2f}", f"{found:.2f}", ok))
    columns = ("set", "half", "pairs", "precision", "recall", "")
    show("Contradictions in other words, ten other authors", columns, rows)


def _entry(value: dict[str, str], id_: str) -> Entry:
    draft = Draft(EntryType(value["type"]), value["title"], value["content"])
    return draft.entry(id_, datetime(2026, 1, 1, tzinfo=UTC))


def _propose(first: Entry, second: Entry, cosine: float | None) -> str | None:
    found = propose_pairs(
        second,
        nearest(second, [SimilarityCandidate(first, cosine)], {}),
        SettledPairs(),
        Thresholds(),
    )
    return found[0].type.value if found else None


def _side(value: dict[str, str], collections: Mapping[str, Mapping[str, str]]) -> Statement:
    if "ref" not in value:
        return Statement(value["title"], value["content"])
    collection, name = value["ref"].split(":", 1)
    text = collections[collection][f"bench:{name}" if collection == "devbench" else name]
    return Statement(text.splitlines()[0][:100], text)


def _cosines(
    pairs: Sequence[tuple[Statement, Statement, str]], embedder: LocalEmbedder
) -> list[float | None]:
    left = embedder.embed([f"{a.title}\n{a.content}" for a, _, _ in pairs])
    right = embedder.embed([f"{b.title}\n{b.content}" for _, b, _ in pairs])
    return [float(cosine) for cosine in (left * right).sum(axis=1)]


def _proposed(a: Statement, b: Statement, cosine: float | None) -> str | None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    first, second = (
        Draft(EntryType.REFERENCE, s.title, s.content).entry(str(n), moment)
        for n, s in enumerate((a, b))
    )
    return _propose(first, second, cosine)


def measure_tokens() -> None:
    """Five compact results against the same five entries whole, on collections as they are."""
    decisions = {
        path.stem: path.read_text("utf-8").lstrip("# ")
        for path in (ROOT / "docs" / "adr").glob("*.md")
    }
    own = Collection(
        "decision records of this repository",
        decisions,
        {n: t.splitlines()[0] for n, t in decisions.items()},
        {},
    )
    rows = []
    for collection in (load("cranfield"), own, load("cosqa"), load("devbench")):
        with tempfile.TemporaryDirectory() as folder:
            saved, content = asyncio.run(_saved(Path(folder), collection))
        judged = collection.name in ("cranfield", own.name)
        ok = check(saved >= 0.8) if judged else ""
        rows.append(
            (collection.name, f"{len(collection.documents)}", f"{content:.0f}", f"{saved:.1%}", ok)
        )
    show(
        "Tokens saved by compact results (median over questions), >= 80 %",
        ("collection", "entries", "tokens of a text", "saved", ""),
        rows,
    )


def _count(text: str) -> int:
    """Count what a model reads, not the upper bound that answers are budgeted by."""
    return len(O200K.encode_ordinary(text))


async def _saved(folder: Path, collection: Collection) -> tuple[float, float]:
    service = open_memory(folder)
    await keep(
        service, ((name, text) for name, text in collection.documents.items() if text.strip())
    )
    shares, contents = [], []
    for text in list(collection.queries.values())[:100]:
        answer = await service.search(TENANT, text, "", EntryFilter(), 5)
        terms = query_terms(text)
        compact = sum(
            _count(orjson.dumps(search_result(hit, terms, False)).decode()) for hit in answer.hits
        )
        whole = sum(
            [
                _count(orjson.dumps(show_output(await service.show(TENANT, hit.entry.id))).decode())
                for hit in answer.hits
            ]
        )
        if whole:
            shares.append(1 - compact / whole)
            contents += [_count(hit.entry.content) for hit in answer.hits]
    service.close()
    return median(shares), median(contents)
