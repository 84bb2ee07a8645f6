"""Recognise near duplicates, and merge two entries without losing what either says."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from difflib import SequenceMatcher
from typing import Any

from commonplace.memory.engine.lexicon import OPPOSITES_OF
from commonplace.memory.engine.sentences import split_sentences
from commonplace.memory.engine.subject import different_subjects, different_versions
from commonplace.memory.engine.terms import significant_terms
from commonplace.memory.model import Entry, EntryStatus, join_anchors
from commonplace.memory.text import CONTENT_CHARACTERS, CONTEXT_CHARACTERS, TAGS

SHARED_TERMS = 0.8  # of the shorter of two near duplicates
COMMON_TERMS = 0.6  # of both together
COMPARED_CHARACTERS = 5_000
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_WORD = re.compile(r"[^\W_]+(?:[-._/][^\W_]+)*")
_NAME = re.compile(r"[^\W\d_]*[A-Z][^\W_]*|.*[\d._/-].*")
_OWN_FIELDS = ("id", "title", "content", "context", "created_at", "updated_at")


def are_near_duplicates(entry: Entry, other: Entry) -> bool:
    """Say whether two similar entries say the same in nearly the same words.

    They do not if a number or a name differs, or if they fill one template for two things or two
    occasions: such entries are similar, and both are needed.
    """
    if entry.status is not EntryStatus.ACTIVE or other.status is not EntryStatus.ACTIVE:
        return False
    if (entry.type, entry.project) != (other.type, other.project):
        return False
    first, second = (f"{e.title}\n{e.content}"[:COMPARED_CHARACTERS] for e in (entry, other))
    if different_versions(entry.title, other.title) or different_subjects(
        entry.title, entry.content, other.title, other.content
    ):
        return False
    terms, others = set(significant_terms(first)), set(significant_terms(second))
    common = len(terms & others)
    if common < SHARED_TERMS * max(1, min(len(terms), len(others))):
        return False
    if common < COMMON_TERMS * len(terms | others):
        return False
    titles = set(significant_terms(entry.title)), set(significant_terms(other.title))
    if titles[0] - others and titles[1] - terms:  # each names an occasion of its own
        return False
    return not (
        _negations_differ(entry, other)
        or _numbers_differ(first, second)
        or _numbers_differ_in_titles(entry.title, other.title)
        or _names_differ(first, second)
    )


def _negations_differ(entry: Entry, other: Entry) -> bool:
    """Say whether only one of two entries denies something, or has a word of opposite meaning."""
    first, second = (split_sentences(e.title, e.content) for e in (entry, other))
    if any(s.negations for s in first) != any(s.negations for s in second):
        return True
    opposites = [{word for s in sentences for word in s.opposites} for sentences in (first, second)]
    return any(OPPOSITES_OF[word] & (opposites[1] - opposites[0]) for word in opposites[0])


def _numbers_differ(first: str, second: str) -> bool:
    """Say whether each text has a number that the other lacks."""
    numbers, others = set(_NUMBER.findall(first)), set(_NUMBER.findall(second))
    return bool(numbers - others and others - numbers)


def _numbers_differ_in_titles(first: str, second: str) -> bool:
    """Say whether both titles have numbers, and not the same: they name a thing of many."""
    numbers, others = _NUMBER.findall(first), _NUMBER.findall(second)
    return bool(numbers and others) and sorted(numbers) != sorted(others)


def _names_differ(first: str, second: str) -> bool:
    """Say whether a name stands in one text where another name stands in the other."""
    words, others = _WORD.findall(first), _WORD.findall(second)
    matcher = SequenceMatcher(
        None, [w.casefold() for w in words], [w.casefold() for w in others], autojunk=False
    )
    used = {word.casefold() for word in words}, {word.casefold() for word in others}
    for change, a, a_end, b, b_end in matcher.get_opcodes():
        if change != "replace":
            continue
        own = [w for w in words[a:a_end] if _NAME.fullmatch(w) and w.casefold() not in used[1]]
        theirs = [w for w in others[b:b_end] if _NAME.fullmatch(w) and w.casefold() not in used[0]]
        if own and theirs:
            return True
    return False


def choose_kept(first: Entry, second: Entry) -> tuple[Entry, Entry]:
    """Return the entry that stays, which is the one that says more, else the older; and the other.

    The older one is more likely to be cited.
    """
    sizes = [len(set(significant_terms(entry.text))) for entry in (first, second)]
    if sizes[0] == sizes[1]:
        return (first, second) if first.id < second.id else (second, first)
    return (first, second) if sizes[0] > sizes[1] else (second, first)


def merge_entries(kept: Entry, other: Entry) -> Entry:
    """Return the kept entry with what only the other one says.

    Its content gains the sentences of the other that have a term of their own, its context the
    other conversation. Tags, and every other field with several values, are united; fields with
    one value stay, unless only the other entry has one.
    """
    united: dict[str, Any] = {
        field.name: _unite(getattr(kept, field.name), getattr(other, field.name))
        for field in fields(Entry)
        if field.name not in _OWN_FIELDS
    }
    merged = replace(kept, **united)
    return replace(
        merged,
        tags=merged.tags[:TAGS],
        content=_merge_content(kept, other),
        context=_merge_context(kept.context, other.context),
        anchors=join_anchors(other.anchors, kept.anchors),
    )


def _unite(kept: object, other: object) -> object:
    if isinstance(kept, tuple) and isinstance(other, tuple):
        return tuple(dict.fromkeys((*kept, *other)))
    return other if kept is None else kept


def _merge_content(kept: Entry, other: Entry) -> str:
    known = set(significant_terms(kept.text))
    added: list[str] = []
    length = len(kept.content)
    title = [] if set(significant_terms(other.title)) <= known else [other.title]
    for sentence in (*title, *_SENTENCE.split(other.content)):
        terms = set(significant_terms(sentence))
        if terms <= known or length + len(sentence) + 2 > CONTENT_CHARACTERS:
            continue
        added.append(sentence.strip())
        known |= terms
        length += len(sentence) + 2
    return "\n\n".join(part for part in (kept.content, "\n".join(added)) if part)


def _merge_context(kept: str, other: str) -> str:
    if not other or other in kept:
        return kept
    both = f"{kept}\n\n{other}".lstrip()
    return both if len(both) <= CONTEXT_CHARACTERS else kept or other
