"""Search of whole texts: every strict match, then the texts that are related, best first.

A text matches strictly if it contains the query or has all of its words in any form. Texts that
have only some of the words, longer words, or the words as they were probably meant, are related:
they are ranked among the strict matches by the same evidence, so that one accidental match of
all words does not hide the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest

from commonplace.search.fusion import DEFAULT
from commonplace.search.model import LexicalMatch, LexicalResult, QueryTerm
from commonplace.search.whole_texts.bits import bits_of, numbers_in, those_in
from commonplace.search.whole_texts.inverted import RANKED_FROM, InvertedIndex
from commonplace.search.whole_texts.strict import PHRASE_BONUS, RERANKED, StrictRanking
from commonplace.search.whole_texts.terms import QueryTerms, ReadTerm, read_terms
from commonplace.search.whole_texts.words import is_literal, stems_of

STANDINGS = 4  # classes of standing: 0 is shown first, the last one after everything else
MANY = 100  # strict matches from which nothing related is looked for
POOL = 1000  # texts that the most telling terms may propose
KEPT = 200  # of them, that the frequent terms are looked up for
RELATED = 30  # texts shown that match in part
RELATED_SHARE = 0.04  # of the best evidence, that a related text must have
COMPARABLE = 0.5  # of the best evidence: above it, standing decides the order


@dataclass(frozen=True, slots=True)
class TextMatches:
    """How many texts match, and the names of the best ones in order."""

    count: int
    names: list[str]
    relaxed: bool = False  # no text matches strictly; these have most of the query
    corrected: dict[str, str] = field(default_factory=dict)  # words of the query, as they were read


class TextSearch:
    """Texts by name, each with a title, a body, labels and a standing.

    `text_of` returns the lower-cased text of a name (title, body and labels), for phrases.
    """

    def __init__(self, text_of: Callable[[str], str], ranked_from: int = RANKED_FROM) -> None:
        self.index = InvertedIndex(text_of, ranked_from)
        self._strict = StrictRanking(self.index)
        self._standings = [0] * STANDINGS  # the texts of each standing but the first

    def __len__(self) -> int:
        return len(self.index)

    def put(self, name: str, title: str, body: str, labels: str = "", standing: int = 0) -> None:
        """Add a text under a new name; a standing above 0 is shown later."""
        self.index.put(name, title, body, labels)
        if standing:
            self._standings[standing] |= 1 << self.index.slots[name]

    def drop(self, name: str, title: str, body: str, labels: str = "") -> None:
        """Remove a text that was put with the same title, body and labels."""
        bit = 1 << self.index.slots[name]
        for standing in range(1, STANDINGS):
            self._standings[standing] &= ~bit
        self.index.drop(name, title, body, labels)

    def search(self, query: str, limit: int, allowed: Collection[str] | None = None) -> TextMatches:
        """Return the best matches by words, among the allowed names."""
        return self.ask(query, allowed).rank_by_words(limit)

    def ask(self, query: str, allowed: Collection[str] | None = None) -> TextQuery:
        """Return a query against the texts as they are now."""
        slots = self.index.slots
        mask = -1
        if allowed is not None:
            mask = bits_of([slots[name] for name in allowed if name in slots])
        return TextQuery(self, query, mask)

    def find_matching(self, query: str) -> set[str]:
        """Return the names of every text that matches strictly."""
        names = self.index.names
        found = self.ask(query).strict
        return {name for slot in numbers_in(found) if (name := names[slot]) is not None}

    def standing_of(self, slot: int) -> int:
        """Return the standing of a text."""
        bit = 1 << slot
        return next((at for at in range(1, STANDINGS) if self._standings[at] & bit), 0)

    def split_by_standing(self, texts: int) -> Iterable[int]:
        """Return the texts of each standing, in order; without empty ones."""
        rest = texts
        parts = []
        for of_standing in self._standings[:0:-1]:
            parts.append(rest & of_standing)
            rest &= ~of_standing
        return [part for part in (rest, *reversed(parts)) if part]

    def list_strict(self, asked: TextQuery, texts: int, limit: int) -> list[str]:
        """Return the best of some strict matches, those that contain a literal query first."""
        names: list[str] = []
        whole, contained = asked.whole & texts, asked.contained & texts
        for group in (
            (contained & whole, contained & ~whole, whole & ~contained)
            if asked.literal
            else (whole, contained & ~whole)
        ):
            if group and len(names) < limit:
                names += self._strict.list_best(
                    group, whole, asked.stems, asked.weights, asked.needle, limit - len(names)
                )
        return names


class _Tally:
    """Scores of candidates while the terms of a query are read, the most telling first."""

    def __init__(self, strict: Iterable[int], mask: int) -> None:
        self._mask = mask
        self.scores: dict[int, float] = dict.fromkeys(strict, 0.0)
        self.covered: dict[int, float] = dict.fromkeys(self.scores, 0.0)
        self._strict = frozenset(self.scores)

    def may_propose(self, term: ReadTerm) -> bool:
        """Tell whether the texts of a term still fit into the pool."""
        proposed = sum(len(reading.impacts) for reading in term.readings)
        return not self.scores or len(self.scores) + proposed <= POOL

    def propose(self, term: ReadTerm) -> None:
        """Add the gain of a term to each of its texts."""
        gains: dict[int, float] = {}
        for reading in term.readings:
            worth = reading.worth
            if not gains:
                gains = {slot: impact * worth for slot, impact in reading.impacts.items()}
                continue
            for slot, impact in reading.impacts.items():
                gain = impact * worth
                if gain > gains.get(slot, 0.0):
                    gains[slot] = gain
        if self._mask >= 0:
            gains = {slot: gains[slot] for slot in those_in(self._mask, gains)}
        scores, covered, worth = self.scores, self.covered, term.worth
        if not scores:
            self.scores, self.covered = gains, dict.fromkeys(gains, worth)
            return
        for slot, gain in gains.items():
            if slot in scores:
                scores[slot] += gain
                covered[slot] += worth
            else:
                scores[slot] = gain
                covered[slot] = worth

    def complete(self, term: ReadTerm) -> None:
        """Add the gain of a frequent term to the candidates that have it."""
        scores, covered = self.scores, self.covered
        for slot in scores:
            gain = term.gain(slot)
            if gain:
                scores[slot] += gain
                covered[slot] += term.worth

    def prune(self, most: int) -> None:
        """Keep the strict matches and the best of the others: frequent terms decide little."""
        if len(self.scores) > most + len(self._strict):
            kept = sorted(self.scores, key=self.scores.__getitem__, reverse=True)[:most]
            self.scores = {slot: self.scores[slot] for slot in {*kept, *self._strict}}


class TextQuery:
    """One query: its strict matches, its terms, and the ranking."""

    def __init__(self, texts: TextSearch, query: str, mask: int) -> None:
        self._texts = texts
        self._index = index = texts.index
        self._mask = mask
        self._query = query
        self.needle = query.strip().lower()
        self.literal = is_literal(self.needle)
        all_stems = stems_of(query)
        self.stems = [stem for stem in all_stems if stem in index.stems]
        self.weights = index.weights(self.stems)
        whole = (
            index.match_all(self.stems, self.weights)
            if self.stems and len(self.stems) == len(all_stems)
            else 0
        )
        self.contained = index.find_containing(self.needle, known=whole) & mask
        self.whole = whole & mask
        self.strict = self.whole | self.contained
        self._simple = len(all_stems) < 2
        self._terms: QueryTerms | None = None

    @property
    def terms(self) -> QueryTerms:
        """The terms with everything they may stand for; read on first use."""
        if self._terms is None:
            known = dict(zip(self.stems, self.weights, strict=True))
            self._terms = read_terms(self._index, self._query, known)
        return self._terms

    @property
    def is_plain(self) -> bool:
        """Tell whether the strict matches are the answer: one word, or very many matches."""
        return self.has_many or (self._simple and self.strict != 0)

    @property
    def has_many(self) -> bool:
        """Tell whether so many texts match strictly that nothing else is looked for."""
        return self.strict.bit_count() >= MANY

    def rank_by_words(self, limit: int) -> TextMatches:
        """Return the best matches without meaning."""
        if self.is_plain:
            return TextMatches(self.strict.bit_count(), self._list_plain(limit))
        evidence = self._weigh_candidates()
        return self._order(evidence, limit)

    def find_candidates(self, most: int) -> LexicalResult:
        """Return the best texts by words with the statistics that fusion needs."""
        evidence = self._weigh_candidates()
        return self.describe(self._best(evidence, most))

    def describe(self, slots: Iterable[int]) -> LexicalResult:
        """Return score and matched terms of some texts."""
        read = self.terms
        names = self._index.names
        matches = []
        for slot in slots:
            gains = [(term.term, gain) for term in read.terms if (gain := term.gain(slot))]
            name = names[slot]
            if gains and name is not None:
                score = sum(gain for _, gain in gains)
                matches.append(LexicalMatch(name, score, tuple(term for term, _ in gains)))
        matches.sort(key=lambda match: (-match.score, match.key))
        terms = tuple(QueryTerm(term.term, term.documents, term.worth) for term in read.terms)
        return LexicalResult(tuple(matches), terms, len(self._index), read.ceiling)

    def describe_names(self, names: Iterable[str]) -> LexicalResult:
        """Return score and matched terms of the texts with these names."""
        slots = self._index.slots
        return self.describe(slots[name] for name in names if name in slots)

    def rank_by(self, scores: Sequence[tuple[str, float]], limit: int) -> TextMatches:
        """Return the matches by given scores, best first; the other strict matches follow."""
        slots = self._index.slots
        known = {slots[name]: score for name, score in scores if name in slots}
        evidence = {slot: score for slot, score in known.items() if self._mask >> slot & 1}
        if self.is_plain:
            found = self.strict | bits_of([*evidence])
            first = self._order(evidence, limit).names if evidence else []
            rest = [name for name in self._list_plain(limit) if slots[name] not in evidence]
            return TextMatches(found.bit_count(), [*first, *rest][:limit])
        least = min(evidence.values(), default=0.0)
        for slot in numbers_in(self.strict):
            evidence.setdefault(slot, least / 2)
        return self._order(evidence, limit)

    def _list_plain(self, limit: int) -> list[str]:
        names: list[str] = []
        for texts in self._texts.split_by_standing(self.strict):
            if len(names) < limit:
                names += self._texts.list_strict(self, texts, limit - len(names))
        return names

    def _weigh_candidates(self) -> dict[int, float]:
        """Return the evidence of the strict matches, and of those that the rare terms propose."""
        read = self.terms
        tally = _Tally(
            numbers_in(self.strict) if self.strict.bit_count() < POOL else (), self._mask
        )
        proposing = True
        for term in read.terms:
            proposing = proposing and tally.may_propose(term)
            if proposing:
                tally.propose(term)
            else:
                tally.prune(KEPT)
                tally.complete(term)
        tally.prune(KEPT)
        information, ceiling = read.information, read.ceiling
        evidence: dict[int, float] = {}
        for slot, score in tally.scores.items():
            if score:
                coverage = tally.covered[slot] / information
                evidence[slot] = score / ceiling * (1 + DEFAULT.coverage_gain * coverage**2)
        for slot in numbers_in(self.strict):
            evidence.setdefault(slot, 0.0)
        self._favour_phrases(evidence)
        return evidence

    def _favour_phrases(self, evidence: dict[int, float]) -> None:
        """Raise leaders that contain the query word for word by half of the best."""
        bonus = PHRASE_BONUS * max(evidence.values(), default=0.0)
        text_of, names = self._index.text_of, self._index.names
        strict = {slot: evidence[slot] for slot in numbers_in(self.contained) if slot in evidence}
        for slot in self._best(strict, RERANKED):
            if self.literal or self.needle in text_of(names[slot] or ""):
                evidence[slot] += bonus

    def _best(self, evidence: Mapping[int, float], most: int) -> list[int]:
        names = self._index.names
        return nsmallest(most, evidence, key=lambda slot: (-evidence[slot], names[slot] or ""))

    def _order(self, evidence: dict[int, float], limit: int) -> TextMatches:
        """Order by standing among comparable evidence, then by evidence."""
        strict, contained = self.strict, self.contained if self.literal else 0
        best = max(evidence.values(), default=0.0)
        related = {
            slot: weight
            for slot, weight in evidence.items()
            if not strict >> slot & 1 and weight >= RELATED_SHARE * best
        }
        chosen = [*numbers_in(strict), *self._best(related, RELATED)]
        names, last = self._index.names, STANDINGS - 1

        def place(slot: int) -> tuple[bool, bool, bool, int, float, str]:
            standing = self._texts.standing_of(slot)
            weight = evidence.get(slot, 0.0)
            return (
                standing == last,
                not contained >> slot & 1,
                weight < COMPARABLE * best,
                standing,
                -weight,
                names[slot] or "",
            )

        ordered = [names[slot] or "" for slot in sorted(chosen, key=place)[:limit]]
        relaxed = not strict and bool(ordered)
        return TextMatches(len(chosen), ordered, relaxed, self.terms.corrected)
