"""What to propose about a new entry: links to its neighbours, contradictions with them, clusters
worth a general pattern.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from commonplace.memory.engine.contradiction import Statement, find_conflict
from commonplace.memory.engine.similarity import (
    LEXICAL_GENERALIZE,
    LEXICAL_LINK,
    TEXT_CHARACTERS,
    count_terms,
    overlap,
    shared_terms,
    term_weights,
)
from commonplace.memory.engine.subject import different_subjects, different_versions
from commonplace.memory.engine.terms import as_written
from commonplace.memory.model import (
    GENERALIZE_ENTRIES,
    GENERALIZE_SIMILARITY,
    LINK_SIMILARITY,
    Decision,
    Entry,
    EntryStatus,
    EntryType,
    MemoryType,
    Suggestion,
    SuggestionType,
)
from commonplace.search.lexical.text import is_stop_word

MOST_LINKS = 5  # a new entry proposes at most so many links: more would be noise
MOST_CLUSTER = 12
CONTRADICTION_MARGIN = 0.10
NEARLY_THE_SAME = 0.9
LEXICALLY_THE_SAME = 0.7
SETTLED_SHARE = 0.5  # a cluster that shares this much with a settled one is that one again


@dataclass(frozen=True, slots=True)
class Thresholds:
    link: float = LINK_SIMILARITY
    generalize: float = GENERALIZE_SIMILARITY
    generalize_entries: int = GENERALIZE_ENTRIES

    def link_at(self, semantic: bool) -> float:
        return self.link if semantic else LEXICAL_LINK * self.link / LINK_SIMILARITY

    @property
    def least(self) -> float:
        """Below it nothing is ever suggested: contradicting entries differ in words, so they are
        looked for somewhat further away.
        """
        return min(self.link_at(False), self.link_at(True)) - CONTRADICTION_MARGIN

    def generalize_at(self, semantic: bool) -> float:
        return (
            self.generalize
            if semantic
            else LEXICAL_GENERALIZE * self.generalize / GENERALIZE_SIMILARITY
        )


@dataclass(frozen=True, slots=True)
class SimilarityCandidate:
    """Another entry that may be near: the cosine of vectors, and how often it holds each term,
    as far as they are known.
    """

    entry: Entry
    cosine: float | None
    words: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Another entry and how near it is: by cosine of vectors (semantic) or of words."""

    entry: Entry
    score: float
    semantic: bool
    terms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposal:
    """A suggestion before it has an id."""

    type: SuggestionType
    entry_ids: tuple[str, ...]
    score: float
    reason: str


def nearest(
    entry: Entry,
    others: Sequence[SimilarityCandidate],
    rarity: Mapping[str, float],
    least: float = 0.0,
) -> list[Neighbour]:
    """Candidates in order of nearness; what they share is told from `least` on.

    Those without a cosine of vectors get that of words.
    """
    # In a small collection every word of a subject is common, so rarity only adds to what a word is
    # worth.
    worth = {term: 1 + idf for term, idf in rarity.items()}
    usual = sum(worth.values()) / len(worth) if worth else 1.0
    own = term_weights(count_terms(entry.text), worth, usual)
    near: list[Neighbour] = []
    for candidate in others:
        other, cosine = candidate.entry, candidate.cosine
        if other.id != entry.id:
            theirs = term_weights(_telling(candidate), worth, usual)
            score = (
                overlap(own, theirs) if cosine is None else min(1.0, cosine)
            )  # stored vectors are rounded
            near.append(
                Neighbour(
                    other,
                    score,
                    cosine is not None,
                    shared_terms(own, theirs) if score >= least else (),
                )
            )
    return sorted(near, key=lambda neighbour: (-neighbour.score, neighbour.entry.id))


def _telling(candidate: SimilarityCandidate) -> Mapping[str, int]:
    """As `count_terms` of its text, without reading it again where the index has counted it."""
    if candidate.words is None or len(candidate.entry.text) > TEXT_CHARACTERS:
        return count_terms(candidate.entry.text)
    return {term: count for term, count in candidate.words.items() if not is_stop_word(term)}


@dataclass(frozen=True, slots=True)
class SettledPairs:
    """Entries about which some suggestions would be pointless, by id."""

    linked: frozenset[str] = frozenset()  # linked already: no link is suggested
    opposed: frozenset[str] = frozenset()  # no contradiction is suggested
    suggested: frozenset[str] = (
        frozenset()
    )  # a link is suggested already: does not count towards MOST_LINKS


def propose_pairs(
    entry: Entry, neighbours: Sequence[Neighbour], settled: SettledPairs, thresholds: Thresholds
) -> list[Proposal]:
    """Propose links and contradictions with neighbours, nearest first."""
    proposals: list[Proposal] = []
    links = 0
    for neighbour in neighbours:
        other = neighbour.entry
        least = thresholds.link_at(neighbour.semantic)
        if other.id == entry.id or neighbour.score < least - CONTRADICTION_MARGIN:
            continue
        score = round(min(1.0, neighbour.score), 4)
        conflict = None
        if other.id not in settled.opposed and _comparable(entry, other):
            conflict = find_conflict(_statement(other), _statement(entry))
        if conflict is not None:
            proposals.append(
                Proposal(SuggestionType.CONTRADICTION, (entry.id, other.id), score, conflict.reason)
            )
            continue
        wanted = links < MOST_LINKS or other.id in settled.suggested
        if (
            other.id not in settled.linked
            and neighbour.score >= least
            and wanted
            and not _two_things(entry, neighbour)
        ):
            links += other.id not in settled.suggested
            proposals.append(
                Proposal(
                    SuggestionType.LINK, (entry.id, other.id), score, _reason(entry, neighbour)
                )
            )
    return proposals


def _comparable(entry: Entry, other: Entry) -> bool:
    """Only entries that both hold, in one project, can contradict each other."""
    return entry.status is other.status is EntryStatus.ACTIVE and other.project == entry.project


def _statement(entry: Entry) -> Statement:
    return Statement(
        entry.title, entry.content, entry.type in (EntryType.DECISION, EntryType.CONFIG)
    )


def _two_things(entry: Entry, neighbour: Neighbour) -> bool:
    """One template filled for two things is no reason for a link, unless the texts are nearly
    the same.
    """
    other = neighbour.entry
    if different_versions(other.title, entry.title):
        return True
    alike = NEARLY_THE_SAME if neighbour.semantic else LEXICALLY_THE_SAME
    return neighbour.score < alike and different_subjects(
        other.title, other.content, entry.title, entry.content
    )


def propose_cluster(
    entry: Entry,
    neighbours: Sequence[Neighbour],
    generalized: frozenset[str],
    settled: Sequence[Suggestion],
    thresholds: Thresholds,
) -> Proposal | None:
    """Three or more episodic entries around the new one that nobody has generalised or refused to.

    `generalized` are entries that a pattern is already derived from; `settled` the clusters
    proposed before.
    """
    if entry.memory_type is not MemoryType.EPISODIC or entry.id in generalized:
        return None
    near = [
        neighbour
        for neighbour in neighbours
        if neighbour.entry.memory_type is MemoryType.EPISODIC
        and neighbour.entry.status is EntryStatus.ACTIVE
        and neighbour.entry.id not in generalized
        and neighbour.score >= thresholds.generalize_at(neighbour.semantic)
    ][: MOST_CLUSTER - 1]
    if len(near) + 1 < max(thresholds.generalize_entries, GENERALIZE_ENTRIES):
        return None
    ids = tuple(sorted({entry.id, *(neighbour.entry.id for neighbour in near)}))
    if any(_same(ids, suggestion) for suggestion in settled):
        return None
    score = sum(neighbour.score for neighbour in near) / len(near)
    common = (
        [term for term in near[0].terms if all(term in neighbour.terms for neighbour in near)]
        if near[0].terms
        else []
    )
    words = as_written(common, entry.text)[:4]
    about = f" about {', '.join(words)}" if words else ""
    return Proposal(
        SuggestionType.GENERALIZE,
        ids,
        round(min(1.0, score), 4),
        f"{len(ids)} episodic entries tell of the same thing{about}",
    )


def _same(ids: tuple[str, ...], suggestion: Suggestion) -> bool:
    """Refused or accepted clusters keep their members; a pending one only has to hold all of
    these already.
    """
    before = set(suggestion.entry_ids)
    if suggestion.decision is Decision.PENDING:
        return before >= set(ids)
    common = len(before & set(ids))
    return common / len(before | set(ids)) >= SETTLED_SHARE


def _reason(entry: Entry, neighbour: Neighbour) -> str:
    how = "Similar meaning" if neighbour.semantic else "Similar words"
    words = as_written(neighbour.terms, entry.text)
    shared = f"; shared: {', '.join(words)}" if words else ""
    return f"{how} ({neighbour.score:.2f}){shared}"
