"""What an instruction is: its fields, closed sets and limits, and the frozen value the catalogue
holds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, Protocol

from commonplace.kernel.json.document import Document

SCHEMA_VERSION = "7"  # the newest file schema we write and read; 1 to 7 are read
MAX_ID_CHARS = 120
MAX_TITLE_CHARS = 200
MAX_BODY_CHARS = 1_000_000
WARN_BODY_CHARS = 50_000
MAX_CATEGORIES = 25
MAX_SUMMARY_CHARS = 600
MAX_FILE_BYTES = 2 * 1024 * 1024
MAX_BATCH = 100
MAX_RESULTS = 1000
MAX_LEVELS = 200  # of lists and objects in one another; the encoder has room for a few more
UNCATEGORIZED = "uncategorized"
UNOWNED = "unowned"

Requirement = Literal["mandatory", "critical", "recommended", "optional", "deprecated"]
Status = Literal["draft", "review", "approved", "deprecated"]
Classification = Literal["public", "internal", "restricted"]
Tier = Literal["P1", "P2", "P3", "P4"]

AUDIENCES = frozenset({"individual", "group", "all"})
REQUIREMENTS = frozenset({"mandatory", "critical", "recommended", "optional", "deprecated"})
STATUSES = frozenset({"draft", "review", "approved", "deprecated"})
CLASSIFICATIONS = frozenset({"public", "internal", "restricted"})
TIERS = frozenset({"P1", "P2", "P3", "P4"})

ID = re.compile(r"(?!.*\.\.)[a-z0-9](?:[a-z0-9._-]{0,118}[a-z0-9])?")
CATEGORY = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,48})")
SEMVER = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", re.ASCII)  # as files are read
STRICT_SEMVER = re.compile(
    r"(?:0|[1-9]\d{0,8})(?:\.(?:0|[1-9]\d{0,8})){2}", re.ASCII
)  # as callers give it: 2024.09.01 is a date

# Files of the folder that configure it; an instruction may not take their names.
CONFIGURATION_STEMS = frozenset(
    {"gates", "owners", "prompt-criteria", "package", "package-lock", "tsconfig"}
)

FIELD_ORDER: tuple[str, ...] = (
    "id",
    "title",
    "body",
    "description",
    "rationale",
    "priority",
    "audience",
    "requirement",
    "categories",
    "primaryCategory",
    "contentType",
    "tags",
    "version",
    "status",
    "owner",
    "classification",
    "priorityTier",
    "workspaceId",
    "userId",
    "teamIds",
    "reviewIntervalDays",
    "lastReviewedAt",
    "nextReviewDue",
    "deprecatedBy",
    "supersedes",
    "dependencies",
    "examples",
    "semanticSummary",
    "riskScore",
    "changeLog",
    "createdAt",
    "updatedAt",
    "archivedAt",
    "sourceWorkspace",
    "createdByAgent",
    "sourceHash",
    "schemaVersion",
    "extensions",
)
"""The order of keys in a file, so that a change of one field is one line of a git diff."""

COMPUTED = frozenset({"governanceHash", "usageCount", "firstSeenTs", "lastUsedAt"})
"""Shown to callers, never written to a file."""

KNOWN_FIELDS = frozenset(FIELD_ORDER) | COMPUTED

_NEAR = {
    field: place
    for place, field in enumerate(
        (
            "title",
            "priority",
            "audience",
            "requirement",
            "categories",
            "primaryCategory",
            "version",
            "status",
            "owner",
            "classification",
            "priorityTier",
            "workspaceId",
            "userId",
            "teamIds",
            "deprecatedBy",
            "dependencies",
            "createdAt",
            "updatedAt",
        )
    )
}
"""What filters, orders and sweeps over the whole catalogue read; the rest of a document is
decoded when asked for.
"""


def document_of(value: Mapping[str, Any]) -> Document:
    return Document(value, _NEAR)


class Unread(Protocol):
    """A file that holds an instruction, not worked out further yet."""

    def whole(self) -> Instruction: ...

    def text(self) -> tuple[str, str]:
        """Title and body."""
        ...


@dataclass(frozen=True, slots=True)
class Body:
    """The body of an instruction, its hash, and the hash that its file claims."""

    text: str
    hash: str
    claimed: str | None
    drifted: bool


_LATER = ("document", "governance_hash", "salvaged")


class _Later:
    """Fields that are worked out when one of them is first asked for."""

    __slots__ = ("_rest",)
    _rest: Unread | None

    def __getattr__(self, name: str) -> Any:
        rest = object.__getattribute__(self, "_rest") if name in _LATER else None
        if rest is None:  # no such field, or another thread was faster
            return object.__getattribute__(self, name)
        whole = rest.whole()
        for field in _LATER:
            object.__setattr__(self, field, getattr(whole, field))
        object.__setattr__(self, "_rest", None)
        return getattr(self, name)


@dataclass(frozen=True, slots=True)
class Instruction(_Later):
    """One instruction: the document callers see (normalised, computed fields included) and what
    was derived from it.

    The document is kept as the bytes that answers show.
    """

    id: str
    document: Document
    source_hash: str
    governance_hash: str
    stored_hash: str | None = None  # what the file claimed
    salvaged: tuple[str, ...] = ()  # what the loader had to mend
    fingerprint: str = ""  # changes with everything that callers see, except usage
    drifted: bool = False  # the claim is not that of the body

    @classmethod
    def unread(cls, id_: str, body: Body, fingerprint: str, rest: Unread) -> Instruction:
        """Return what a first load needs to know of a file; `rest` gives the whole when somebody
        asks for it.
        """
        made = object.__new__(cls)
        for field, value in (
            ("id", id_),
            ("source_hash", body.hash),
            ("stored_hash", body.claimed),
            ("drifted", body.drifted),
            ("fingerprint", fingerprint),
            ("_rest", rest),
        ):
            object.__setattr__(made, field, value)
        return made

    @property
    def text(self) -> tuple[str, str]:
        """Title and body."""
        rest = getattr(self, "_rest", None)
        if rest is not None:
            title, body = rest.text()
            return title, body
        whole = self.document.whole()
        return whole["title"], whole["body"]


@dataclass(frozen=True, slots=True)
class Known:
    """What a client has of an instruction."""

    id: str
    source_hash: str
    governance_hash: str | None = None

    def differs(self, entry: Instruction) -> bool:
        if self.source_hash != entry.source_hash:
            return True
        return self.governance_hash is not None and self.governance_hash != entry.governance_hash


@dataclass(frozen=True, slots=True)
class Rejection:
    """A file that is no instruction, and why."""

    file: str
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who changes the catalogue, for entries and history."""

    tenant: str
    label: str
    sees_all: bool = True  # scope admin: history of every tenant


LOCAL_ACTOR = Actor("local", "local")


def is_valid_id(candidate: object) -> bool:
    return (
        isinstance(candidate, str) and len(candidate) <= MAX_ID_CHARS and _has_form_of_id(candidate)
    )


@lru_cache(maxsize=512)  # on its way to the disk an id is checked wherever it becomes a name
def _has_form_of_id(candidate: str) -> bool:
    return ID.fullmatch(candidate) is not None


def is_reserved_id(candidate: str) -> bool:
    return candidate in CONFIGURATION_STEMS or candidate.endswith((".schema", ".template"))


def stored_form(document: Mapping[str, Any]) -> dict[str, Any]:
    """What belongs into the file, in its fixed order; keys we do not know stay, after the known
    ones.
    """
    if isinstance(document, Document):
        document = document.whole()
    stored = {field: document[field] for field in FIELD_ORDER if field in document}
    for field in sorted(document.keys() - KNOWN_FIELDS):
        stored[field] = document[field]
    return stored
