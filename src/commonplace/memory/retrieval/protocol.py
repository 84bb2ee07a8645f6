"""The index that memory needs to find entries."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from commonplace.kernel.auth import Tenant
from commonplace.memory.model import Entry, EntryFilter, VectorCoverage
from commonplace.search.model import NO_WORDS, MatchedWords

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float32]
else:  # numpy is imported only with a model
    Vector = object


@dataclass(frozen=True, slots=True)
class EntryMatch:
    """An entry that the index found, by which side and how well."""

    entry_id: str
    score: float  # 0 to 1, comparable between queries
    lexical: float | None = None  # None: that side did not find it
    semantic: float | None = None
    terms: tuple[str, ...] = ()
    words: Mapping[str, int] | None = None  # counts of the entry's terms, where the index knows
    around: float = 0.0  # how well the words of the conversation match, 0 to 1
    told: MatchedWords = NO_WORDS  # what the words of the query say about the subject


@dataclass(frozen=True, slots=True)
class SearchText:
    """A query and the conversation around it."""

    query: str
    context: str = ""


@dataclass(frozen=True, slots=True)
class IndexMatches:
    """The matches of a search, best first."""

    matches: tuple[EntryMatch, ...]
    total: int
    semantic: bool  # whether vectors took part
    model: str | None = None  # the identity of a model that read the query
    documents: int = 0  # entries that were searched
    is_unread: bool = False  # whether there is a model, and it hardly reads the query


@dataclass(frozen=True, slots=True)
class SimilarMatches:
    """Similar entries, nearest first, and the IDF of the entry's terms."""

    matches: tuple[EntryMatch, ...]
    rarity: Mapping[str, float]


class EntryIndex(Protocol):
    """Finds entries.

    The store indexes words in the transaction of the entry; vectors follow when there is a model.
    """

    @property
    def loading(self) -> bool:
        """Say whether a model is being loaded."""
        ...

    def ready(self) -> bool:
        """Say whether vectors can be used now; if not, start loading the model if there is one."""
        ...

    def require(self) -> None:
        """Raise EMBEDDINGS_DISABLED or MODEL_NOT_AVAILABLE unless vectors can be used."""
        ...

    async def prepare(self, seconds: float) -> str:
        """Wait for the model; returns why it cannot be used, or an empty string."""
        ...

    async def search(
        self, tenant: Tenant, text: SearchText, wanted: EntryFilter, limit: int
    ) -> IndexMatches:
        """Search the words and vectors of entries and of their conversations."""
        ...

    async def similar(
        self, tenant: Tenant, entry: Entry, limit: int, also: Sequence[Entry] = ()
    ) -> SimilarMatches:
        """Return similar entries, and those in `also`, by vectors where both have one."""
        ...

    async def embed(self, tenant: Tenant, entries: Sequence[Entry]) -> frozenset[str]:
        """Add the vectors of first passages; returns the ids of entries that have theirs now."""
        ...

    async def embed_whole(self, tenant: Tenant, entries: Sequence[Entry]) -> frozenset[str]:
        """Add the vectors of all passages; returns the ids of entries that have theirs now."""
        ...

    async def forget(self, tenant: Tenant, entries: Sequence[Entry]) -> None:
        """Remove the vectors of entries as they were before a change."""
        ...

    async def forget_all(self, tenant: Tenant) -> None:
        """Remove all vectors of a tenant."""
        ...

    async def erase(self, tenant: Tenant, entry_ids: Collection[str]) -> None:
        """Remove all vectors of entries for good, whatever model made them."""
        ...

    async def coverage(self, tenant: Tenant, entry: Entry) -> VectorCoverage:
        """Return which vectors of an entry exist."""
        ...

    async def count_vectors(self, tenant: Tenant) -> int:
        """Return how many vectors a tenant has."""
        ...

    async def find_missing(self, tenant: Tenant, entries: Sequence[Entry]) -> list[Entry]:
        """Return the entries that lack the vector of a passage."""
        ...

    def close(self) -> None:
        """Stop background work; it starts again when the index is next used."""
        ...
