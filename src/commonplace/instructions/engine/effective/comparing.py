"""Texts of rules compared with each other: equal ones, and statements that may contradict."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from itertools import islice

from commonplace.instructions.engine.effective.rule import EffectiveCandidate


@dataclass(frozen=True, slots=True)
class TextOverlaps:
    """Where texts may meet; each set may contain more than is true of the rules at hand."""

    repeated: Set[str]  # keys of rules with the words of another one
    contested: Set[str]  # keys of rules with a statement about a disputed subject
    declared: Set[str]  # keys of rules with `conflictsWith`, and of those that they name
    disputed: Set[int]  # hashes of subjects about which rules say different things


class ComparedTexts:
    """Rules that are compared with each other, each read once. Not thread-safe.

    A rule that changed leaves its statements behind until many did: a subject that is not disputed
    any more costs a comparison, and nothing else.
    """

    def __init__(self, rules: Iterable[EffectiveCandidate] = ()) -> None:
        self._unread: dict[str, EffectiveCandidate] = {}
        self._declared: set[str] = set()
        self._forget()
        for rule in rules:
            self.put(rule)

    def _forget(self) -> None:
        self._read: dict[str, EffectiveCandidate] = {}
        self._first: dict[int, str] = {}  # key by the hash of all words
        # what is said about a subject, and who says it; of a disputed one only what was said last
        self._values: dict[int, tuple[int, tuple[str, ...]]] = {}
        self._repeated: set[str] = set()
        self._contested: set[str] = set()
        self._disputed: set[int] = set()
        self._stale = 0

    def put(self, rule: EffectiveCandidate) -> None:
        """Add or replace a rule; it is read later."""
        self.drop(rule.key)
        self._unread[rule.key] = rule
        if rule.conflicts_with:
            self._declared |= {rule.key, *rule.conflicts_with}

    def drop(self, key: str) -> None:
        """Remove a rule."""
        self._unread.pop(key, None)
        if self._read.pop(key, None) is not None:
            self._stale += 1
            if self._stale > len(self._read):
                self._unread = {**self._read, **self._unread}
                self._forget()

    @property
    def has_unread(self) -> bool:
        """Tell whether there are rules to read."""
        return bool(self._unread)

    def read_some(self, most: int) -> bool:
        """Read some rules; return whether there are more."""
        for rule in list(islice(self._unread.values(), most)):
            rule.analyse()
            self._take(rule)
        return bool(self._unread)

    def overlaps(
        self, selected: Iterable[str], files: Iterable[EffectiveCandidate] = ()
    ) -> TextOverlaps:
        """Return where the selected rules may meet others, and rules of files too."""
        if self._unread:
            for key in selected:
                if key in self._unread:
                    self._take(self._unread[key])
        if not files:
            return TextOverlaps(self._repeated, self._contested, self._declared, self._disputed)
        return self._overlaps_with(ComparedTexts(files))

    def _overlaps_with(self, others: ComparedTexts) -> TextOverlaps:
        own = others.overlaps(list(others._unread))
        words = others._first.keys() & self._first.keys()
        subjects = {
            subject
            for subject, (value, _) in others._values.items()
            if subject in self._values and self._values[subject][0] != value
        } | own.disputed
        holders = {key for subject in subjects for key in self._values.get(subject, (0, ()))[1]}
        also = {
            key
            for key, rule in others._read.items()
            if not (subjects.isdisjoint(rule.stances[0]))
            or not self._disputed.isdisjoint(rule.stances[0])
        }
        equal = {first[word] for word in words for first in (self._first, others._first)}
        return TextOverlaps(
            self._repeated | own.repeated | equal,
            self._contested | holders | also,
            self._declared | own.declared,
            self._disputed | subjects,
        )

    def _take(self, rule: EffectiveCandidate) -> None:
        """Read a rule and compare it with those that were read before."""
        first = self._first.setdefault(rule.words, rule.key)
        if first != rule.key:
            self._repeated |= {first, rule.key}
        values = self._values
        for subject, value in zip(*rule.stances, strict=True):
            known = values.get(subject)
            if known is None:
                values[subject] = value, (rule.key,)
            elif subject in self._disputed:
                self._contested.add(rule.key)
                values[subject] = value, ()
            elif known[0] == value:
                values[subject] = value, (*known[1], rule.key)
            else:
                self._disputed.add(subject)
                self._contested.update((rule.key, *known[1]))
                values[subject] = value, ()
        self._read[rule.key] = rule
        self._unread.pop(rule.key, None)
