"""Memory, measured: what is found, what is suggested, tokens, latency, writes, processes, start-up. `make bench SUITE=memory`.

python -m benchmarks.memory                      everything but the 100,000 entries
python -m benchmarks.memory --large              latency at 100,000 entries too
python -m benchmarks.memory --only found,latency parts of it
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import ROOT, StdioServer, median, rss_mb, show, verdict
from commonplace.kernel.auth import LOCAL_TENANT as TENANT
from commonplace.memory.assembly import open_memory
from commonplace.memory.engine.contradiction import Statement, find_conflict
from commonplace.memory.engine.suggest import Thresholds, nearest, propose_pairs
from commonplace.memory.engine.tokens import count_tokens
from commonplace.memory.index import LexicalIndex
from commonplace.memory.model import Entry, EntryType, SuggestionType
from commonplace.memory.service import MemoryService
from commonplace.memory.store import Filter
from commonplace.memory.tools.search import _result
from commonplace.memory.tools.show import shown
from commonplace.search import embed_models
from commonplace.search.embed import LocalEmbedder
from commonplace.search.text import query_terms

DATA = Path(os.environ.get("COMMONPLACE_TEST_DATA", ROOT.parent / "shared" / "data"))
RETRIEVAL = DATA / "retrieval"
PAIRS = ROOT / "tests" / "data" / "memory" / "pairs.jsonl"
MODELS = ROOT / ".tools" / "models"
PARTS = ("found", "suggested", "tokens", "latency", "writes", "processes", "start")
passed: list[bool] = []


def check(ok: bool) -> str:
    passed.append(ok)
    return verdict(ok)


def model() -> LocalEmbedder:
    embed_models.install_default(MODELS)
    embedder = LocalEmbedder(MODELS / embed_models.DEFAULT_MODEL, threads=os.cpu_count() or 1, load_wait_seconds=120)
    embedder.embed_query("ready")
    return embedder


class Planted:
    """Questions embedded by the model, entries by a seeded direction: the cost of searching many without embedding many."""

    def __init__(self, real: LocalEmbedder) -> None:
        self._real = real
        self.identity = "planted/1"
        self.dimensions = real.dimensions
        self.state = "ready"

    def warm(self) -> None:
        return None

    def embed(self, texts: Sequence[str]) -> Any:
        made = np.random.default_rng(len(texts[0]) if texts else 0).standard_normal((len(texts), self.dimensions)).astype(np.float32)
        return made / np.linalg.norm(made, axis=1, keepdims=True)

    def embed_query(self, text: str) -> Any:
        return self._real.embed_query(text)


def cosqa() -> tuple[dict[str, str], dict[str, str], dict[str, set[str]]]:
    corpus = {item["_id"]: item["text"] for item in json.loads((RETRIEVAL / "cosqa" / "corpus.json").read_text())}
    queries = {item["_id"]: item["text"] for item in json.loads((RETRIEVAL / "cosqa" / "queries.json").read_text())}
    answers: dict[str, set[str]] = {}
    for line in (RETRIEVAL / "cosqa" / "qrels.tsv").read_text().splitlines():
        query, document, *_ = line.split("\t")
        if query in queries:
            answers.setdefault(query, set()).add(document)
    return corpus, queries, answers


def devbench() -> dict[str, Any]:
    value: dict[str, Any] = json.loads((RETRIEVAL / "devbench" / "devbench_dataset.json").read_text())
    return value


async def keep(service: MemoryService, texts: Iterable[tuple[str, str]], embed: bool) -> dict[str, str]:
    """Entries of (name, text), as an agent would add them; returns name by id."""
    moment = service.now()
    entries: list[Entry] = []
    names: dict[str, str] = {}
    for name, text in texts:
        title = text.splitlines()[0].split(" . ")[0][:100]
        entry = service.draft(EntryType.REFERENCE, title, text).entry(service.new_id(), moment)
        entries.append(entry)
        names[entry.id] = name
    known = (await service.store.add_all(TENANT, entries, [], {})).known
    for gone, existing in known.items():
        names[gone] = names[existing]
    if embed:
        kept = [entry for entry in entries if entry.id not in known]
        for start in range(0, len(kept), 64):
            await service._index.embed(TENANT, kept[start : start + 64])
    service._filled.add(TENANT)
    return names


async def rankings(service: MemoryService, names: dict[str, str], queries: dict[str, str], limit: int) -> dict[str, list[str]]:
    found = {}
    for query, text in queries.items():
        answer = await service.search(TENANT, text, "", Filter(), limit)
        found[query] = [names[hit.entry.id] for hit in answer.hits]
    return found


async def by_meaning(service: MemoryService, names: dict[str, str], queries: dict[str, str], limit: int) -> dict[str, list[str]]:
    """The vectors alone, as the index holds them."""
    from commonplace.memory.documents import entry_id
    from commonplace.memory.hybrid import HybridIndex, summaries

    index = service._index
    assert isinstance(index, HybridIndex)
    found = {}
    for query, text in queries.items():
        near = index._vectors.search(summaries(TENANT), index._meaning.embed_query(text), limit).cosines
        found[query] = [names[entry_id(key)] for key in sorted(near, key=lambda key: -near[key])]
    return found


def recall(found: dict[str, list[str]], answers: dict[str, set[str]], depth: int) -> float:
    shares = [len(answers[query] & set(ranking[:depth])) / len(answers[query]) for query, ranking in found.items() if answers.get(query)]
    return sum(shares) / len(shares)


def measure_found(embedder: LocalEmbedder) -> None:
    corpus, queries, answers = cosqa()

    async def run(folder: Path, texts: list[tuple[str, str]], asked: dict[str, str]) -> dict[str, dict[str, list[str]]]:
        service = open_memory(folder, embedder=embedder)
        names = await keep(service, texts, embed=True)
        made = {"words": {}, "meaning": await by_meaning(service, names, asked, 20), "fused": await rankings(service, names, asked, 20)}
        hybrid, service._index = service._index, LexicalIndex(service._index._postings)  # type: ignore[attr-defined]
        made["words"] = await rankings(service, names, asked, 20)
        service._index = hybrid
        service.close()
        return made

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        code = asyncio.run(run(Path(folder), list(corpus.items()), queries))
    for name, found in code.items():
        rows.append(("cosqa", name, *(f"{recall(found, answers, depth):.3f}" for depth in (1, 5, 10, 20))))
    set_ = devbench()
    asked = {query["id"]: query["question"] for query in set_["queries"]}
    wanted = {query["id"]: set(query["expected_tags"]) for query in set_["queries"]}
    with tempfile.TemporaryDirectory() as folder:
        notes = asyncio.run(run(Path(folder), [(memory["id"], memory["content"]) for memory in set_["memories"]], asked))
    for name, found in notes.items():
        rows.append(("devbench", name, *(f"{recall(found, wanted, depth):.3f}" for depth in (1, 5, 10, 20))))
    show("Found: recall at depth", ("collection", "by", "@1", "@5", "@10", "@20"), rows)
    fused, best = recall(code["fused"], answers, 10), max(recall(code[name], answers, 10) for name in ("words", "meaning"))
    print(f"cosqa recall@10 >= 0.80: {fused:.3f} {check(fused >= 0.80)}")
    print(f"fused not below the better single retriever: {fused:.3f} against {best:.3f} {check(fused >= best)}")
    print(f"devbench recall@5 = 1: {check(recall(notes['fused'], wanted, 5) == 1)}")


def side(value: dict[str, str]) -> Statement:
    if "ref" not in value:
        return Statement(value["title"], value["content"])
    collection, name = value["ref"].split(":", 1)
    if collection == "devbench":
        text = next(memory["content"] for memory in devbench()["memories"] if memory["id"] == f"bench:{name}")
    else:
        text = cosqa()[0][name]
    return Statement(text.splitlines()[0][:100], text)


def measure_suggested(embedder: LocalEmbedder) -> None:
    """Each pair as two entries, asked what is proposed; thresholds were chosen on the other half."""
    pairs = [json.loads(line) for line in PAIRS.read_text().splitlines()]
    rows = []
    for split in ("tuning", "held-out"):
        chosen = [(side(pair["a"]), side(pair["b"]), pair["label"]) for pair in pairs if pair["split"] == split]
        for how, cosines in (("vectors", cosines_of(chosen, embedder)), ("words", [None] * len(chosen))):
            told = [proposed(a, b, cosine) for (a, b, _), cosine in zip(chosen, cosines, strict=True)]
            labels = [label for _, _, label in chosen]
            for what, predicted, actual in (
                ("any suggestion", [kind is not None for kind in told], [label != "none" for label in labels]),
                ("contradiction", [kind == "contradiction" for kind in told], [label == "contradiction" for label in labels]),
            ):
                right = sum(p and a for p, a in zip(predicted, actual, strict=True))
                precision, found = right / max(1, sum(predicted)), right / sum(actual)
                ok = check(precision >= 0.8 and found >= 0.6) if split == "held-out" else ""
                rows.append((split, how, what, len(labels), f"{precision:.2f}", f"{found:.2f}", ok))
    show(
        "Suggested: precision >= 0.8, recall >= 0.6",
        ("half", "by", "what", "pairs", "precision", "recall", ""),
        [tuple(map(str, r)) for r in rows],
    )


def cosines_of(pairs: list[tuple[Statement, Statement, str]], embedder: LocalEmbedder) -> list[float]:
    left = embedder.embed([f"{a.title}\n{a.content}" for a, _, _ in pairs])
    right = embedder.embed([f"{b.title}\n{b.content}" for _, b, _ in pairs])
    return [float(cosine) for cosine in (left * right).sum(axis=1)]


def proposed(a: Statement, b: Statement, cosine: float | None) -> str | None:
    first, second = (_entry(str(n), statement) for n, statement in enumerate((a, b)))
    near = nearest(second, [(first, cosine)], {})
    found = propose_pairs(second, near, frozenset(), Thresholds())
    assert not found or found[0].type is not SuggestionType.CONTRADICTION or find_conflict(a, b) is not None
    return found[0].type.value if found else None


def _entry(id_: str, statement: Statement) -> Entry:
    from datetime import UTC, datetime

    from commonplace.memory.model import Draft

    return Draft(EntryType.REFERENCE, statement.title, statement.content).entry(id_, datetime(2026, 1, 1, tzinfo=UTC))


def measure_tokens() -> None:
    """Five compact results against the same five entries whole, on abstracts: about as long as a careful note."""
    corpus = {item["_id"]: item["text"] for item in json.loads((RETRIEVAL / "cranfield" / "corpus.json").read_text()) if item["text"]}
    queries = {item["_id"]: item["text"] for item in json.loads((RETRIEVAL / "cranfield" / "queries.json").read_text())}

    async def run(folder: Path) -> list[float]:
        service = open_memory(folder)
        await keep(service, list(corpus.items()), embed=False)
        shares = []
        for text in list(queries.values())[:100]:
            answer = await service.search(TENANT, text, "", Filter(), 5)
            terms = query_terms(text)
            compact = sum(count_tokens(json.dumps(_result(hit, terms, False))) for hit in answer.hits)
            whole = sum([count_tokens(json.dumps(shown(await service.show(TENANT, hit.entry.id)))) for hit in answer.hits])
            if whole:
                shares.append(1 - compact / whole)
        service.close()
        return shares

    with tempfile.TemporaryDirectory() as folder:
        saved = median(asyncio.run(run(Path(folder))))
    print(f"tokens saved by compact results >= 80 %: {saved:.1%} {check(saved >= 0.8)}")


def texts_for(count: int) -> list[tuple[str, str]]:
    """Entries of the length of notes: a function, and sentences of an abstract."""
    chance = random.Random(5)
    functions = list(cosqa()[0].values())
    abstracts = [item["text"] for item in json.loads((RETRIEVAL / "cranfield" / "corpus.json").read_text())]
    made = []
    for number in range(count):
        sentences = chance.choice(abstracts).split(" . ")
        chance.shuffle(sentences)
        made.append(
            (str(number), f"Note {number}: {sentences[0][:60]}\n{' . '.join(sentences[:3])[:400]}\n{chance.choice(functions)[:300]}")
        )
    return made


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def measure_latency(embedder: LocalEmbedder, count: int, limits: tuple[float, float]) -> None:
    queries = list(cosqa()[1].values())[:300]

    async def run(folder: Path) -> dict[str, list[float]]:
        planted = Planted(embedder)
        service = open_memory(folder, embedder=planted)  # type: ignore[arg-type]
        await keep(service, texts_for(count), embed=False)
        await plant(service, planted)
        hybrid = service._index
        lexical = LexicalIndex(hybrid._postings)  # type: ignore[attr-defined]
        times: dict[str, list[float]] = {}
        for name, index in (("words", lexical), ("with the query's embedding", hybrid)):
            service._index = index
            for text in queries[:20]:
                await service.search(TENANT, f"{text} please", "", Filter(), 5)
            for text in queries:
                begun = time.perf_counter()
                await service.search(TENANT, text, "", Filter(), 5)
                times.setdefault(name, []).append((time.perf_counter() - begun) * 1000)
        service.close()
        return times

    with tempfile.TemporaryDirectory() as folder:
        times = asyncio.run(run(Path(folder)))
    rows = [
        (
            f"{count:,}",
            name,
            f"{median(values):.1f}",
            f"{percentile(values, 0.95):.1f}",
            f"{limit:g}",
            check(percentile(values, 0.95) <= limit),
        )
        for (name, values), limit in zip(times.items(), limits, strict=True)
    ]
    show("Search latency, ms", ("entries", "by", "p50", "p95", "limit", ""), rows)


async def plant(service: MemoryService, planted: Planted) -> None:
    """All vectors at once, by the index's own file: one journal for many rows."""
    from commonplace.memory.documents import document_key
    from commonplace.memory.hybrid import HybridIndex, summaries
    from commonplace.search.store import Passage

    index = service._index
    assert isinstance(index, HybridIndex)
    entries = await service.store.everything(TENANT)
    passages = [Passage(document_key(entry), entry.text, entry.id) for entry in entries]
    index._meaning.embed = planted.embed  # type: ignore[method-assign]
    await index._vectors.synchronise(summaries(TENANT), "", passages)


def measure_writes() -> None:
    texts = texts_for(6_000)

    async def run(folder: Path) -> tuple[float, float]:
        service = open_memory(folder)
        await keep(service, texts[:4_000], embed=False)
        begun = time.perf_counter()
        for _, text in texts[4_000:5_000]:
            await service.add(TENANT, service.draft(EntryType.BUG, text.splitlines()[0][:100], text))
        one = 1_000 / (time.perf_counter() - begun)
        begun = time.perf_counter()
        waiting = asyncio.Semaphore(8)

        async def add(text: str) -> None:
            async with waiting:
                await service.add(TENANT, service.draft(EntryType.BUG, text.splitlines()[0][:100], text))

        await asyncio.gather(*(add(text) for _, text in texts[5_000:]))
        eight = 1_000 / (time.perf_counter() - begun)
        service.close()
        return one, eight

    with tempfile.TemporaryDirectory() as folder:
        one, eight = asyncio.run(run(Path(folder)))
    print(f"adds a second, durable: {one:.0f} one by one, {eight:.0f} with 8 callers; >= 200: {check(max(one, eight) >= 200)}")


WRITER = """
import asyncio, sys
from pathlib import Path
from benchmarks.memory import add_many
asyncio.run(add_many(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
"""


async def add_many(folder: Path, writer: int, count: int) -> None:
    """What one of several processes adds. Every fourth entry resembles one that each other process adds."""
    service = open_memory(folder)
    for number in range(count):
        text = (
            f"The {WORDS[number % len(WORDS)]} job number {number // 4} failed on the runner because its disk was full"
            if number % 4 == 0
            else ""
        )
        title = f"Writer {writer} entry {number}"
        await service.add(TENANT, service.draft(EntryType.BUG, title, text or f"{title}: {WORDS[number % 7]} {WORDS[writer]} {number}"))
    service.close()


WORDS = ("nightly", "weekly", "hourly", "release", "backup", "export", "cleanup", "import")


def measure_processes(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        open_memory(Path(folder)).close()
        begun = time.perf_counter()
        running = [subprocess.Popen([sys.executable, "-c", WRITER, folder, str(writer), str(count)], cwd=ROOT) for writer in range(4)]
        codes = [process.wait() for process in running]
        seconds = time.perf_counter() - begun
        service = open_memory(Path(folder))
        total = asyncio.run(service.store.counts(TENANT)).entries
        found = asyncio.run(searchable(service, count))
        service.close()
    ok = codes == [0] * 4 and total == 4 * count and found
    print(f"4 processes, {count} adds each: {total} present, searchable: {found}, {4 * count / seconds:.0f}/s {check(ok)}")


async def searchable(service: MemoryService, count: int) -> bool:
    """A sample of every writer's entries is found, and every suggestion speaks of entries that exist, once."""
    for writer in range(4):
        for number in range(1, count, max(1, count // 20)):
            answer = await service.search(TENANT, f"Writer {writer} entry {number}", "", Filter(), 20)
            if f"Writer {writer} entry {number}" not in [hit.entry.title for hit in answer.hits]:
                return False
    pending, total = await service.store.pending(TENANT, list(SuggestionType), 100_000)
    keys = [suggestion.key for suggestion in pending]
    entries = await service.store.get_all(TENANT, {id_ for suggestion in pending for id_ in suggestion.entry_ids})
    whole = all(id_ in entries for suggestion in pending for id_ in suggestion.entry_ids)
    return len(keys) == len(set(keys)) == total and whole and total > 0


def measure_start() -> None:
    """Spawn to the answer of initialize, with an empty store and with 10,000 entries and a model installed."""
    with tempfile.TemporaryDirectory() as empty, tempfile.TemporaryDirectory() as full:
        service = open_memory(Path(full))
        asyncio.run(keep(service, texts_for(10_000), embed=False))
        service.close()
        (Path(full) / "models").symlink_to(MODELS)
        times: dict[str, list[float]] = {"empty": [], "full": []}
        memory = 0.0
        for _ in range(7):
            for name, folder in (("empty", empty), ("full", full)):
                server = StdioServer([sys.executable, "-m", "commonplace", "serve", "--profile", "rekall"], {"COMMONPLACE_HOME": folder})
                times[name].append(server.started_seconds)
                if name == "empty":
                    server.call("rekall_add", {"type": "bug", "title": "one"})
                    server.call("rekall_search", {"query": "one"})
                    memory = rss_mb(server.process.pid)
                server.close()
    ratio = median(times["full"]) / median(times["empty"])
    print(
        f"handshake with 10,000 entries and a model: {ratio:.2f} of the empty {median(times['empty']):.3f} s; <= 1.2: {check(ratio <= 1.2)}"
    )
    print(f"memory of a server without the model, after adding and searching: {memory:.0f} MB; < 80: {check(memory < 80)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(PARTS), help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--large", action="store_true", help="latency at 100,000 entries too")
    parser.add_argument("--adds", type=int, default=2_500, help="entries of each of the 4 processes")
    wanted = parser.parse_args()
    parts = set(wanted.only.split(","))
    embedder = model() if parts & {"found", "suggested", "latency", "start"} else None
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if "suggested" in parts and embedder:
        measure_suggested(embedder)
    if "found" in parts and embedder:
        measure_found(embedder)
    if "tokens" in parts:
        measure_tokens()
    if "latency" in parts and embedder:
        measure_latency(embedder, 10_000, (10, 25))
        if wanted.large:
            measure_latency(embedder, 100_000, (60, 60))
    if "writes" in parts:
        measure_writes()
    if "processes" in parts:
        measure_processes(wanted.adds)
    if "start" in parts:
        measure_start()
    print(f"load average {os.getloadavg()[0]:.1f}; {sum(passed)} of {len(passed)} hold")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
