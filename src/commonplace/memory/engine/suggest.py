"""Decide what to propose about an entry: links, duplicates, contradictions, generalisations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from commonplace.memory.engine.contradiction import Statement, find_contradiction
from commonplace.memory.engine.merge import are_near_duplicates
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

MOST_LINKS = 5  # that a new entry proposes: more would be noise
MOST_CLUSTER = 12
# Below the similarity of links; entries that contradict each other differ in words.
CONTRADICTION_MARGIN = 0.4  # by vectors
LEXICAL_CONTRADICTION_MARGIN = 0.25
NEARLY_THE_SAME = 0.9
LEXICALLY_THE_SAME = 0.7
SETTLED_SHARE = 0.5  # a cluster that shares this much with a decided one is the same


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Similarities from which on suggestions are made; the settings are for vectors."""

    link: float = LINK_SIMILARITY
    generalize: float = GENERALIZE_SIMILARITY
    generalize_entries: int = GENERALIZE_ENTRIES

    def link_at(self, semantic: bool) -> float:
        """Return the threshold of links, by vectors or by words."""
        return self.link if semantic else LEXICAL_LINK * self.link / LINK_SIMILARITY

    def contradict_at(self, semantic: bool) -> float:
        """Return the similarity below which nothing is suggested, by vectors or by words.

        Contradicting entries differ in words, so they are looked for farther away than links.
        """
        margin = CONTRADICTION_MARGIN if semantic else LEXICAL_CONTRADICTION_MARGIN
        return self.link_at(semantic) - margin

    @property
    def least(self) -> float:
        """Return the similarity below which nothing is suggested."""
        return min(self.contradict_at(False), self.contradict_at(True))

    def generalize_at(self, semantic: bool) -> float:
        """Return the threshold of clusters, by vectors or by words."""
        return (
            self.generalize
            if semantic
            else LEXICAL_GENERALIZE * self.generalize / GENERALIZE_SIMILARITY
        )


@dataclass(frozen=True, slots=True)
class SimilarityCandidate:
    """An entry that may be similar; cosine and term counts where they are known."""

    entry: Entry
    cosine: float | None
    words: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A similar entry; the score is the cosine of vectors (semantic) or of words."""

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
    """Return the candidates, nearest first, with the terms they share from a score of `least` on.

    Candidates without a cosine of vectors get that of words.
    """
    # In a small collection every word of a subject is common, so rarity only adds to the weight.
    worth = {term: 1 + idf for term, idf in rarity.items()}
    usual = sum(worth.values()) / len(worth) if worth else 1.0
    own = term_weights(count_terms(entry.text), worth, usual)
    near: list[Neighbour] = []
    for candidate in others:
        other, cosine = candidate.entry, candidate.cosine
        if other.id != entry.id:
            theirs = term_weights(_term_counts(candidate), worth, usual)
            # Stored vectors are rounded, so a cosine may exceed 1.
            score = overlap(own, theirs) if cosine is None else min(1.0, cosine)
            near.append(
                Neighbour(
                    other,
                    score,
                    cosine is not None,
                    shared_terms(own, theirs) if score >= least else (),
                )
            )
    return sorted(near, key=lambda neighbour: (-neighbour.score, neighbour.entry.id))


def _term_counts(candidate: SimilarityCandidate) -> Mapping[str, int]:
    """Count the terms of a candidate, from the index if it knows them."""
    if candidate.words is None or len(candidate.entry.text) > TEXT_CHARACTERS:
        return count_terms(candidate.entry.text)
    return {term: count for term, count in candidate.words.items() if not is_stop_word(term)}


@dataclass(frozen=True, slots=True)
class SettledPairs:
    """Ids of entries for which some suggestions would be pointless."""

    linked: frozenset[str] = frozenset()  # already linked: no link is suggested
    opposed: frozenset[str] = frozenset()  # no contradiction is suggested
    suggested: frozenset[str] = frozenset()  # already suggested: not counted for MOST_LINKS


def propose_pairs(
    entry: Entry, neighbours: Sequence[Neighbour], settled: SettledPairs, thresholds: Thresholds
) -> list[Proposal]:
    """Propose links, duplicates and contradictions with neighbours, nearest first."""
    proposals: list[Proposal] = []
    links = 0
    for neighbour in neighbours:
        other = neighbour.entry
        least = thresholds.link_at(neighbour.semantic)
        if other.id == entry.id or neighbour.score < thresholds.contradict_at(neighbour.semantic):
            continue
        score = round(min(1.0, neighbour.score), 4)
        contradiction = None
        if other.id not in settled.opposed and _can_contradict(entry, other):
            contradiction = find_contradiction(_statement(other), _statement(entry))
        if contradiction is not None:
            proposals.append(
                Proposal(
                    SuggestionType.CONTRADICTION, (entry.id, other.id), score, contradiction.reason
                )
            )
            continue
        if other.id not in settled.linked and _is_duplicate(entry, neighbour):
            proposals.append(
                Proposal(
                    SuggestionType.DUPLICATE,
                    (entry.id, other.id),
                    score,
                    _duplicate_reason(entry, neighbour),
                )
            )
            continue
        wanted = links < MOST_LINKS or other.id in settled.suggested
        if (
            other.id not in settled.linked
            and neighbour.score >= least
            and wanted
            and not _have_different_subjects(entry, neighbour)
        ):
            links += other.id not in settled.suggested
            proposals.append(
                Proposal(
                    SuggestionType.LINK, (entry.id, other.id), score, _link_reason(entry, neighbour)
                )
            )
    return proposals


def _is_duplicate(entry: Entry, neighbour: Neighbour) -> bool:
    alike = NEARLY_THE_SAME if neighbour.semantic else LEXICALLY_THE_SAME
    return neighbour.score >= alike and are_near_duplicates(entry, neighbour.entry)


def _can_contradict(entry: Entry, other: Entry) -> bool:
    """Say whether two entries can contradict each other: both active, in one project."""
    return entry.status is other.status is EntryStatus.ACTIVE and other.project == entry.project


def _statement(entry: Entry) -> Statement:
    return Statement(
        entry.title, entry.content, entry.type in (EntryType.DECISION, EntryType.CONFIG)
    )


def _have_different_subjects(entry: Entry, neighbour: Neighbour) -> bool:
    """Say whether two entries fill one template for two things and are not nearly the same."""
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
    """Propose to generalise the episodic entries around one.

    `generalized` are entries that a pattern is already derived from; `settled` are the clusters
    proposed before, which are not proposed again.
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
    if any(_is_same_cluster(ids, suggestion) for suggestion in settled):
        return None
    score = sum(neighbour.score for neighbour in near) / len(near)
    return Proposal(
        SuggestionType.GENERALIZE, ids, round(min(1.0, score), 4), _cluster_reason(entry, near)
    )


def _cluster_reason(entry: Entry, near: Sequence[Neighbour]) -> str:
    common = [term for term in near[0].terms if all(term in n.terms for n in near)]
    words = as_written(common, entry.text)[:4]
    about = f": {', '.join(words)}" if words else ""
    return f"{len(near) + 1} episodic entries about the same thing{about}"


def _is_same_cluster(ids: tuple[str, ...], suggestion: Suggestion) -> bool:
    """Say whether a suggestion covers a cluster: most of it if decided, all of it if pending."""
    before = set(suggestion.entry_ids)
    if suggestion.decision is Decision.PENDING:
        return before >= set(ids)
    common = len(before & set(ids))
    return common / len(before | set(ids)) >= SETTLED_SHARE


def _duplicate_reason(entry: Entry, neighbour: Neighbour) -> str:
    return f"Says the same in nearly the same words. {_link_reason(entry, neighbour)}"


def _link_reason(entry: Entry, neighbour: Neighbour) -> str:
    how = "Similar meaning" if neighbour.semantic else "Similar words"
    words = as_written(neighbour.terms, entry.text)
    shared = f"; shared: {', '.join(words)}" if words else ""
    return f"{how} ({neighbour.score:.2f}){shared}"
