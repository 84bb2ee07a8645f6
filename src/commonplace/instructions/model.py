"""Values of the catalogue: an instruction, a change to one, and the files that are not any."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from commonplace.instructions.fields import DECODED_FIELDS
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.json.document import Document
from commonplace.kernel.json_types import Json, JsonObject

Stamp = tuple[int, int, int]
"""Version of a stored entry: modification time in ns, size in bytes, and its identity (inode)."""


def document_of(value: Mapping[str, Json]) -> Document:
    """Encode a complete instruction as the document that callers see."""
    return Document(value, DECODED_FIELDS)


class UnparsedInstruction(Protocol):
    """Stored bytes that are known to hold an instruction, not normalised yet."""

    def parse(self) -> Instruction: ...

    def raw(self) -> JsonObject:
        """Return the document as it was written; its body is a text."""
        ...

    def text(self) -> tuple[str, str]:
        """Return title and body."""
        ...


@dataclass(frozen=True, slots=True)
class InstructionBody:
    """Body of an instruction, its hash, and the hash that its file claims."""

    text: str
    hash: str
    claimed: str | None
    drifted: bool


_LAZY_FIELDS = ("document", "governance_hash", "salvaged")


class _LazyFields:
    """Parse the stored bytes when one of the lazy fields is first read."""

    __slots__ = ("_unparsed",)
    _unparsed: UnparsedInstruction | None

    def __getattr__(self, name: str) -> Any:
        unparsed = object.__getattribute__(self, "_unparsed") if name in _LAZY_FIELDS else None
        if unparsed is None:  # an unknown attribute, or another thread parsed it meanwhile
            return object.__getattribute__(self, name)
        parsed = unparsed.parse()
        for lazy in _LAZY_FIELDS:
            object.__setattr__(self, lazy, getattr(parsed, lazy))
        object.__setattr__(self, "_unparsed", None)
        return getattr(self, name)


@dataclass(frozen=True, slots=True)
class Instruction(_LazyFields):
    """An instruction: the normalised document that callers see, and values derived from it.

    The document is kept as the bytes that answers contain.
    """

    id: str
    document: Document
    source_hash: str
    governance_hash: str
    stored_hash: str | None = None  # claimed by the file
    salvaged: tuple[str, ...] = ()  # fields that the loader had to repair
    fingerprint: str = ""  # changes with every field that callers see, except usage
    drifted: bool = False  # the claimed hash does not fit the body
    restricted: bool = False  # by its classification
    archived: bool = False  # kept, but out of lists, search and hashes
    summary: Document | None = field(default=None, init=False, compare=False, repr=False)

    @classmethod
    def unparsed(
        cls,
        id_: str,
        body: InstructionBody,
        fingerprint: str,
        unparsed: UnparsedInstruction,
        *,
        restricted: bool = False,
        archived: bool = False,
    ) -> Instruction:
        """Create an instruction whose document is parsed on first use."""
        instruction = object.__new__(cls)
        for attribute, value in (
            ("id", id_),
            ("source_hash", body.hash),
            ("stored_hash", body.claimed),
            ("drifted", body.drifted),
            ("fingerprint", fingerprint),
            ("restricted", restricted),
            ("archived", archived),
            ("summary", None),
            ("_unparsed", unparsed),
        ):
            object.__setattr__(instruction, attribute, value)
        return instruction

    def keep_summary(self, summary: Document) -> None:
        """Keep the summary that lists show; it is derived from the document."""
        object.__setattr__(self, "summary", summary)

    @property
    def is_parsed(self) -> bool:
        """Tell whether the document has been parsed."""
        return getattr(self, "_unparsed", None) is None

    @property
    def text(self) -> tuple[str, str]:
        """Return title and body, without parsing the whole document."""
        unparsed = getattr(self, "_unparsed", None)
        if unparsed is not None:
            title, body = unparsed.text()
            return title, body
        document = self.document.whole()
        return document["title"], document["body"]

    def raw(self) -> Mapping[str, Json]:
        """Return the document without normalising it: as written, unless it was parsed before."""
        unparsed = getattr(self, "_unparsed", None)
        if unparsed is not None:
            written: JsonObject = unparsed.raw()
            return written
        return self.document.whole()


@dataclass(frozen=True, slots=True)
class RuleOrigin:
    """The rule file that an instruction was imported from: the field `origin`.

    `file` is relative to the repository, `line` is where the rule begins (from 1), `client` names
    the client whose format it is, and `hash` is the SHA-256 of the rule's text in the file.
    """

    file: str
    line: int = 1
    client: str = ""
    hash: str = ""
    repository: str = ""

    @classmethod
    def of(cls, document: Mapping[str, Json]) -> RuleOrigin | None:
        """Return the origin of a normalised document."""
        value = document.get("origin")
        return cls(**value) if isinstance(value, dict) else None

    def as_json(self) -> JsonObject:
        """Return the value to store; empty parts are left out."""
        parts = {"line": self.line, "client": self.client, "hash": self.hash}
        if self.repository:
            parts["repository"] = self.repository
        return {"file": self.file, **{name: value for name, value in parts.items() if value}}


@dataclass(frozen=True, slots=True)
class ClientCopy:
    """Hashes of an instruction that a client holds."""

    id: str
    source_hash: str
    governance_hash: str | None = None

    def differs(self, entry: Instruction) -> bool:
        """Tell whether the client's copy is out of date."""
        if self.source_hash != entry.source_hash:
            return True
        return self.governance_hash is not None and self.governance_hash != entry.governance_hash

    def leaves_metadata_open(self, entry: Instruction) -> bool:
        """Tell whether the bodies are equal but nothing is known about the metadata."""
        return self.governance_hash is None and not self.differs(entry)


@dataclass(frozen=True, slots=True)
class Rejection:
    """A file that cannot be served as an instruction, and why."""

    file: str
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """Result of reading one stored entry: an instruction or a rejection.

    `stamp` is None when nothing is stored.
    """

    stamp: Stamp | None
    instruction: Instruction | None = None
    rejection: Rejection | None = None


@dataclass(frozen=True, slots=True)
class Author:
    """Who makes a change. The history records tenant and label."""

    tenant: str
    label: str
    agent: bool = False  # the change came through MCP

    @classmethod
    def of(cls, caller: AuthContext) -> Author:
        """Return the author that a caller's changes are recorded under."""
        return cls(caller.tenant, caller.label, caller.agent)

    def is_same_person(self, other: Author) -> bool:
        """Tell whether two changes were made with keys of one label and tenant."""
        return (self.tenant, self.label) == (other.tenant, other.label)


@dataclass(frozen=True, slots=True)
class InstructionChange:
    """A change to commit; `after` is None for a removal.

    `as_written` keeps fields that normalisation would repair, so the store reads the file back.
    """

    id: str
    after: Instruction | None
    content: bytes | None
    action: str
    as_written: bool = False


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """A change in the history of an instruction, numbered from 1.

    `after` is unknown (None with `has_after` False) for the first change of an instruction.
    """

    number: int
    at: str
    action: str
    by: str
    tenant: str | None
    agent: str | None
    before: JsonObject | None
    after: JsonObject | None
    has_after: bool


@dataclass(frozen=True, slots=True)
class RemovedInstruction:
    """The last recorded change of an instruction that is gone, and its last known document."""

    id: str
    at: str
    action: str
    by: str
    tenant: str | None
    document: JsonObject


@dataclass(frozen=True, slots=True)
class CatalogueDifferences:
    """How many entries a comparison with the storage added, updated and removed."""

    added: int = 0
    updated: int = 0
    removed: int = 0

    @property
    def any(self) -> bool:
        """Tell whether the comparison found a difference."""
        return bool(self.added or self.updated or self.removed)


@dataclass(frozen=True, slots=True)
class StorageStatus:
    """State of the storage, for health checks and inspection. Sizes are in bytes."""

    name: str
    exists: bool
    readable: bool
    writable: bool
    file_count: int
    total_size: int
    available_space: int
    ignored_folders: tuple[str, ...]
    write_problem: str = ""  # code of the error that a write would raise now


@dataclass(frozen=True, slots=True)
class RequestStats:
    """Calls of this process: their number, mean response time and share of errors."""

    count: int = 0
    average_ms: float = 0.0
    error_rate: float = 0.0
