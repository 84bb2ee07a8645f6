"""Settings of file search: candidates, embedding model, rerank model and score weights."""

from __future__ import annotations

from typing import Literal

from commonplace.kernel.settings.section import Section, setting

EmbeddingProvider = Literal["local", "openai", "off"]
LexicalMode = Literal["bm25", "tsvector"]


class Rerank(Section):
    enabled: bool = setting(False, "Ask the external rerank model; needs the caller's model key.")
    model: str = setting("rerank-v3.5", "Name of the Cohere-compatible rerank model.")
    endpoint: str = setting("", "Address of the rerank model; required once rerank is on.")
    timeout_ms: int = setting(
        6000, "Give up on the rerank model after this time and use fused scores.", minimum=1
    )


class Fallback(Section):
    semantic_weight: float | None = setting(
        None, "Fixed weight of the semantic score; unset = judged per query.", minimum=0, maximum=1
    )
    lexical_weight: float | None = setting(
        None, "Fixed weight of the lexical score; unset = judged per query.", minimum=0, maximum=1
    )


class Embedding(Section):
    provider: EmbeddingProvider = setting(
        "local",
        "`local`: the installed model; `openai`: a compatible endpoint; `off`: lexical only.",
    )
    model: str = setting(
        "auto",
        "Name of the embedding model; `auto`: the installed one that `commonplace models use` "
        "chose, or the default.",
    )
    endpoint: str = setting(
        "", "Address of the OpenAI-compatible embeddings endpoint; required by `openai`."
    )
    timeout_ms: int = setting(6000, "Give up on the embedding endpoint after this time.", minimum=1)
    dimensions: int = setting(
        384,
        "Length of the vectors; the external model of the files contract has 1536.",
        minimum=1,
        maximum=16000,
    )


class FilesSearch(Section):
    enabled: bool = setting(
        True, "Offer file_search; when off it is not listed and answers SEARCH_BACKEND_ERROR."
    )
    limit_default: int = setting(5, "Chunks returned when the caller gives no limit.", minimum=1)
    limit_max: int = setting(20, "Most chunks one call may return.", minimum=1)
    vector_candidates: int = setting(
        30, "Semantic candidates before fusion.", minimum=1, maximum=1000
    )
    bm25_candidates: int = setting(30, "Lexical candidates before fusion.", minimum=1, maximum=1000)
    lexical: LexicalMode = setting(
        "bm25",
        "PostgreSQL only: BM25 over postings, or the transitional `tsvector` mode. After a "
        "change run commonplace migrate.",
    )
    embedding: Embedding = Embedding()
    rerank: Rerank = Rerank()
    fallback: Fallback = Fallback()
