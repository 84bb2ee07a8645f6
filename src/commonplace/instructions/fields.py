"""Fields of an instruction: closed sets, limits, key order, and the form of ids."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

from commonplace.kernel.auth import RESTRICTED
from commonplace.kernel.json.document import Document
from commonplace.kernel.json_types import Json, JsonObject

SCHEMA_VERSION = "7"  # the newest file schema we write and read; 1 to 7 are read
MAX_ID_CHARS = 120
MAX_TITLE_CHARS = 200
MAX_BODY_CHARS = 1_000_000
WARN_BODY_CHARS = 50_000
MAX_CATEGORIES = 25
MAX_SUMMARY_CHARS = 600
MAX_PATH_CHARS = 1_024  # of a repository path
MAX_FILE_BYTES = 2 * 1024 * 1024
MAX_BATCH = 100
MAX_RESULTS = 1000
MAX_LEVELS = 200  # of nested lists and objects; the JSON encoder allows a few more
UNCATEGORIZED = "uncategorized"
UNOWNED = "unowned"

Requirement = Literal["mandatory", "critical", "recommended", "optional", "deprecated"]
Status = Literal["draft", "review", "approved", "deprecated"]
Classification = Literal["public", "internal", "restricted"]
Activation = Literal["always", "glob", "description", "manual"]
PriorityTier = Literal["P1", "P2", "P3", "P4"]

AUDIENCES = frozenset({"individual", "group", "all"})
REQUIREMENTS = frozenset({"mandatory", "critical", "recommended", "optional", "deprecated"})
STATUSES = frozenset({"draft", "review", "approved", "deprecated"})
CLASSIFICATIONS = frozenset({"public", "internal", "restricted"})
TIERS = frozenset({"P1", "P2", "P3", "P4"})
ACTIVATIONS = frozenset({"always", "glob", "description", "manual"})

ID = re.compile(r"(?!.*\.\.)[a-z0-9](?:[a-z0-9._-]{0,118}[a-z0-9])?")
CATEGORY = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,48})")
SEMVER = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", re.ASCII)  # as files are read
# Callers may not send leading zeros: 2024.09.01 is a date.
STRICT_SEMVER = re.compile(r"(?:0|[1-9]\d{0,8})(?:\.(?:0|[1-9]\d{0,8})){2}", re.ASCII)

# Names of configuration files in the folder; instructions may not use them.
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
    "appliesTo",
    "languages",
    "activation",
    "reviewIntervalDays",
    "lastReviewedAt",
    "nextReviewDue",
    "approvedBy",
    "approvedAt",
    "deprecatedBy",
    "supersedes",
    "dependencies",
    "conflictsWith",
    "examples",
    "semanticSummary",
    "riskScore",
    "changeLog",
    "createdAt",
    "updatedAt",
    "archivedAt",
    "sourceWorkspace",
    "createdByAgent",
    "origin",
    "sourceHash",
    "schemaVersion",
    "extensions",
)
"""Order of keys in a file: a change of one field is one line of a git diff."""

SCOPE_WORD_FIELDS = ("appliesTo", "languages")
"""Fields of the scope that a search for words finds too."""

COMPUTED = frozenset({"governanceHash", "usageCount", "firstSeenTs", "lastUsedAt"})
"""Shown to callers, never written to a file."""

APPROVAL = frozenset({"approvedBy", "approvedAt"})
"""Written when somebody approves an instruction; what callers send is ignored."""

KNOWN_FIELDS = frozenset(FIELD_ORDER) | COMPUTED

DECODED_FIELDS = {
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
            "appliesTo",
            "languages",
            "activation",
            "deprecatedBy",
            "dependencies",
            "createdAt",
            "updatedAt",
        )
    )
}
"""Fields that filters and sort orders read; the rest of a document is decoded on demand."""


def is_valid_id(candidate: object) -> bool:
    """Tell whether a value is an instruction id, which is also a file name."""
    return isinstance(candidate, str) and len(candidate) <= MAX_ID_CHARS and _matches_id(candidate)


@lru_cache(maxsize=512)  # one write checks the same id several times
def _matches_id(candidate: str) -> bool:
    return ID.fullmatch(candidate) is not None


def is_reserved_id(candidate: str) -> bool:
    """Tell whether a valid id is the name of a configuration file."""
    return candidate in CONFIGURATION_STEMS or candidate.endswith((".schema", ".template"))


def is_restricted(document: Mapping[str, Json]) -> bool:
    """Tell whether a document is classified so that only some callers may read it."""
    classification = document.get("classification")
    return isinstance(classification, str) and classification.strip().lower() == RESTRICTED


def is_archived(document: Mapping[str, Json]) -> bool:
    """Tell whether a document is archived: `archivedAt` has a value."""
    return bool(document.get("archivedAt"))


def stored_form(document: Mapping[str, Json]) -> JsonObject:
    """Return the fields to store in their fixed order, followed by unknown ones."""
    if isinstance(document, Document):
        document = document.whole()
    stored = {field: document[field] for field in FIELD_ORDER if field in document}
    for field in sorted(document.keys() - KNOWN_FIELDS):
        stored[field] = document[field]
    return stored
