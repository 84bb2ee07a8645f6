"""Values and Protocols of search: partitions, documents of several fields, retrievers.

A partition (tenant, collection, scope) is closed: its statistics and its results come from its own
documents alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from commonplace.kernel.json_types import Json

if TYPE_CHECKING:  # numpy is optional, and heavy to import
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]


class SearchUnavailableError(Exception):
    """The index or a model behind a retriever cannot be used now. A caller may retry."""


@dataclass(frozen=True, slots=True)
class Partition:
    """Whose documents, of which kind, in which part.

    `Partition(apikey_hash, "files", project)`
    """

    tenant: str
    collection: str
    scope: str


@dataclass(frozen=True, slots=True)
class IndexDocument:
    """A document to index: a key unique in its partition, and the terms of each field."""

    key: str
    fields: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """A distinct term of the query: how many documents have it, and its idf."""

    term: str
    documents: int
    idf: float


@dataclass(frozen=True, slots=True)
class LexicalMatch:
    """A document with query terms; `score` is the raw measure of the store."""

    key: str
    score: float
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LexicalResult:
    """Matches best first (ties by key), with the statistics that explain them.

    `ceiling` is the score that no document can exceed for this query.
    """

    matches: tuple[LexicalMatch, ...] = ()
    terms: tuple[QueryTerm, ...] = ()
    documents: int = 0
    ceiling: float = 0.0
    measure: str = "bm25"  # what the scores are, for `explain`


Terms = Mapping[str, Mapping[str, int]]
"""The terms of a document: field to term to frequency."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """Documents that share enough of some terms, best first, and all terms of each."""

    matches: tuple[LexicalMatch, ...] = ()
    terms: tuple[QueryTerm, ...] = ()
    contents: Mapping[str, Terms] = field(default_factory=dict)  # by key


MAX_TERMS_OF_PASSAGE = 24  # of a query that one passage can be expected to hold
EVEN: Mapping[str, float] = {}
"""No term of a query counts more than its idf."""


class LexicalStore(Protocol):
    """BM25 over the postings of a partition.

    Documents are added by the adapter, in the caller's transaction.
    """

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
        """Return the best documents whose key starts with `prefix`.

        `weights`: field to weight; other fields are not searched. `emphasis`: term to the weight of
        its idf; 1 for terms that are not in it.
        """
        ...


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Cosines of the nearest documents and of those asked for, and how they were found."""

    cosines: dict[str, float]
    rows: int  # documents that have a vector
    exact: bool
    vectors: Mapping[str, Vectors] = field(default_factory=dict)  # by key, where cheap to have
    other_model: str | None = None  # that made vectors here which were not replaced yet


@dataclass(frozen=True, slots=True)
class MatchedWords:
    """What the words that a query and a text share say about their subject.

    The unit is the information of the rarest word; numbers and guesses at words do not count.
    """

    told: float = 0.0  # information of the shared words, less where they are rare in the text
    coverage: float = 0.0  # share of the information of the query, 0 to 1
    further: float = 0.0  # information beside the most telling word


NO_WORDS = MatchedWords()
"""A query and a text that share none."""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One result of a retriever.

    `score` is 0 to 1 and decides the order; its components stay visible beside it.
    """

    key: str
    score: float
    lexical: float | None = None  # 0 to 1; None = the lexical side did not return it
    semantic: float | None = None  # 0 to 1; None = the semantic side did not return it
    terms: tuple[str, ...] = ()  # query terms of the document
    explain: Mapping[str, Json] = field(default_factory=dict)
    evidence: float = 0.0  # what the score was calibrated from
    words: MatchedWords = NO_WORDS


class EvidenceScale(Protocol):
    """How the evidence of one query becomes scores, for whoever finds more evidence later."""

    @property
    def full_match(self) -> float:
        """Return the evidence of a document with every word of an informative query."""
        ...

    def score(self, evidence: float, log_odds: float = 0.0) -> float:
        """Return a score from 0 to 1; `log_odds` move it either way."""
        ...


class ReadQuery(Protocol):
    """How a query is to be read."""

    @property
    def terms(self) -> Mapping[str, float]:
        """Return the distinct terms and their weights."""
        ...

    @property
    def meaning(self) -> str:
        """Return what an embedding model should read."""
        ...

    @property
    def is_weighed(self) -> bool:
        """Return whether some terms count more than others."""
        ...

    @property
    def messages(self) -> Sequence[Sequence[str]]:
        """Return the terms of each message in the query that is searched by itself."""
        ...

    @property
    def asked_kinds(self) -> Collection[str]:
        """Return the kinds of files that the query asks for, beside code."""
        ...


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Hits, best first; the path taken (`lexical`, `hybrid`, ...); and what was missing."""

    hits: tuple[SearchHit, ...]
    mode: str
    notes: tuple[str, ...] = ()
    doubt: str | None = None  # probably nothing answers; about these scores only
    terms: tuple[QueryTerm, ...] = ()  # of the query
    documents: int = 0  # of the partition
    scale: EvidenceScale | None = None  # None: the scores cannot take more evidence
    doubt_below: float = 0.0  # the score of the best hit from which on there is no doubt


class Retriever(Protocol):
    """Query text in, ranked document keys out, by words alone or by words and meaning."""

    async def retrieve(
        self,
        partition: Partition,
        query: str,
        *,
        limit: int,
        weights: Mapping[str, float],
        prefix: str = "",
        model_key: str | None = None,
        widen: int = 1,
        reading: ReadQuery | None = None,
        named: Sequence[str] = (),
    ) -> Retrieval:
        """Return the best documents.

        `named`: keys that the query names; they take the places of as many candidates by words.

        `reading` says how the query is to be read; None: every word counts the same. `model_key`
        is the caller's own key for external models. `widen` multiplies the number of candidates,
        for a caller that had to drop some.
        """
        ...


@dataclass(frozen=True, slots=True)
class Passage:
    """The text behind a document's key. Equal digests mean equal text."""

    key: str
    text: str
    digest: str


class PassageListener(Protocol):
    """Receives the passages of a source from an index worker, after the words are committed.

    Called again after any failure, so it must be idempotent: make the vectors of all documents
    whose key starts with `prefix` exactly those of `passages`, and embed only new digests. An empty
    list removes them.
    """

    async def synchronise(
        self,
        partition: Partition,
        prefix: str,
        passages: Sequence[Passage],
        *,
        most: int | None = None,
    ) -> int:
        """Embed at most `most` texts; return how many passages still lack a vector.

        The next call continues.
        """
        ...


@runtime_checkable
class LacksVectors(Protocol):
    """A listener that can say whether a partition must be embedded, cheaply."""

    async def lacks_vectors(self, partition: Partition) -> bool:
        """Return whether it has none of this model, or still has those of another one."""
        ...


class KeyNeededError(Exception):
    """There is new text, and the model needs the caller's key to embed it."""


class KeyedListener(Protocol):
    """A `PassageListener` whose model is asked with the caller's key.

    Raises KeyNeededError without a key, unless no text is new.
    """

    async def synchronise(
        self,
        partition: Partition,
        prefix: str,
        passages: Sequence[Passage],
        model_key: str | None,
        *,
        most: int | None = None,
    ) -> int: ...


@runtime_checkable
class ReusesVectors(Protocol):
    """A listener that can copy vectors between partitions of one tenant."""

    async def reuse(
        self,
        partition: Partition,
        prefix: str,
        passages: Sequence[Passage],
        others: Sequence[Partition],
    ) -> None:
        """Take the vectors of equal texts from other partitions instead of embedding again."""
        ...


def upper_bound(prefix: str) -> str:
    """Return the least string greater than every string with the prefix, by code point."""
    trimmed = prefix.rstrip(chr(0x10FFFF))
    if not trimmed:
        return chr(0x10FFFF) * 8
    following = ord(trimmed[-1]) + 1
    return trimmed[:-1] + chr(0xE000 if 0xD800 <= following <= 0xDFFF else following)
