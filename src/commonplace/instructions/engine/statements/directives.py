"""Directives of a rule, and when two of them oppose each other.

Each directive has a subject and a value, so that rules can be compared by looking subjects up. Two
directives oppose each other if they have one subject and different values: done or not done, one or
another of alternatives, a number, a version, or what stands behind "as" or "through" (ADR 0368).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from commonplace.instructions.engine.statements.alternatives import (
    ALTERNATIVES,
    AMBIGUOUS,
    OBJECT_SIGNS,
    Alternatives,
    join_names,
)
from commonplace.instructions.engine.statements.clauses import Clause, split_clauses, statements_of
from commonplace.instructions.engine.statements.quantities import (
    find_quantity,
    find_version,
    versions_oppose,
)
from commonplace.instructions.engine.statements.vocabulary import (
    DIRECTIVE_WORDS,
    IGNORED,
    JUDGING,
    LIGHT_VERBS,
    STATING,
    STRONG_NEGATIONS,
    TAKING_OR_LEAVING,
    WORD,
    is_negative,
    stem,
    stems_of,
    word_set,
)

MOST_STATEMENTS = 200  # of one rule
MOST_FRAME_WORDS = 4  # stems of a value behind "as" or "through"
DIRECTIVE_START = 6  # words among which a directive has its verb
_FRAME = re.compile(r"^(?:always )?(\w.*?) (as|through|via) (.+)$")
_PLACE = re.compile(r"^(?:always )?(?:put|place) (.*?) ((?:in|on|under|next to|beside|at) .+)$")
_TAIL = word_set("for in when on inside to as with if where within at between before after")
_NAMES = frozenset(ALTERNATIVES)
_FRAMES = frozenset(("#place", "#role", "#as", "#through", "#via"))
_LABEL = re.compile(r"[a-z][a-z -]{2,24}:")  # "Indentation: 2 spaces"
_LIGHT = IGNORED | LIGHT_VERBS
_PLACING = ("put ", "place ", "always put ", "always place ")
_TAKING = frozenset(("use", "uses", "prefer", "choose", "adopt", "take"))


class Directive(NamedTuple):
    """A statement that tells to do something, or not to, or what to take."""

    text: str
    subject: tuple[str, ...]
    value: str

    def opposes(self, other: Directive) -> bool:
        """Tell whether another directive about the same subject says something else."""
        if self.value == other.value:
            return False
        kind = self.subject[0]
        if kind == "#version":
            return versions_oppose(self.value, other.value)
        if kind in _FRAMES:
            words, others = {*self.value.split()}, {*other.value.split()}
            return not (words & others if kind == "#place" else words <= others or others <= words)
        return True

    def describe_against(self, other: Directive) -> str:
        """Say in what a directive differs from one that it opposes."""
        kind = self.subject[0].removeprefix("#")
        if kind in ("use", "everywhere") or not self.subject[0].startswith("#"):
            return "one says to do what the other forbids"
        return f"{kind}: {self.value} against {other.value}"


def find_directives(text: str) -> tuple[Directive, ...]:
    """Return the directives of a text outside fenced code, in order."""
    statements = list(statements_of(text))
    if not statements:
        return ()
    plain = "\n".join(statements).lower().replace("\u2019", "'")
    lowered = join_names(plain.replace("`", "").replace("*", ""))
    found: list[Directive] = []
    for statement, plain in zip(statements, lowered.split("\n"), strict=True):
        found += (Directive(statement, *read) for read in _read(plain))
        if len(found) >= MOST_STATEMENTS:
            break
    return tuple(found)


def read_directives(text: str) -> dict[tuple[str, ...], Directive]:
    """Return the directives of a text by subject; where it contradicts itself, nothing."""
    found: dict[tuple[str, ...], Directive] = {}
    doubtful: set[tuple[str, ...]] = set()
    for directive in find_directives(text):
        if found.setdefault(directive.subject, directive).opposes(directive):
            doubtful.add(directive.subject)
    return {subject: found[subject] for subject in found if subject not in doubtful}


_Read = tuple[tuple[str, ...], str]


def _read(plain: str) -> Iterator[_Read]:
    words = tuple(WORD.findall(plain))
    start = words[:DIRECTIVE_START]
    is_directive = not DIRECTIVE_WORDS.isdisjoint(start)
    if not (is_directive or not STATING.isdisjoint(start) or _has_label(plain)):
        return
    for clause in split_clauses(plain, words):
        if not _NAMES.isdisjoint(clause.words):
            yield from _read_choice(clause)
        if clause.has_digit:
            yield from _read_number(clause)
        if is_directive:
            yield from _read_deed(clause)
            if not clause.is_rejected:
                yield from _read_frame(clause)


def _has_label(plain: str) -> bool:
    return ":" in plain and _LABEL.match(plain) is not None


def _read_deed(clause: Clause) -> Iterator[_Read]:
    """Yield what is done or not done."""
    content = stems_of(clause.words, _LIGHT) or stems_of(clause.words)
    if not content or (len(content) == 1 and not _tells_one_word(clause, content[0])):
        return
    negative = clause.is_rejected or is_negative(clause.words)
    yield content, "no" if negative else "yes"
    # "Never use X" speaks of every place, "use X for Y" of one of them. Names are compared as they
    # are written: `Exception` is one class, exceptions are many.
    if _TAIL.isdisjoint(clause.words):
        if negative and not clause.is_rejected and not STRONG_NEGATIONS.isdisjoint(clause.words):
            yield ("#everywhere", *sorted({*clause.words} - _LIGHT)), "no"
    elif not negative and (clause.lead in DIRECTIVE_WORDS or not JUDGING.isdisjoint(clause.words)):
        tail = next(at for at, word in enumerate(clause.words) if word in _TAIL)
        head = {*clause.words[:tail]} - _LIGHT
        if head and (len(head) > 1 or head.isdisjoint(DIRECTIVE_WORDS)):
            yield ("#everywhere", *sorted(head)), "yes"


def _tells_one_word(clause: Clause, content: str) -> bool:
    """Tell whether a clause tells to take or leave one thing: "use X", "X is forbidden"."""
    if not clause.is_rejected and stem(clause.lead) == content:
        return not JUDGING.isdisjoint(clause.words)
    return clause.lead in TAKING_OR_LEAVING


def _read_choice(clause: Clause) -> Iterator[_Read]:
    """Yield which of some alternatives is taken, and which are taken or not."""
    negative = clause.is_rejected or is_negative(clause.words)
    for group, words in _find_alternatives(clause).items():
        topic = tuple(
            word
            for word in stems_of({*clause.words}.difference(words), _LIGHT)
            if word not in group.related and not word[0].isdigit()
        )
        if group.needs_topic and not topic:
            continue
        if len(words) == 1 and not negative:
            yield ("#choice", group.name, *topic), words[0].removeprefix("in-")
        if len(words) == 1 or "or" not in clause.words:
            for word in words:
                yield ("#use", word, *topic), "no" if negative else "yes"


def _find_alternatives(clause: Clause) -> dict[Alternatives, list[str]]:
    """Return the alternatives that a clause names, by group."""
    chosen: dict[Alternatives, list[str]] = {}
    for word in sorted(_NAMES.intersection(clause.words)):
        if word in AMBIGUOUS and not _is_object(clause.words, clause.words.index(word)):
            continue
        for alternative in ALTERNATIVES[word]:
            if not alternative.needs or alternative.needs in map(stem, clause.words):
                chosen.setdefault(alternative.group, []).append(word)
    return chosen


def _is_object(words: Sequence[str], at: int) -> bool:
    """Tell whether a word stands where the name of a tool stands."""
    before = [word for word in words[max(0, at - 2) : at] if word not in ("the", "a", "an")]
    return bool(before) and before[-1] in OBJECT_SIGNS


def _read_number(clause: Clause) -> Iterator[_Read]:
    version = find_version(clause.plain)
    if version is not None:
        if not clause.is_rejected and not is_negative(clause.words):
            yield version
        return
    quantity = find_quantity(clause.plain, clause.words)
    if quantity is not None:
        yield quantity


def _read_frame(clause: Clause) -> Iterator[_Read]:
    """Yield the value of a statement such as "format dates as X" or "put tests in X"."""
    plain = clause.plain
    if plain.startswith(_PLACING):
        place = _PLACE.match(plain)
    elif " as " in plain or " through " in plain or " via " in plain:
        place = None
    else:
        return
    if is_negative(clause.words):
        return
    if place is not None:
        yield from _frame("#place", place[1], place[2])
    frame = _FRAME.match(plain) if place is None else None
    if frame is None:
        return
    before, sign, behind = frame.groups()
    if sign == "as" and before.split()[0] in _TAKING:
        yield from _frame("#role", behind, before)
    else:
        yield from _frame(f"#{sign}", before, behind)


def _frame(kind: str, about: str, value: str) -> Iterator[_Read]:
    subject = stems_of(about.split())
    values = stems_of(word.strip("./,") for word in value.split())
    least = 1 if kind == "#place" else 2
    if len(subject) >= least and 0 < len(values) <= MOST_FRAME_WORDS and "or" not in value.split():
        yield (kind, *subject), " ".join(values)
