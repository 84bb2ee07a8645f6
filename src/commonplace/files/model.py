"""The values of files: checked names, entries, chunks, jobs and results.

Times are microseconds since the epoch.
"""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NewType, TypeVar

from commonplace.files.errors import INVALID_PATH
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json
from commonplace.search.model import NO_WORDS, MatchedWords

Project = NewType("Project", str)
FilePath = NewType("FilePath", str)

ROOT = FilePath("")
MAX_PATH_CHARACTERS = 512
MAX_PROJECT_CHARACTERS = 128

_PATH = re.compile(r"(?:/[A-Za-z0-9_.-]+)+")
_LEGAL = re.compile(r"[A-Za-z0-9_./-]*")


class FileType(StrEnum):
    FILE = "FILE"
    DIRECTORY = "DIRECTORY"


class WriteMode(StrEnum):
    APPEND = "APPEND"
    OVERWRITE = "OVERWRITE"
    TRUNCATE = "TRUNCATE"


def project_name(value: str) -> Project:
    """Return a legal project name; INVALID_PATH with `details.field = project`."""
    problem = None
    if not 1 <= len(value) <= MAX_PROJECT_CHARACTERS:
        problem = f"a project name has 1 to {MAX_PROJECT_CHARACTERS} characters, not {len(value)}"
    elif any(unicodedata.category(character) in ("Cc", "Cs") for character in value):
        problem = "a project name must not contain control characters"
    if problem:
        raise CommonplaceError(INVALID_PATH, f"project: {problem}.", details={"field": "project"})
    return Project(value)


def file_path(value: str, *, field: str = "path") -> FilePath:
    """Return a legal path (`""` is the root); INVALID_PATH names the rule and the probable path."""
    if value == "" or (
        len(value) <= MAX_PATH_CHARACTERS
        and _PATH.fullmatch(value)
        and not _has_dot_segments(value)
    ):
        return FilePath(value)
    meant = _correct_separators(value)
    raise CommonplaceError(
        INVALID_PATH,
        f"{field}: {_broken_rule(value)}.",
        hint=f"Use {meant}"
        if meant is not None
        else 'Paths look like /notes/a.md; "" is the project root.',
        details={"field": field},
    )


def is_prefix_of_paths(prefix: str) -> bool:
    """Return whether any legal path could start with this raw prefix."""
    return _LEGAL.fullmatch(prefix) is not None


def _has_dot_segments(value: str) -> bool:
    return "/./" in value or "/../" in value or value.endswith(("/.", "/.."))


def _broken_rule(value: str) -> str:
    if len(value) > MAX_PATH_CHARACTERS:
        return f"at most {MAX_PATH_CHARACTERS} characters, not {len(value)}"
    if any(ord(character) < 32 or ord(character) == 127 for character in value):
        return "control characters are not allowed"
    if not _LEGAL.fullmatch(value):
        return "only a-z, A-Z, 0-9 and / _ - . are allowed, and no white space"
    if not value.startswith("/"):
        return "a path starts with /"
    if value.endswith("/"):
        return "a path does not end with /"
    if "//" in value:
        return "empty segments (//) are not allowed"
    return "the segments . and .. are not allowed"


def _correct_separators(value: str) -> str | None:
    """Return the legal path that was probably meant: only separators are corrected."""
    if len(value) > MAX_PATH_CHARACTERS or not _LEGAL.fullmatch(value):
        return None
    tidy = "".join(f"/{segment}" for segment in value.split("/") if segment)
    return (
        tidy
        if _PATH.fullmatch(tidy)
        and not _has_dot_segments(tidy)
        and len(tidy) <= MAX_PATH_CHARACTERS
        else None
    )


def ancestors(path: FilePath) -> Iterator[FilePath]:
    """Yield the directories above a file, the root first: `/a/b/c` -> ``, `/a`, `/a/b`."""
    at = 0
    while at >= 0:
        yield FilePath(path[:at])
        at = path.find("/", at + 1)


def name_of(path: FilePath) -> str:
    return path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file or directory at a path.

    A directory has no size and no creation time; its update time is that of its newest descendant.
    """

    path: FilePath
    type: FileType
    size: int
    created_at: int | None
    updated_at: int | None
    content_hash: str | None = None
    source_path: str | None = None  # the original path, if the stored one only spells it


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a file came from: its original path, and the folder that an import read."""

    source_path: str | None = None
    origin: str | None = None


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A live file without its content, and its provenance."""

    path: FilePath
    content_hash: str
    provenance: Provenance


@dataclass(frozen=True, slots=True)
class Slice:
    """Bytes of a file and where they start."""

    entry: FileEntry
    start: int
    content: bytes


@dataclass(frozen=True, slots=True)
class ReadText:
    """Whole characters of a file, the bytes they are, and the file they come from.

    A read of lines also tells which they are (None beyond the last one) and how many there are.
    """

    content: str
    start: int
    end: int
    entry: FileEntry
    lines: tuple[int, int] | None = None
    total_lines: int | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of entries."""

    entries: list[FileEntry]
    has_more: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LineMatch:
    """The first match on a line: its number from 1, its bytes, and the line, shortened if long."""

    line: int
    start: int
    end: int
    text: str
    before: tuple[str, ...] = ()  # lines that end where this one starts
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GrepResult:
    """Matching lines in path order."""

    matches: list[tuple[FilePath, LineMatch]]
    files_searched: int
    has_more: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileSituation:
    """What a mutation must know before it decides, read under the project's lock."""

    entry: FileEntry | None  # the live file at the path
    content: bytes  # its content; empty where there is none
    file_above: FilePath | None  # a parent of the path that is a file
    has_descendants: bool
    project_bytes: int
    tenant_bytes: Callable[[], int] = lambda: 0  # over all projects; read where it is limited


@dataclass(frozen=True, slots=True)
class ProjectUsage:
    """Files and bytes of a project, live and deleted."""

    project: Project
    files: int
    size_bytes: int
    deleted_files: int
    deleted_bytes: int


@dataclass(frozen=True, slots=True)
class Deleted:
    """A file that restore could bring back."""

    path: FilePath
    size: int
    deleted_at: int


@dataclass(frozen=True, slots=True)
class FileContent:
    """A live file as a check of all tenants reads it."""

    id: int
    tenant: str
    project: str
    path: str
    content: bytes
    source_path: str | None


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """An indexed chunk, with the current text of its file at that place (None if there is none)."""

    id: int
    key: str
    path: FilePath
    start: int
    end: int
    text: str
    live: bytes | None
    source_path: str | None = None  # of its file
    lines: tuple[int, int] | None = None  # first and last; None: not counted since a change


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """A chunk as search returns it, and why it ranks where it does."""

    chunk: StoredChunk
    score: float
    explain: Mapping[str, Json]
    merged: tuple[StoredChunk, ...] = ()  # other chunks of the passage; all touch
    lines: tuple[int, int] = (0, 0)  # first and last, from 1
    words: MatchedWords = NO_WORDS

    @property
    def path(self) -> FilePath:
        return self.chunk.path

    @property
    def parts(self) -> list[StoredChunk]:
        """Return the chunks of the passage in the order of the file."""
        return sorted((self.chunk, *self.merged), key=lambda chunk: chunk.start)

    @property
    def start(self) -> int:
        return self.parts[0].start

    @property
    def end(self) -> int:
        return self.parts[-1].end

    @property
    def content(self) -> str:
        return "".join(chunk.text for chunk in self.parts)


@dataclass(frozen=True, slots=True)
class FileSearchResult:
    """Chunks, best first; how they were found; what the caller should know about that."""

    chunks: list[FoundChunk]
    mode: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IndexBacklog:
    """Index jobs that wait or run, those that were given up, and when the oldest was queued."""

    waiting: int
    dead: int
    oldest_at: int | None
    outdated: int = 0  # files that older versions indexed; searchable, and made again when idle

    def age_seconds(self) -> float:
        return 0.0 if self.oldest_at is None else max(0.0, time.time() - self.oldest_at / 1e6)


@dataclass(frozen=True, slots=True)
class IndexState:
    """How far the index is behind the files."""

    chunks: int
    indexed_files: int
    pending: int
    processing: int
    dead: int
    oldest_at: int | None
    dead_paths: tuple[tuple[str, str], ...] = ()  # path and last error of the newest dead letters
    embedding: int = 0  # files without vectors yet
    waiting_credential: int = 0  # files whose vectors wait for a caller's key
    waiting_reasons: tuple[str, ...] = ()  # distinct
    outdated: int = 0  # files that older versions indexed
    definitions: int = 0  # in the symbol index
    extracts: int = 0  # found in files by another domain
    extract_notes: tuple[tuple[str, str], ...] = ()  # files that lack some, and why

    @property
    def up_to_date(self) -> bool:
        """Return whether every file is indexed by this version and, with a model, embedded."""
        return not (
            self.pending
            or self.processing
            or self.dead
            or self.embedding
            or self.waiting_credential
            or self.outdated
        )


@dataclass(frozen=True, slots=True)
class Job:
    """An index job that this process has leased."""

    id: int
    generation: int
    tenant: str
    project: Project
    path: FilePath
    retry_count: int
    queued_at: int
    size: int = 0  # bytes of the file; 0 when it is deleted


@dataclass(frozen=True, slots=True)
class VectorJob:
    """A file whose vectors a model must make; leased by this process."""

    id: int
    generation: int
    tenant: str
    project: Project
    path: FilePath
    credential_ref: str | None  # of the caller's sealed key; None: there is none
    retry_count: int


@dataclass(frozen=True, slots=True)
class VectorCounts:
    """Files whose vectors are to be made, wait for a key, or were given up."""

    embedding: int = 0
    waiting_credential: int = 0
    dead: int = 0
    dead_paths: tuple[tuple[str, str], ...] = ()
    waiting_reasons: tuple[str, ...] = ()

    def figures(self) -> dict[str, float]:
        """Return the counts as metrics."""
        return {
            "files_vectors_waiting": self.embedding,
            "files_vectors_waiting_credential": self.waiting_credential,
            "files_vectors_dead": self.dead,
        }


@dataclass(frozen=True, slots=True)
class IndexedChunk:
    """A chunk of a file that is in the index."""

    id: int
    index: int
    start: int
    end: int
    content_hash: str
    context: str
    symbol: str = ""
    kind: str = ""
    start_line: int = 0
    end_line: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """A file as the indexer read it, and its indexed chunks.

    The result is applied only if the file is still this one.
    """

    content_hash: str | None  # None: there is no such file
    content: bytes
    indexed: tuple[IndexedChunk, ...]
    analysis: int = 0  # the version of the text analysis that the indexed words were made by


@dataclass(frozen=True, slots=True)
class AddedChunk:
    """A chunk to add to the index; `id` is that of a stored one whose words are made again."""

    index: int
    start: int
    end: int
    text: str
    content_hash: str
    context: str
    symbol: str = ""
    kind: str = ""
    start_line: int = 0
    end_line: int = 0
    id: int = 0


@dataclass(frozen=True, slots=True)
class IndexChange:
    """Chunks to remove, to keep at a new place, to add, and to keep with new words."""

    removed: tuple[int, ...] = ()
    moved: tuple[IndexedChunk, ...] = ()
    added: tuple[AddedChunk, ...] = ()
    reworded: tuple[AddedChunk, ...] = ()

    def steps(self, size: int) -> list[IndexChange]:
        """Split into at least one change of at most `size` chunks, to be applied in order.

        All moves are in one step: positions are unique, so a chunk can only move once its new place
        is free.
        """
        removals = [IndexChange(removed=part) for part in _parts(self.removed, size)]
        first, *rest = _parts(self.added, size) or [()]
        if removals and len(removals[-1].removed) + len(first) <= size:
            last = IndexChange(removals.pop().removed, self.moved, first)
        else:
            last = IndexChange((), self.moved, first)
        return [
            *removals,
            last,
            *(IndexChange(added=part) for part in rest),
            *(IndexChange(reworded=part) for part in _parts(self.reworded, size)),
        ]


Terms = Mapping[str, Sequence[str]]
"""The analysed terms of a chunk: search field to terms."""

Part = TypeVar("Part")


def _parts(items: tuple[Part, ...], size: int) -> list[tuple[Part, ...]]:
    return [items[at : at + size] for at in range(0, len(items), size)]


def with_vectors(state: IndexState, counts: VectorCounts) -> IndexState:
    """Return the state of words and of vectors together."""
    return replace(
        state,
        dead=state.dead + counts.dead,
        dead_paths=(*state.dead_paths, *counts.dead_paths),
        embedding=state.embedding + counts.embedding,
        waiting_credential=state.waiting_credential + counts.waiting_credential,
        waiting_reasons=(*state.waiting_reasons, *counts.waiting_reasons),
    )
