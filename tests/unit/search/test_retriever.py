"""The hybrid retriever over real postings and vector files: results, fallbacks, notes."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from commonplace.kernel.settings import Embedding, Fallback, FilesSearch
from commonplace.search.assembly import (
    SemanticSearch,
    hybrid_policy,
    hybrid_retriever,
    open_semantic_search,
)
from commonplace.search.fusion import DEFAULT, Weights
from commonplace.search.lexical.sqlite import SqlitePostings
from commonplace.search.lexical.text import analyze
from commonplace.search.model import (
    EVEN,
    IndexDocument,
    LexicalResult,
    Partition,
    Passage,
    Retrieval,
    SearchUnavailableError,
)
from commonplace.search.relevance.query import read_query
from commonplace.search.retriever import HybridPolicy, HybridRetriever
from commonplace.search.semantic.embed import EmbedderUnavailableError
from commonplace.search.semantic.vector import VectorIndex
from commonplace.storage.sqlite.database import Database
from word_embedder import WordEmbedder

HERE = Partition("tenant-a", "files", "demo")
ELSEWHERE = Partition("tenant-b", "files", "demo")
TEXTS = {
    "/db.md#1": "sqlite locked busy timeout writer",
    "/db.md#2": "postgres vacuum statistics",
    "/net/tls.md#1": "certificate renewal expired alert",
    "/net/dns.md#1": "resolver cache timeout",
    "/code.py#1": "def read_lines(path): return path.read_text().splitlines()",
}


class Semantics:
    def __init__(self, embedder: WordEmbedder, vectors: VectorIndex) -> None:
        self.embedder = embedder
        self.vectors = vectors
        self.earlier = None


class Stores:
    def __init__(self, folder: Path) -> None:
        self.database = Database(folder / "search.db")
        self.postings = SqlitePostings(self.database)
        self.semantics = Semantics(WordEmbedder(), VectorIndex(folder / "vectors", WordEmbedder()))

    def fill(self, partition: Partition, texts: Mapping[str, str], embed: bool = True) -> None:
        documents = [IndexDocument(key, {"content": analyze(text)}) for key, text in texts.items()]
        self.database.write_now(
            lambda connection: self.postings.put(connection, partition, documents)
        )
        if embed:
            passages = [
                Passage(key, text, hashlib.sha256(text.encode()).hexdigest())
                for key, text in texts.items()
            ]
            self.semantics.vectors.synchronise_now(partition, "/", passages)


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    made = Stores(tmp_path)
    made.fill(HERE, TEXTS)
    yield made
    made.database.close()


def ask(
    retriever: HybridRetriever,
    query: str,
    partition: Partition = HERE,
    limit: int = 5,
    prefix: str = "",
) -> Retrieval:
    return asyncio.run(
        retriever.retrieve(partition, query, limit=limit, weights={"content": 1.0}, prefix=prefix)
    )


def test_words_and_meaning_rank_together_and_both_components_show(stores: Stores) -> None:
    found = ask(HybridRetriever(stores.postings, stores.semantics), "sqlite locked")
    assert found.mode == "hybrid"
    best = found.hits[0]
    assert best.key == "/db.md#1"
    assert best.lexical is not None
    assert best.semantic is not None
    assert {"cosine", "bm25", "coverage", "matched", "missing", "fusion"} <= set(best.explain)


def test_documents_found_by_meaning_alone_get_lexical_scores(stores: Stores) -> None:
    retriever = HybridRetriever(
        stores.postings, stores.semantics, HybridPolicy(lexical_candidates=1, semantic_candidates=5)
    )
    found = {hit.key: hit for hit in ask(retriever, "timeout", limit=5).hits}
    assert found["/db.md#1"].lexical is not None
    assert found["/net/dns.md#1"].lexical is not None


def test_the_prefix_and_the_tenant_bound_both_sides(stores: Stores) -> None:
    stores.fill(ELSEWHERE, {"/secret.md#1": "sqlite locked busy timeout writer"})
    retriever = HybridRetriever(stores.postings, stores.semantics)
    assert {hit.key for hit in ask(retriever, "timeout alert", prefix="/net/").hits} == {
        "/net/tls.md#1",
        "/net/dns.md#1",
    }
    assert {hit.key for hit in ask(retriever, "timeout", ELSEWHERE).hits} == {"/secret.md#1"}


def test_the_limit_is_respected(stores: Stores) -> None:
    assert (
        len(ask(HybridRetriever(stores.postings, stores.semantics), "timeout", limit=2).hits) == 2
    )


def test_without_a_model_words_answer_and_the_result_says_why(stores: Stores) -> None:
    found = ask(HybridRetriever(stores.postings), "sqlite locked")
    assert found.mode == "lexical"
    assert found.hits[0].key == "/db.md#1"
    assert any("commonplace models install" in note for note in found.notes)


def test_a_model_that_cannot_load_degrades_visibly(stores: Stores) -> None:
    class Broken(WordEmbedder):
        def embed_query(self, text: str) -> object:  # type: ignore[override]
            raise EmbedderUnavailableError("the file is damaged")

    found = ask(
        HybridRetriever(stores.postings, Semantics(Broken(), stores.semantics.vectors)),
        "sqlite locked",
    )
    assert found.mode == "lexical"
    assert any("the file is damaged" in note for note in found.notes)


class HalfReader(WordEmbedder):
    """Embeds the words of the tests, with a given legibility."""

    read = 0.0

    def legibility(self, text: str) -> float:
        return self.read


def test_a_query_in_an_unknown_script_is_answered_by_words_with_a_note(
    stores: Stores,
) -> None:
    stores.semantics.embedder = HalfReader()
    found = ask(HybridRetriever(stores.postings, stores.semantics), "sqlite locked")
    assert (found.mode, [hit.key for hit in found.hits]) == ("lexical", ["/db.md#1"])
    assert found.notes == ("ranked by words alone: the embedding model does not read this script",)
    words = ask(HybridRetriever(stores.postings), "sqlite locked")
    assert [(hit.key, hit.score) for hit in found.hits] == [
        (hit.key, hit.score) for hit in words.hits
    ]


def test_meaning_counts_as_far_as_the_model_reads_the_query(stores: Stores) -> None:
    whole = ask(HybridRetriever(stores.postings, stores.semantics), "timeout writer").hits[0]
    stores.semantics.embedder = HalfReader()
    stores.semantics.embedder.read = 0.5
    half = ask(HybridRetriever(stores.postings, stores.semantics), "timeout writer").hits[0]
    assert half.explain["legibility"] == 0.5
    assert half.explain["semantic_evidence"] == pytest.approx(
        whole.explain["semantic_evidence"] / 2, abs=1e-3
    )
    assert half.explain["lexical_evidence"] == whole.explain["lexical_evidence"]
    assert "legibility" not in whole.explain


def test_configured_weights_ignore_the_legibility_of_the_query(stores: Stores) -> None:
    stores.semantics.embedder = HalfReader()
    found = ask(
        HybridRetriever(stores.postings, stores.semantics, HybridPolicy(fixed=Weights(1.0, 0.0))),
        "sqlite locked",
    )
    assert found.mode == "hybrid"


def test_vectors_of_another_model_are_not_used_and_the_result_says_so(
    stores: Stores, tmp_path: Path
) -> None:
    newer = WordEmbedder("fake/2")
    found = ask(
        HybridRetriever(
            stores.postings, Semantics(newer, VectorIndex(tmp_path / "vectors", newer))
        ),
        "sqlite locked",
    )
    assert found.mode == "lexical"
    assert any("another model" in note for note in found.notes)


def test_passages_not_embedded_yet_are_found_by_words_and_counted(stores: Stores) -> None:
    stores.fill(HERE, {"/new.md#1": "freshly written zebra"}, embed=False)
    found = ask(HybridRetriever(stores.postings, stores.semantics), "zebra")
    assert found.hits[0].key == "/new.md#1"
    assert any("5 of 6" in note for note in found.notes)


class NoWords:
    async def search(
        self,
        partition: Partition,
        terms: Sequence[str],
        *,
        limit: int,
        weights: Mapping[str, float],
        prefix: str = "",
        emphasis: Mapping[str, float] = EVEN,
    ) -> LexicalResult:
        raise SearchUnavailableError("database is malformed")


def test_when_words_fail_meaning_answers_and_when_both_fail_the_error_is_raised(
    stores: Stores,
) -> None:
    found = ask(HybridRetriever(NoWords(), stores.semantics), "sqlite locked busy timeout writer")
    assert found.hits[0].key == "/db.md#1"
    assert any("meaning alone" in note for note in found.notes)
    with pytest.raises(SearchUnavailableError):
        ask(HybridRetriever(NoWords()), "sqlite")


class BrokenWhileScoring:
    """Postings whose table is lost after the words were found and before they are scored."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self.search = stores.postings.search

    async def score_keys(
        self,
        partition: Partition,
        terms: Sequence[str],
        keys: Sequence[str],
        *,
        weights: Mapping[str, float],
        emphasis: Mapping[str, float] = EVEN,
    ) -> LexicalResult:
        self._stores.database.write_now(lambda c: c.execute("DROP TABLE search_posting") and None)
        return await self._stores.postings.score_keys(partition, terms, keys, weights=weights)


def test_a_failure_to_score_what_meaning_found_does_not_fail_the_search(stores: Stores) -> None:
    query = "sqlite locked busy timeout writer"
    whole = ask(HybridRetriever(stores.postings, stores.semantics), query)
    found = ask(HybridRetriever(BrokenWhileScoring(stores), stores.semantics), query)
    with pytest.raises(SearchUnavailableError):
        ask(HybridRetriever(stores.postings), query)
    assert found.mode == "hybrid"
    assert found.hits[0].key == whole.hits[0].key
    assert {hit.key for hit in found.hits} == {hit.key for hit in whole.hits}


def test_a_question_without_an_answer_scores_below_the_threshold_and_is_reported(
    stores: Stores,
) -> None:
    many = {f"/n{n}.md#1": f"note{n} about subject{n} and matter{n}" for n in range(300)}
    stores.fill(HERE, many)
    found = ask(
        HybridRetriever(stores.postings, stores.semantics), "quantum chromodynamics lattice"
    )
    assert all(hit.score < DEFAULT.abstain_below for hit in found.hits)
    assert not found.hits or "probably nothing here answers" in str(found.doubt)


def test_the_same_question_always_gets_the_same_answer(stores: Stores) -> None:
    retriever = HybridRetriever(stores.postings, stores.semantics)
    assert ask(retriever, "timeout cache writer") == ask(retriever, "timeout cache writer")


@pytest.mark.parametrize("query", ["", "   ", "\x00", "\ud800", "🙂", "the of and", "a" * 40_000])
def test_strange_queries_are_answered(stores: Stores, query: str) -> None:
    assert ask(HybridRetriever(stores.postings, stores.semantics), query).mode in (
        "hybrid",
        "lexical",
    )


def test_weights_of_the_settings_are_fixed_and_missing_ones_complete_to_one() -> None:
    assert hybrid_policy(FilesSearch()).fixed is None
    assert hybrid_policy(
        FilesSearch(fallback=Fallback(semantic_weight=0.65, lexical_weight=0.35))
    ).fixed == Weights(0.65, 0.35)
    assert hybrid_policy(FilesSearch(fallback=Fallback(semantic_weight=0.7))).fixed == Weights(
        0.7, pytest.approx(0.3)
    )


def test_the_reason_for_missing_semantic_search_is_reported(tmp_path: Path) -> None:
    absent = open_semantic_search(tmp_path)
    assert absent.listener is None
    assert "commonplace models install" in absent.absent
    off = open_semantic_search(tmp_path, Embedding(provider="off"))
    assert "provider" in off.absent
    assert [check["status"] for check in off.doctor()] == ["note"]


def test_a_retriever_without_meaning_is_lexical(stores: Stores) -> None:
    assert ask(
        hybrid_retriever(stores.postings, SemanticSearch(None, "switched off")), "sqlite"
    ).notes == ("ranked by words alone: switched off",)


def test_a_found_text_without_a_vector_is_ranked_by_words_and_named_in_the_notes(
    tmp_path: Path,
) -> None:
    class English(WordEmbedder):
        def embed(self, texts: Sequence[str]) -> Any:
            vectors = super().embed(texts)
            vectors[[not text.isascii() for text in texts]] = 0
            return vectors

    stores = Stores(tmp_path)
    stores.semantics.vectors = VectorIndex(tmp_path / "english", English())
    stores.fill(HERE, {"/a.md#1": "sqlite locked", "/b.md#1": "sqlite 内核 通讯"})
    found = ask(HybridRetriever(stores.postings, stores.semantics), "sqlite")
    assert {hit.key for hit in found.hits} == {"/a.md#1", "/b.md#1"}
    [note] = found.notes
    assert note.startswith("1 of the passages found are in a script that the embedding model")
    stores.database.close()


def test_a_message_in_a_report_brings_its_text_and_the_number_of_candidates_stays(
    stores: Stores,
) -> None:
    texts = {f"/start{number}.md#1": "service start configuration machine" for number in range(20)}
    texts["/errors.c#1"] = "lease of %s was lost twice " + "other words of a long table " * 40
    stores.fill(ELSEWHERE, texts, embed=False)
    retriever = HybridRetriever(stores.postings, policy=HybridPolicy(lexical_candidates=10))
    report = (
        "Service does not start\n\nThe service and its configuration on this machine do not start "
        "any more since we changed nothing of the machine or of the configuration of the service. "
        "It says `RuntimeError: lease of 'eth0' was lost twice` and then nothing else."
    )
    found = asyncio.run(
        retriever.retrieve(
            ELSEWHERE,
            report,
            limit=50,
            weights={"content": 1.0},
            reading=read_query(report),
            named=("/start3.md#1",),
        )
    )
    keys = [hit.key for hit in found.hits]
    assert "/errors.c#1" in keys
    assert "/start3.md#1" in keys
    assert len(keys) == len(set(keys)) == 10


WALRUS = (
    "The walrus parser refuses an empty token list\n\n"
    "The walrus parser refuses an empty token list since the last version and prints nothing, so "
    "that nobody knows which token was meant by it."
)


def ask_report(stores: Stores, retriever: HybridRetriever) -> Retrieval:
    """Ask ELSEWHERE, where two texts share words with the report and thirty are near to it."""
    stores.fill(ELSEWHERE, {"/parser.py#1": "walrus parser", "/token.py#1": "empty token list"})
    vectors = [
        Passage(f"/docs/sea{number}.md#1", f"{WALRUS} {number}", f"digest{number}")
        for number in range(30)
    ]
    stores.semantics.vectors.synchronise_now(ELSEWHERE, "/docs/", vectors)
    return asyncio.run(
        retriever.retrieve(
            ELSEWHERE, WALRUS, limit=60, weights={"content": 1.0}, reading=read_query(WALRUS)
        )
    )


def test_a_report_takes_most_candidates_by_words(stores: Stores) -> None:
    """One vector of a long text is near to much; a fifth of its places by meaning are filled."""
    found = ask_report(stores, HybridRetriever(stores.postings, stores.semantics))
    keys = {hit.key for hit in found.hits}
    assert {"/parser.py#1", "/token.py#1"} <= keys
    assert len(keys) == 2 + 6


def test_configured_weights_keep_all_candidates_by_meaning_of_a_report(stores: Stores) -> None:
    policy = HybridPolicy(fixed=Weights(0.5, 0.5))
    found = ask_report(stores, HybridRetriever(stores.postings, stores.semantics, policy))
    assert len(found.hits) == 2 + 30


def test_the_meaning_of_a_report_counts_a_quarter(stores: Stores) -> None:
    found = ask_report(stores, HybridRetriever(stores.postings, stores.semantics))
    assert {hit.explain["legibility"] for hit in found.hits} == {0.25}
    stores.semantics.embedder = HalfReader()
    stores.semantics.embedder.read = 0.5
    half = ask_report(stores, HybridRetriever(stores.postings, stores.semantics))
    assert {hit.explain["legibility"] for hit in half.hits} == {0.125}


def test_a_report_that_the_model_reads_badly_is_not_taken_for_another_script(
    stores: Stores,
) -> None:
    stores.semantics.embedder = HalfReader()
    stores.semantics.embedder.read = 0.1
    assert ask_report(stores, HybridRetriever(stores.postings, stores.semantics)).mode == "hybrid"
    stores.semantics.embedder.read = 0.04
    assert ask_report(stores, HybridRetriever(stores.postings, stores.semantics)).mode == "lexical"
