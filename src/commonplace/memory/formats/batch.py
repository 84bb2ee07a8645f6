"""Entries of an import or export, and how records of other programs become entries."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json
from commonplace.memory.anchors import ANCHORS, CodeAnchor, read_anchor
from commonplace.memory.errors import INVALID_IMPORT, failure
from commonplace.memory.model import (
    Entry,
    EntryStatus,
    EntryType,
    EntryUsage,
    Link,
    MemoryType,
    RelationType,
    Suggestion,
    join_anchors,
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

# Names that other programs use for our types and relations.
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
    """Entries with their links, accesses and decided suggestions.

    `problems` says what was left out and why; `with_status` has the ids of entries whose record
    states whether they are superseded.
    """

    entries: list[Entry] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    usage: dict[str, EntryUsage] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    with_status: set[str] = field(default_factory=set)
    decided: list[Suggestion] = field(default_factory=list)

    def add(self, where: str, make: Callable[[], Entry]) -> Entry | None:
        """Add the entry that `make` returns, or note why it is not valid."""
        if len(self.entries) >= RECORDS:
            raise failure(
                INVALID_IMPORT, f"More than {RECORDS} records.", hint="Import it in parts."
            )
        try:
            entry = make()
        except CommonplaceError as error:
            self.problems.append(f"{where}: {error.message}")
            return None
        self.entries.append(entry)
        return entry


@dataclass(frozen=True, slots=True)
class EntryBuilder:
    """Makes entries and links from records of other programs.

    Texts are cleaned and bounded; an id that is not a ULID is replaced.
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
        anchors: Json = None,
    ) -> Entry:
        """Make an entry; raises INVALID_IMPORT if it would lose text."""
        content = _check_content(title, clean_text(content))
        semantic, obsolete = str(memory_type) == "semantic", str(status) == "obsolete"
        created_at = parse_moment(str(created) if created else None, self.now)
        project_name = clean_project(str(project or self.project or ""))
        names = clean_tags([str(tag) for tag in tags if tag is not None])[:TAGS]
        return Entry(
            id=_ulid(id_) or self.new_id(),
            type=entry_type(type_),
            title=clean_title(title, content),
            content=content,
            tags=tuple(name[:TAG_CHARACTERS] for name in names),
            project=project_name[:PROJECT_CHARACTERS].rstrip() if project_name else None,
            confidence=max(0, min(5, confidence)) if isinstance(confidence, int) else 3,
            status=EntryStatus.OBSOLETE if obsolete else EntryStatus.ACTIVE,
            memory_type=MemoryType.SEMANTIC if semantic else MemoryType.EPISODIC,
            created_at=created_at,
            updated_at=parse_moment(str(updated) if updated else None, created_at),
            context=clean_context(context)[0],
            superseded_by=_ulid(superseded_by),
            anchors=_anchors(anchors),
        )

    def link(self, source: str, target: str, relation: object, created: object = None) -> Link:
        """Make a link; an unknown relation becomes `related`."""
        moment = parse_moment(str(created) if created else None, self.now)
        return Link(self.new_id(), source, target, relation_type(relation), moment)


def _anchors(records: Json) -> tuple[CodeAnchor, ...]:
    """Make anchors from their records; raises INVALID_IMPORT rather than lose one."""
    if not isinstance(records, list):
        return ()
    if len(records) > ANCHORS:
        raise failure(INVALID_IMPORT, f"it has more than {ANCHORS} anchors.")
    try:
        return join_anchors((), map(read_anchor, records))
    except ValueError as error:
        raise failure(INVALID_IMPORT, f"{error}.") from error


def _check_content(title: str, content: str) -> str:
    """Return the content, with the whole title before it if the title must be cut."""
    if not title.strip() and not content.strip():
        raise failure(INVALID_IMPORT, "it has neither a title nor a text.")
    too_long = len(" ".join(title.split())) > TITLE_CHARACTERS
    if too_long and not content.startswith(title.strip()):
        content = f"{clean_text(title).strip()}\n\n{content}".rstrip()
    if len(content) > CONTENT_CHARACTERS:
        raise failure(
            INVALID_IMPORT,
            f"{title[:60]!r} has {len(content)} characters; the limit is {CONTENT_CHARACTERS}.",
        )
    return content


def _ulid(value: object) -> str | None:
    return value if isinstance(value, str) and is_ulid(value) else None


def entry_type(name: object) -> EntryType:
    """Return the type that a name stands for, `reference` if it is unknown."""
    return _TYPE_OF.get(str(name or "").strip().casefold(), EntryType.REFERENCE)


def knows_type(name: object) -> bool:
    """Say whether a name stands for one of our types."""
    return str(name or "").strip().casefold() in _TYPE_OF


def relation_type(name: object) -> RelationType:
    """Return the relation that a name stands for, `related` if it is unknown."""
    return _RELATION_OF.get(
        "_".join(str(name or "").casefold().replace("-", " ").split()), RelationType.RELATED
    )


def read_bounded(path: Path) -> bytes:
    """Read a file without its byte order mark; raises INVALID_IMPORT if it is too large."""
    if path.stat().st_size > FILE_BYTES:
        raise failure(
            INVALID_IMPORT,
            f"{path.name} is larger than {FILE_BYTES} bytes.",
            hint="Import it in parts.",
        )
    return path.read_bytes().removeprefix(codecs.BOM_UTF8)


def text_of(record: Mapping[str, Json], *names: str) -> str:
    """Return the first of the named fields that has text."""
    return next(
        (value for name in names if isinstance(value := record.get(name), str) and value), ""
    )


def list_of(value: object) -> list[object]:
    """Return a list as it is, and a text as a list of one."""
    if isinstance(value, (list, tuple)):
        return list(value)
    return [value] if isinstance(value, str) and value else []


def tags_of(value: object) -> list[object]:
    """Return tags from a list, or from a text with commas between them."""
    return list(value.split(",")) if isinstance(value, str) else list_of(value)
