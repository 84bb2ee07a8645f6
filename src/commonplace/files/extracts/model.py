"""Values of extracts: what was found in a file, what the index keeps, and what changes in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from commonplace.files.model import FilePath, Project
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.search.model import NO_WORDS, MatchedWords, Partition

COLLECTION = "operations"


def extract_partition(tenant: str, project: str) -> Partition:
    return Partition(tenant, COLLECTION, project)


@dataclass(frozen=True, slots=True)
class Extract:
    """Something inside a file that is searched by itself.

    `key` is unique in the file. `names` are the words that identify it, `text` the other words and
    what a model reads; `context` names what it is a part of. `facts` are for who shows it.
    """

    key: str
    title: str
    summary: str
    names: str
    text: str
    context: str = ""
    facts: Mapping[str, Json] = field(default_factory=dict)
    start_line: int = 0  # 0: not known
    end_line: int = 0


@dataclass(frozen=True, slots=True)
class Extraction:
    """The extracts of a file, whether it is of a kind that has any, and why some are missing."""

    extracts: Sequence[Extract] = ()
    recognised: bool = False
    note: str = ""


class Extractor(Protocol):
    """Finds what else to index from a file. Another domain implements it."""

    @property
    def version(self) -> int:
        """Return the version of what is found, from 2; files of older ones are read again."""
        ...

    def extract(self, path: str, source: bytes) -> Extraction:
        """Return the extracts of a file. Never raises; called in a thread of the index worker."""
        ...

    def close(self) -> None:
        """End what extracting started; the next call starts it again."""
        ...


class AdmitCaller(Protocol):
    """Checks a project and a path of a caller, and the caller's rate."""

    async def __call__(
        self, caller: AuthContext, project: str, path: str
    ) -> tuple[str, Project, FilePath]: ...


@dataclass(frozen=True, slots=True)
class IndexedExtract:
    """An extract in the index; the digest covers all of it but its place."""

    id: int
    position: int
    key: str
    digest: str
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class AddedExtract:
    """An extract to add; `id` is that of a stored one whose words are made again."""

    position: int
    extract: Extract
    digest: str
    id: int = 0


@dataclass(frozen=True, slots=True)
class ExtractChange:
    """Extracts to remove, to keep at a new place, to add, and to keep with new words."""

    removed: tuple[int, ...] = ()
    moved: tuple[IndexedExtract, ...] = ()
    added: tuple[AddedExtract, ...] = ()
    reworded: tuple[AddedExtract, ...] = ()

    def steps(self, size: int) -> list[ExtractChange]:
        """Split into changes of at most `size` extracts; none if nothing changes."""
        return [
            ExtractChange(**{name: values[at : at + size]})
            for name in ("removed", "moved", "added", "reworded")
            for values in (getattr(self, name),)
            for at in range(0, len(values), size)
        ]


@dataclass(frozen=True, slots=True)
class StoredExtract:
    """An extract of a live file. `is_stale`: the file changed, and is not indexed again yet."""

    id: int
    search_key: str
    project: Project
    path: FilePath
    key: str
    title: str
    summary: str
    text: str
    facts: JsonObject
    start_line: int
    end_line: int
    updated_at: int
    is_stale: bool


@dataclass(frozen=True, slots=True)
class FoundExtract:
    """An extract as search returns it, and why it ranks where it does."""

    extract: StoredExtract
    score: float
    terms: tuple[str, ...] = ()
    explain: Mapping[str, Json] = field(default_factory=dict)
    words: MatchedWords = NO_WORDS
    cosine: float | None = None


@dataclass(frozen=True, slots=True)
class ExtractSearchResult:
    """Extracts, best first; how they were found; what the caller should know about that."""

    extracts: Sequence[FoundExtract] = ()
    mode: str = "lexical"
    notes: tuple[str, ...] = ()
