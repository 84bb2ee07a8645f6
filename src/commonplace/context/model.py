"""Values of context: a question, what sources find for it, and the pack that answers it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from commonplace.kernel.json_types import Json

DEFAULT_BUDGET = 2_000  # tokens
LEAST_BUDGET = 200
MOST_BUDGET = 50_000


class PackSection(StrEnum):
    """The parts of a pack, in the order in which they are shown."""

    RULES = "rules"
    LESSONS = "lessons"
    FILES = "files"
    OPERATIONS = "operations"


@dataclass(frozen=True, slots=True)
class ContextQuestion:
    """What is to be done, where, and how many tokens the answer may have."""

    task: str
    paths: tuple[str, ...] = ()
    project: str | None = None
    budget: int = DEFAULT_BUDGET
    since: str | None = None
    repo: str | None = None


@dataclass(frozen=True, slots=True)
class ContextCandidate:
    """Something that a source offers for a pack.

    `chance`: how likely it helps, from 0 to 1. `topic`: how likely it is about the task at all,
    by words and meaning alone. `names`: it was named, by the task or by a path, so that its topic
    is not asked about. `binding` rules are always shown, at least by reference. `line`: the number
    of the first line of the text, of a passage; the text of one is always of whole lines.
    `marks` warn a reader: `stale`, `contradicted`. `use`: by which uses are counted.
    """

    section: PackSection
    ref: str
    title: str
    text: str
    why: str
    chance: float
    topic: float = 1.0
    named: bool = False
    binding: bool = False
    line: int = 0
    updated: str = ""  # ISO 8601
    marks: tuple[str, ...] = ()
    also: tuple[str, ...] = ()  # references of the same text
    explain: Mapping[str, Json] = field(default_factory=dict)

    @property
    def use_key(self) -> str:
        """By which uses are counted: a passage counts for its file, because lines move."""
        return self.ref.partition("#")[0] if self.section is PackSection.FILES else self.ref


@dataclass(frozen=True, slots=True)
class PackItem:
    """A candidate as it is shown; `text` is empty where only the reference fits."""

    candidate: ContextCandidate
    ref: str
    text: str
    tokens: int
    cut: bool = False


@dataclass(frozen=True, slots=True)
class ContextPack:
    """The answer to a question.

    `empty` names the sections without evidence; `cut` counts what did not fit, by section.
    `tokens` counts the whole answer as JSON.
    """

    id: str
    items: tuple[PackItem, ...]
    empty: tuple[PackSection, ...]
    cut: Mapping[PackSection, int]
    notes: tuple[str, ...]
    budget: int
    tokens: int = 0
    known: int = 0  # items left out because an earlier pack of the session has them


@dataclass(frozen=True, slots=True)
class StoredPack:
    """What is remembered of a pack: what the session was shown, and what was said about it.

    `shown` has the digest of the text of each reference, also of the packs before in the session.
    """

    id: str
    shown: Mapping[str, str]
    sections: Mapping[str, str]  # reference to section, of this pack alone
    judged: frozenset[str]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class UseWeight:
    """How often something was used and found useless after a pack contained it."""

    used: int = 0
    useless: int = 0
