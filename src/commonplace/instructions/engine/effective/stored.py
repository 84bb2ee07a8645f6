"""Rules as they are kept on disk for hooks: everything but the text, which is read when needed.

A row has the values of a candidate and those derived from its text. Rules are kept in buckets, of
which a question needs few: those that may apply to every path, and those of the folders of a path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from commonplace.instructions.engine.effective.compiled import asked_people, people_keys
from commonplace.instructions.engine.effective.outcome import RuleQuestion
from commonplace.instructions.engine.effective.rule import (
    LONGEST_TOKEN,
    EffectiveCandidate,
    ScopeLevel,
)
from commonplace.instructions.engine.scope.rule_scope import RuleScope
from commonplace.kernel.json_types import Json, JsonArray

ANYWHERE = ""  # bucket of rules that may apply to every path
BY_NAME = "\0"  # bucket of rules that apply only if they, or their people, are named
FOLDERS = 2  # levels of folders that have buckets of their own
_DOCUMENT_FIELDS = (
    "status",
    "workspaceId",
    "userId",
    "teamIds",
    "supersedes",
    "deprecatedBy",
    "conflictsWith",
    "updatedAt",
)

Place = tuple[int, int, int]  # where a text is: offset, bytes, checksum
ReadText = Callable[[Place], str]


class StoredRule(EffectiveCandidate):
    """A rule of a row. Its text is read from the disk when it is shown or compared."""

    def __init__(self, row: Sequence[Json], read_text: ReadText) -> None:
        (key, title, place, chars, text_tokens, label_tokens, requirement, priority) = row[:8]
        (level, folder, description, activation, includes, excludes, languages) = row[8:15]
        self._read_text = read_text
        self._place: Place = tuple(place)
        super().__init__(
            key,
            f"instruction:{key}",
            title,
            "",
            scope=RuleScope(activation, tuple(includes), tuple(excludes), frozenset(languages)),
            requirement=requirement,
            priority=priority,
            level=ScopeLevel(level),
            folder=folder,
            description=description,
            document=row[15],
        )
        self.least_tokens = chars // LONGEST_TOKEN
        self.__dict__["text_tokens"] = text_tokens  # where cached_property looks first
        self.__dict__["label_tokens"] = label_tokens

    @property
    def text(self) -> str:
        """Return the text, read from the disk."""
        return self._read_text(self._place)

    @text.setter
    def text(self, value: str) -> None:
        """Ignore the text that the base class is given."""


def make_row(rule: EffectiveCandidate, document: Mapping[str, Json], place: Place) -> JsonArray:
    """Return the row of a rule."""
    scope = rule.scope
    kept = {name: document[name] for name in _DOCUMENT_FIELDS if document.get(name)}
    return [
        rule.key,
        rule.title,
        list(place),
        len(rule.text),
        rule.text_tokens,
        rule.label_tokens,
        rule.requirement,
        rule.priority,
        int(rule.level),
        rule.folder,
        rule.description,
        scope.activation,
        list(scope.includes),
        list(scope.excludes),
        sorted(scope.languages),
        kept,
    ]


def buckets_of(rule: EffectiveCandidate) -> list[str]:
    """Return the buckets of a rule: of its people, or of the folder that all its globs name.

    A rule that replaces another one is looked at in every question.
    """
    if rule.scope.is_open and not rule.supersedes and (people := people_keys(rule)):
        return [f"{BY_NAME}{kind} {name}" for kind, name in people]
    return [_bucket_of(rule)]


def _bucket_of(rule: EffectiveCandidate) -> str:
    activation = rule.scope.activation
    if activation == "manual" and not rule.supersedes:
        return BY_NAME
    if rule.supersedes or activation != "glob" or not rule.scope.includes:
        return ANYWHERE
    return "/".join(rule.folder.split("/")[:FOLDERS])


def buckets_for(question: RuleQuestion) -> Iterator[str]:
    """Yield the buckets whose rules may apply to a question, each once."""
    names = {ANYWHERE: None}
    for kind, name in asked_people(question):
        names[f"{BY_NAME}{kind} {name}"] = None
    for path in (*question.paths, *question.mentioned):
        folders = path.split("/")[:-1]
        for depth in range(1, min(len(folders), FOLDERS) + 1):
            names["/".join(folders[:depth])] = None
    yield from names
