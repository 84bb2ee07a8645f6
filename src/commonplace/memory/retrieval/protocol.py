"""What memory asks of an index of its entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from commonplace.kernel.auth import Tenant
from commonplace.memory.model import Entry, EntryFilter

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float32]
else:  # numpy comes with the model: memory without one never imports it
    Vector = object


@dataclass(frozen=True, slots=True)
class EntryMatch:
    """An entry that was found: by which retrievers and how well, before any judgement."""

    entry_id: str
    score: float  # 0 to 1, comparable between queries
    lexical: float | None = None  # None: that retriever did not find it
    semantic: float | None = None
    terms: tuple[str, ...] = ()
    words: Mapping[str, int] | None = (
        None  # how often the entry holds each of its own terms, where the index told
    )


@dataclass(frozen=True, slots=True)
class SearchText:
    """A question and the conversation around it."""

    query: str
    context: str = ""


@dataclass(frozen=True, slots=True)
class IndexMatches:
    matches: tuple[EntryMatch, ...]
    total: int
    semantic: bool  # whether vectors took part


@dataclass(frozen=True, slots=True)
class SimilarMatches:
    """Candidates, nearest first, and how telling the entry's words are (inverse document
    frequency).
    """

    matches: tuple[EntryMatch, ...]
    rarity: Mapping[str, float]


class EntryIndex(Protocol):
    """Finds entries again.

    The words are indexed by the store, in the entry's own transaction; vectors follow when there is
    a model.
    """

    @property
    def loading(self) -> bool:
        """Whether a model is on its way, so that answers will soon be better."""
        ...

    def ready(self) -> bool:
        """Whether there are vectors now; if they could be, a model begins to load."""
        ...

    def require(self) -> None:
        """Raises EMBEDDINGS_DISABLED or MODEL_NOT_AVAILABLE: for what only vectors can do."""
        ...

    async def prepare(self, seconds: float) -> str:
        """Wait for vectors as long as allowed; returns why there are none, or nothing when there
        are.
        """
        ...

    async def search(
        self, tenant: Tenant, sought: SearchText, wanted: EntryFilter, limit: int
    ) -> IndexMatches:
        """Four fields: entry text, context text, summary vector, context vector."""
        ...

    async def similar(
        self, tenant: Tenant, entry: Entry, limit: int, also: Sequence[Entry] = ()
    ) -> SimilarMatches:
        """Return entries that may be near, and those in `also`: with their cosine where both
        have vectors, else by shared words.
        """
        ...

    async def embed(self, tenant: Tenant, entries: Sequence[Entry]) -> frozenset[str]:
        """Make the vectors of entries; returns the ids that have theirs now.

        No model: none, and no failure.
        """
        ...

    async def forget(self, tenant: Tenant, entries: Sequence[Entry]) -> None:
        """Drop the vectors of entries, as they were keyed."""
        ...

    async def forget_all(self, tenant: Tenant) -> None: ...

    async def vectors_of(self, tenant: Tenant, entry: Entry) -> tuple[bool, bool]:
        """Whether its summary and its context have a vector."""
        ...

    async def missing(self, tenant: Tenant, entries: Sequence[Entry]) -> list[Entry]:
        """Those of the entries that could have a vector and have none."""
        ...

    def close(self) -> None:
        """End what runs beside: it begins anew where the index is next used."""
        ...
