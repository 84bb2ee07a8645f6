"""A rule as it is selected: of the catalogue, or of a file of a repository."""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING

import orjson

from commonplace.instructions.engine.effective.similarity import TextShape, hash_words
from commonplace.instructions.engine.scope.rule_scope import RuleScope
from commonplace.kernel.json_types import Json
from commonplace.kernel.tokens import count_tokens

if TYPE_CHECKING:
    from commonplace.instructions.engine.statements.directives import Directive

BINDING = frozenset({"mandatory", "critical"})
REQUIREMENT_ORDER = {"mandatory": 0, "critical": 1, "recommended": 2, "optional": 3}
LONGEST_TOKEN = 16  # characters, at most: a long text need not be counted
_WILDCARD = re.compile(r"[*?\[{\\]")


class ScopeLevel(IntEnum):
    """How narrow the scope of a rule is."""

    ORGANISATION = 0
    TEAM = 1
    WORKSPACE = 2
    DIRECTORY = 3
    USER = 4


class EffectiveCandidate:
    """A rule that may be in effect. What is derived from its text is computed when needed.

    `key` is unique; `ref` is how callers refer to it: `instruction:ID`, or the path of a file.
    """

    def __init__(
        self,
        key: str,
        ref: str,
        title: str,
        text: str,
        *,
        scope: RuleScope,
        requirement: str = "recommended",
        priority: int = 50,
        level: ScopeLevel = ScopeLevel.WORKSPACE,
        folder: str = "",
        description: str = "",
        document: Mapping[str, Json] | None = None,
    ) -> None:
        self.key = key
        self.ref = ref
        self.title = title
        self.text = text
        self.scope = scope
        self.requirement = requirement
        self.priority = priority
        self.level = level
        self.folder = folder
        self.description = description
        fields = document or {}
        self.status: str = fields.get("status", "approved")
        self.updated: str = fields.get("updatedAt", "")
        self.review_due: str = fields.get("nextReviewDue", "")
        self.workspace: str | None = fields.get("workspaceId")
        self.user: str | None = fields.get("userId")
        self.teams: tuple[str, ...] = tuple(fields.get("teamIds") or ())
        self.supersedes: str | None = fields.get("supersedes")
        self.deprecated_by: str | None = fields.get("deprecatedBy")
        self.conflicts_with: frozenset[str] = frozenset(fields.get("conflictsWith") or ())
        depth = folder.count("/") + 1 if folder else 0
        self.order = (
            REQUIREMENT_ORDER.get(requirement, len(REQUIREMENT_ORDER)),
            int(level),
            depth,
            priority,
            key,
        )
        self.width = (int(level), depth)
        # A binding rule must be shown, and cannot be overruled by a narrower one.
        self.is_binding = requirement in BINDING
        self.least_tokens = len(text) // LONGEST_TOKEN

    def analyse(self) -> None:
        """Compute what every question needs of the text."""
        _ = self.words, self.stances, self.text_tokens, self.label_tokens

    @cached_property
    def words(self) -> int:
        """Hash of the words, to find equal texts."""
        return hash_words(self.text)

    @cached_property
    def shape(self) -> TextShape:
        """What is compared to find texts that are nearly equal."""
        return TextShape.of(self.text)

    @cached_property
    def directives(self) -> dict[tuple[str, ...], Directive]:
        """What it tells to do or not to do, by subject; where it contradicts itself, nothing.

        Kept only of rules that others may contradict.
        """
        return _read_directives(self.text)

    @cached_property
    def stances(self) -> tuple[array[int], array[int]]:
        """Hashes of the subjects of its directives, and of what it says about each."""
        subjects, values = array("q"), array("q")
        for subject, directive in _read_directives(self.text).items():
            subjects.append(hash(subject))
            values.append(hash(directive.value))
        return subjects, values

    @cached_property
    def statement_count(self) -> int:
        """How many statements it has."""
        from commonplace.instructions.engine.statements.clauses import count_statements

        return count_statements(self.text)

    @cached_property
    def text_tokens(self) -> int:
        """Tokens of the text as a JSON string."""
        return count_json_tokens(self.text.encode("utf-8", "replace").decode())

    @cached_property
    def label_tokens(self) -> int:
        """Tokens of title and reference as JSON strings."""
        return count_json_tokens(self.title) + count_json_tokens(self.ref)


def count_json_tokens(text: str) -> int:
    """Count the tokens of a text as a JSON string."""
    return count_tokens(orjson.dumps(text).decode())


def _read_directives(text: str) -> dict[tuple[str, ...], Directive]:
    # hooks answer from texts that were read before, and need no patterns of directives
    from commonplace.instructions.engine.statements.directives import read_directives

    return read_directives(text)


def candidate_of(document: Mapping[str, Json]) -> EffectiveCandidate:
    """Make a candidate of an instruction's whole document."""
    scope = RuleScope.of(document)
    folder = literal_folder(scope.includes)
    level = (
        ScopeLevel.USER
        if document.get("userId")
        else ScopeLevel.DIRECTORY
        if folder
        else ScopeLevel.WORKSPACE
        if document.get("workspaceId")
        else ScopeLevel.TEAM
        if document.get("teamIds")
        else ScopeLevel.ORGANISATION
    )
    about = (
        document.get("description") or document.get("semanticSummary") or "",
        *document.get("tags", ()),
        *document["categories"],
    )
    return EffectiveCandidate(
        document["id"],
        f"instruction:{document['id']}",
        document["title"],
        document["body"],
        scope=scope,
        requirement=document["requirement"],
        priority=document["priority"],
        level=level,
        folder=folder,
        description=" ".join(about),
        document=document,
    )


def literal_folder(globs: tuple[str, ...]) -> str:
    """Return the folder that all globs lie in, as far as they name one."""
    common: list[str] | None = None
    for glob in globs:
        wildcard = _WILDCARD.search(glob)
        literal = glob[: wildcard.start()] if wildcard else glob
        parts = literal.split("/")[:-1]
        if common is None:
            common = parts
        else:
            same = 0
            while same < min(len(common), len(parts)) and common[same] == parts[same]:
                same += 1
            common = common[:same]
    return "/".join(common or ())
