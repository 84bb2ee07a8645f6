"""Retrieval collections for benchmarks: loading, an in-memory BM25 with the product's constants,
cached vectors, metrics.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from commonplace.search.lexical.bm25 import PASSAGES
from commonplace.search.lexical.text import analyze, query_terms
from commonplace.search.model import LexicalMatch, LexicalResult, QueryTerm
from commonplace.search.rarity import idf
from commonplace.search.semantic.embed import Embedder

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("COMMONPLACE_TEST_DATA", ROOT.parent / "shared" / "data")) / "retrieval"
OWN = ROOT / "tests" / "data" / "search"  # small sets of our own, one file per language
CUT = 10


@dataclass(frozen=True)
class Collection:
    name: str
    documents: Mapping[str, str]
    queries: Mapping[str, str]
    relevant: Mapping[str, Mapping[str, float]]  # query -> document -> grade
    unanswerable: Mapping[str, str] = field(default_factory=dict)


def load(name: str) -> Collection:
    if name == "devbench":
        raw = json.loads((DATA / name / "devbench_dataset.json").read_text("utf-8"))
        documents = {memory["id"]: memory["content"] for memory in raw["memories"]}
        tags = {memory["id"]: set(memory["tags"]) for memory in raw["memories"]}
        judged = {
            q["id"]: {key: 1.0 for key in documents if tags[key] & set(q["expected_tags"])}
            for q in raw["queries"]
        }
        texts = {q["id"]: q["question"] for q in raw["queries"]}
    elif (OWN / f"{name}.json").is_file():
        raw = json.loads((OWN / f"{name}.json").read_text("utf-8"))
        documents = {entry["id"]: entry["text"] for entry in raw["documents"]}
        texts = {entry["id"]: entry["text"] for entry in raw["queries"]}
        judged = {entry["id"]: dict.fromkeys(entry["relevant"], 1.0) for entry in raw["queries"]}
    else:
        documents = {
            row["_id"]: row["text"]
            for row in json.loads((DATA / name / "corpus.json").read_text("utf-8"))
        }
        texts = {
            row["_id"]: row["text"]
            for row in json.loads((DATA / name / "queries.json").read_text("utf-8"))
        }
        judged = {key: {} for key in texts}
        for line in (DATA / name / "qrels.tsv").read_text("utf-8").splitlines()[1:]:
            query, document, grade = line.split("\t")[:3]
            if query in judged and float(grade) > 0:
                judged[query][document] = float(grade)
    answerable = {key: text for key, text in texts.items() if judged[key]}
    rest = {key: text for key, text in texts.items() if not judged[key]}
    return Collection(name, documents, answerable, judged, rest)


def simulate_lookups(
    source: Collection, sentences: bool, seed: int = 7, queries: int = 300, most: int = 5000
) -> Collection:
    """Known-item queries without labels: a few words of one text, rarer ones likelier, some
    inside a question.

    They represent exact look-ups, which judged queries lack and in which words must win.
    """
    chance = random.Random(seed)
    texts = list(source.documents.values())
    if sentences:
        texts = [s for text in texts for s in re.split(r"(?<=\.)\s+", text) if len(s.split()) >= 6]
    texts = list(dict.fromkeys(texts))
    chance.shuffle(texts)
    texts = texts[:most]
    holders = Counter(term for text in texts for term in set(analyze(text)))
    frames = ("{}", "what is said about {}", "when was {} mentioned", "{} ?", "how does {} work")
    asked: dict[str, str] = {}
    relevant: dict[str, dict[str, float]] = {}
    for number in chance.sample(range(len(texts)), min(queries, len(texts))):
        words = [
            w
            for w in dict.fromkeys(re.findall(r"[A-Za-z][A-Za-z_]+", texts[number]))
            if len(w) > 2 and analyze(w)
        ]
        size = chance.choice((2, 3, 5))
        if len(words) < size:
            continue
        weights = [idf(len(texts), holders[analyze(word)[0]]) for word in words]
        picked: set[int] = set()
        while len(picked) < size:
            picked.add(chance.choices(range(len(words)), weights)[0])
        key = f"{source.name}-lookup-{number}"
        asked[key] = chance.choice(frames).format(" ".join(words[at] for at in sorted(picked)))
        relevant[key] = {str(number): 1.0}
    return Collection(
        f"{source.name} look-ups", {str(i): text for i, text in enumerate(texts)}, asked, relevant
    )


class MemoryPostings:
    """BM25 as search/sqlite.py computes it, one field, in arrays."""

    def __init__(self, documents: Mapping[str, str]) -> None:
        self.keys = list(documents)
        self.rows = {key: row for row, key in enumerate(self.keys)}
        held: dict[str, list[tuple[int, int]]] = {}
        lengths = np.zeros(len(self.keys))
        for row, text in enumerate(documents.values()):
            terms = analyze(text)
            lengths[row] = len(terms)
            for term, count in Counter(terms).items():
                held.setdefault(term, []).append((row, count))
        self.held = {
            term: (np.array([r for r, _ in rows]), np.array([c for _, c in rows], dtype=float))
            for term, rows in held.items()
        }
        self.norm = PASSAGES.norm(lengths, max(1.0, lengths.mean()))

    def statistics(self, query: str) -> tuple[tuple[QueryTerm, ...], float]:
        total = len(self.keys)
        terms = []
        for term in query_terms(query):
            holders = len(self.held[term][0]) if term in self.held else 0
            terms.append(QueryTerm(term, holders, idf(total, holders)))
        return tuple(terms), PASSAGES.most * sum(term.idf for term in terms)

    def scores(self, terms: Iterable[QueryTerm]) -> np.ndarray:
        scores = np.zeros(len(self.keys))
        for term in terms:
            if term.documents:
                rows, counts = self.held[term.term]
                scores[rows] += term.idf * PASSAGES.most * counts / (counts + self.norm[rows])
        return scores

    def result(self, query: str, scores: np.ndarray, rows: Sequence[int]) -> LexicalResult:
        """Matches among the given rows, with everything fusion wants to know."""
        terms, ceiling = self.statistics(query)
        matches = []
        for row in rows:
            if scores[row] > 0:
                holding = tuple(
                    t.term for t in terms if t.documents and _holds(self.held[t.term][0], row)
                )
                matches.append(LexicalMatch(self.keys[row], float(scores[row]), holding))
        matches.sort(key=lambda match: (-match.score, match.key))
        return LexicalResult(tuple(matches), terms, len(self.keys), ceiling)


def _holds(rows: np.ndarray, row: int) -> bool:
    at = int(np.searchsorted(rows, row))
    return at < len(rows) and int(rows[at]) == row


class VectorCache:
    """Vectors of texts embedded before, on disk under the model's identity: a text is embedded
    once, whatever collection it is in.
    """

    def __init__(
        self,
        embedder: Embedder,
        folder: Path,
        progress: Callable[[str], None] = lambda message: None,
        *,
        queries: bool = False,
    ) -> None:
        """`queries`: embed texts as questions, which some models do otherwise."""
        self._embed = self._embed_queries if queries else embedder.embed
        self._embedder = embedder
        self._progress = progress
        kind = f"{embedder.identity}{' queries' if queries else ''}"
        self._path = folder / (hashlib.sha256(kind.encode()).hexdigest()[:16] + ".npz")
        self._known: dict[str, np.ndarray] = {}
        if self._path.is_file():
            stored = np.load(self._path)
            self._known = dict(zip(stored["digests"].tolist(), stored["vectors"], strict=True))

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        digests = [
            hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:24] for text in texts
        ]
        new = {
            digest: text
            for digest, text in zip(digests, texts, strict=True)
            if digest not in self._known
        }
        if new:
            self._progress(f"embedding {len(new)} texts")
            self._known |= dict(zip(new, self._embed(list(new.values())), strict=True))
            self._path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(
                self._path,
                digests=np.array(list(self._known)),
                vectors=np.stack(list(self._known.values())),
            )
        return np.stack([self._known[digest] for digest in digests])

    def _embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        return np.stack([self._embedder.embed_query(text) for text in texts])


def parity(query_id: str) -> int:
    return hashlib.sha256(query_id.encode()).digest()[-1] & 1


def ndcg(ranking: Sequence[str], grades: Mapping[str, float]) -> float:
    gained = sum(grades.get(key, 0.0) / math.log2(at + 2) for at, key in enumerate(ranking[:CUT]))
    best = sum(
        grade / math.log2(at + 2)
        for at, grade in enumerate(sorted(grades.values(), reverse=True)[:CUT])
    )
    return gained / best if best else 0.0


def recall(ranking: Sequence[str], grades: Mapping[str, float]) -> float:
    return sum(key in grades for key in ranking[:CUT]) / len(grades) if grades else 0.0


def bootstrap(
    differences: np.ndarray, draws: int = 4000, seed: int = 1
) -> tuple[float, float, float]:
    """Mean and its 95 % interval over resampled queries (paired: the differences are per query)."""
    chance = np.random.default_rng(seed)
    means = differences[chance.integers(0, len(differences), (draws, len(differences)))].mean(
        axis=1
    )
    low, high = np.quantile(means, (0.025, 0.975))
    return float(differences.mean()), float(low), float(high)
