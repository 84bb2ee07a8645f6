"""What an import reads and an export writes, whatever the format, and how foreign records become
entries.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from commonplace.kernel.errors import CommonplaceError
from commonplace.memory.errors import INVALID_IMPORT, failure
from commonplace.memory.model import (
    Entry,
    EntryStatus,
    EntryType,
    EntryUsage,
    Link,
    MemoryType,
    RelationType,
)
from commonplace.memory.text import (
    CONTENT_CHARACTERS,
    PROJECT_CHARACTERS,
    TAG_CHARACTERS,
    TAGS,
    TITLE_CHARACTERS,
    clean_context,
    clean_project,
    clean_tags,
    clean_text,
    clean_title,
    parse_moment,
)
from commonplace.memory.ulid import is_ulid

FILE_BYTES = 512 * 1024 * 1024  # of one file of an import, unpacked
RECORDS = 1_000_000

# What other programs call our types and relations.
_TYPES = {
    "bug": ("bug", "bugfix", "issue", "problem", "error", "fix", "incident", "defect"),
    "pattern": (
        "pattern",
        "technique",
        "learning",
        "lesson",
        "best-practice",
        "practice",
        "solution",
        "how-to",
    ),
    "decision": ("decision", "choice", "adr", "rationale", "design"),
    "pitfall": ("pitfall", "gotcha", "warning", "caveat", "anti-pattern", "antipattern", "trap"),
    "config": ("config", "configuration", "setting", "settings", "environment", "setup"),
    "reference": ("reference", "note", "fact", "info", "doc", "documentation", "link"),
}
_TYPE_OF = {name: EntryType(type_) for type_, names in _TYPES.items() for name in names}
_RELATIONS = {
    "supersedes": ("supersedes", "replaces", "obsoletes", "deprecates"),
    "derived_from": (
        "derived_from",
        "based_on",
        "extends",
        "extracted_from",
        "generalizes",
        "implements",
        "inspired_by",
    ),
    "contradicts": ("contradicts", "conflicts_with", "disagrees_with", "refutes"),
}
_RELATION_OF = {
    name: RelationType(relation) for relation, names in _RELATIONS.items() for name in names
}


@dataclass(slots=True)
class Batch:
    """Entries with their links and accesses.

    `problems` says what was left out and why; `with_status` are the ids of entries whose record says
    whether they are superseded.
    """

    entries: list[Entry] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    usage: dict[str, EntryUsage] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    with_status: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class EntryBuilder:
    """Makes entries and links from foreign records: bounded, cleaned, with ids of our own where
    theirs are no ULIDs.
    """

    new_id: Callable[[], str]
    now: datetime
    project: str | None = None  # for records that name none

    def entry(
        self,
        title: str,
        content: str,
        *,
        id_: object = None,
        type_: object = None,
        tags: Iterable[object] = (),
        project: object = None,
        confidence: object = 3,
        status: object = "active",
        memory_type: object = "episodic",
        context: str = "",
        created: object = None,
        updated: object = None,
        superseded_by: object = None,
    ) -> Entry:
        """Raises INVALID_IMPORT for what cannot be kept whole."""
        content = clean_text(content)
        if not title.strip() and not content.strip():
            raise failure(INVALID_IMPORT, "it has neither a title nor a text.")
        if len(" ".join(title.split())) > TITLE_CHARACTERS and not content.startswith(
            title.strip()
        ):
            content = (
                f"{clean_text(title).strip()}\n\n{content}".rstrip()
            )  # nothing of a long title is lost
        if len(content) > CONTENT_CHARACTERS:
            raise failure(
                INVALID_IMPORT,
                f"{title[:60]!r} has {len(content)} characters; {CONTENT_CHARACTERS} are kept at "
                f"most.",
            )
        created_at = parse_moment(str(created) if created else None, self.now)
        named = clean_project(str(project or self.project or ""))
        return Entry(
            id=str(id_) if isinstance(id_, str) and is_ulid(id_) else self.new_id(),
            type=entry_type(type_),
            title=clean_title(title, content),
            content=content,
            tags=tuple(
                tag[:TAG_CHARACTERS]
                for tag in clean_tags([str(tag) for tag in tags if tag is not None])[:TAGS]
            ),
            project=named[:PROJECT_CHARACTERS].rstrip() if named else None,
            confidence=max(0, min(5, confidence)) if isinstance(confidence, int) else 3,
            status=EntryStatus.OBSOLETE if str(status) == "obsolete" else EntryStatus.ACTIVE,
            memory_type=MemoryType.SEMANTIC
            if str(memory_type) == "semantic"
            else MemoryType.EPISODIC,
            created_at=created_at,
            updated_at=parse_moment(str(updated) if updated else None, created_at),
            context=clean_context(context)[0],
            superseded_by=str(superseded_by)
            if isinstance(superseded_by, str) and is_ulid(superseded_by)
            else None,
        )

    def link(self, source: str, target: str, relation: object, created: object = None) -> Link:
        moment = parse_moment(str(created) if created else None, self.now)
        return Link(self.new_id(), source, target, relation_type(relation), moment)


def entry_type(name: object) -> EntryType:
    return _TYPE_OF.get(str(name or "").strip().casefold(), EntryType.REFERENCE)


def knows_type(name: object) -> bool:
    return str(name or "").strip().casefold() in _TYPE_OF


def relation_type(name: object) -> RelationType:
    return _RELATION_OF.get(
        "_".join(str(name or "").casefold().replace("-", " ").split()), RelationType.RELATED
    )


def kept(batch: Batch, where: str, make: Callable[[], Entry]) -> Entry | None:
    """Add what `make` makes, or note why it cannot be kept."""
    if len(batch.entries) >= RECORDS:
        raise failure(INVALID_IMPORT, f"More than {RECORDS} records.", hint="Import it in parts.")
    try:
        entry = make()
    except CommonplaceError as unfit:
        batch.problems.append(f"{where}: {unfit.message}")
        return None
    batch.entries.append(entry)
    return entry


def read_bounded(path: Path) -> bytes:
    if path.stat().st_size > FILE_BYTES:
        raise failure(
            INVALID_IMPORT,
            f"{path.name} is larger than {FILE_BYTES} bytes.",
            hint="Import it in parts.",
        )
    return path.read_bytes().removeprefix(codecs.BOM_UTF8)


def text_of(record: Mapping[str, Any], *names: str) -> str:
    """The first of these fields that holds text."""
    return next(
        (value for name in names if isinstance(value := record.get(name), str) and value), ""
    )


def list_of(value: object) -> list[Any]:
    """A list as it is, one text as the only item of one."""
    return (
        list(value)
        if isinstance(value, (list, tuple))
        else [value]
        if isinstance(value, str) and value
        else []
    )


def tags_of(value: object) -> list[Any]:
    """Tags as a list, or as one text with commas between them."""
    return value.split(",") if isinstance(value, str) else list_of(value)
