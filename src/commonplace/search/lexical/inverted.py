"""An inverted index in memory: BM25 over stems, and exact substring search.

The vocabulary grows far slower than the texts: a word is stemmed once, its trigrams are stored
once, and a text only adds its words to their postings. The postings of a stem are those of its
words; a substring is looked up among the words that contain it. The result of a query is an integer
with one bit per text, so that large sets intersect in microseconds.

Ranking uses a fixed pivot length instead of the running average, so that a score never depends on
the order of writes.
"""

from __future__ import annotations

import math
import re
import unicodedata
from array import array
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from commonplace.search.lexical.bits import bits_of, numbers_in, those_in
from commonplace.search.lexical.bm25 import WHOLE_TEXTS, idf
from commonplace.search.lexical.text import analyze
from commonplace.search.lexical.words import RUN, count_words, is_literal, stems_of, trigrams

PIVOT_WORDS = 170.0
MOST_COUNTED = 255  # occurrences of a word in one text; a byte
PHRASE_BONUS = 0.5  # of the best score, for texts that hold the query word for word
RERANKED = 24  # how many leaders are looked at for the phrase
KEPT_POSTINGS = 400_000  # of frequent stems, ready for ranking; about 40 MB
KEPT_NEEDLES = 64
WALKED_AT_ONCE = 64  # names
RANKED_FROM = 256  # stems with fewer postings are ranked again for each query

Scored = list[tuple[float, str]]  # (-score, name), ascending


class _Vocabulary(dict[str, "array[int]"]):
    """The slots of each word, in order; an unknown word is added when it is looked up."""

    def __init__(self, learn: Callable[[str], None]) -> None:
        super().__init__()
        self._learn = learn

    def __missing__(self, word: str) -> array[int]:
        self._learn(word)
        slots = self[word] = array("I")
        return slots


@dataclass(slots=True)
class _Ranked:
    """The texts of a frequent stem by impact; kept up to date by writes."""

    order: list[tuple[float, str, int]]  # (-impact, name, slot), ascending
    impacts: dict[int, float]
    texts: int


@dataclass(frozen=True, slots=True)
class TextMatches:
    """How many texts match, and the names of the best ones in order."""

    count: int
    names: list[str]
    relaxed: bool = False  # no text has every word of the query; these have most


class InvertedIndex:
    """Texts by name, each with a title and a body.

    `text_of` returns the lower-cased text of a name, for phrases that cross words.
    """

    def __init__(self, text_of: Callable[[str], str], ranked_from: int = RANKED_FROM) -> None:
        self._text_of = text_of
        self._ranked_from = ranked_from
        self._names: list[str | None] = []
        self._norms = array("f")
        self._slots: dict[str, int] = {}
        self._free: list[int] = []
        self._ordered: list[str] = []
        self._words = _Vocabulary(self._learn)
        # word -> slot << 8 | occurrences, where it occurs more than once
        self._repeats: dict[str, array[int]] = {}
        self._title_words: dict[str, array[int]] = {}
        self._stems: dict[str, set[str]] = {}  # stem -> words of the vocabulary
        self._grams: dict[str, set[str]] = {}  # trigram of the lower-cased word -> words
        self._ranked: dict[str, _Ranked] = {}
        self._kept = 0
        self._recent: dict[str, int] = {}  # texts of recent needles, kept up to date by writes

    def __len__(self) -> int:
        return len(self._slots)

    # Writing

    def put(self, name: str, title: str, body: str) -> None:
        """Add a text under a new name."""
        slot = self._free.pop() if self._free else len(self._names)
        titled, counts = count_words(title, body)
        norm = WHOLE_TEXTS.norm(counts.total(), PIVOT_WORDS)
        if slot == len(self._names):
            self._names.append(name)
            self._norms.append(norm)
        else:
            self._names[slot] = name
            self._norms[slot] = norm
        self._slots[name] = slot
        insort(self._ordered, name)
        if slot == len(self._names) - 1:  # the hot path of a first index
            for slots in map(self._words.__getitem__, counts):
                slots.append(slot)
        else:
            for slots in map(self._words.__getitem__, counts):
                insort(slots, slot)
        for word, count in counts.items():
            if count > 1:
                insort(
                    self._repeats.setdefault(word, array("Q")), slot << 8 | min(count, MOST_COUNTED)
                )
        for word in titled:
            self._title_words.setdefault(word, array("I")).append(slot)
        for stem, ranked in self._ranked.items():
            if not self._stems[stem].isdisjoint(counts):
                count = sum(min(counts[word], MOST_COUNTED) for word in self._stems[stem])
                impact = WHOLE_TEXTS.impact(count, self._norms[slot])
                ranked.impacts[slot] = impact
                ranked.texts |= 1 << slot
                insort(ranked.order, (-impact, name, slot))
        if self._recent:
            text = self._text_of(name)
            for needle, found in self._recent.items():
                if needle in text:
                    self._recent[needle] = found | 1 << slot

    def drop(self, name: str, title: str, body: str) -> None:
        """Remove a text that was put with the same title and body."""
        slot = self._slots.pop(name)
        titled, counts = count_words(title, body)
        for ranked in self._ranked.values():
            impact = ranked.impacts.pop(slot, None)
            if impact is not None:
                ranked.texts ^= 1 << slot
                del ranked.order[bisect_left(ranked.order, (-impact, name, slot))]
        for word in counts:
            slots = self._words[word]
            del slots[bisect_left(slots, slot)]
            if not slots:
                del self._words[word]
                self._forget(word)
            if counts[word] > 1:
                repeats = self._repeats[word]
                del repeats[bisect_left(repeats, slot << 8)]
                if not repeats:
                    del self._repeats[word]
        for word in titled:
            holders = self._title_words[word]
            holders.remove(slot)
            if not holders:
                del self._title_words[word]
        for needle, found in self._recent.items():
            self._recent[needle] = found & ~(1 << slot)
        self._names[slot] = None
        self._free.append(slot)
        del self._ordered[bisect_left(self._ordered, name)]

    def _learn(self, word: str) -> None:
        for stem in analyze(word):
            self._stems.setdefault(stem, set()).add(word)
        for gram in trigrams(word.lower()):
            self._grams.setdefault(gram, set()).add(word)

    def _forget(self, word: str) -> None:
        for stem in set(analyze(word)):
            _discard(self._stems, stem, word)
            if stem not in self._stems and (ranked := self._ranked.pop(stem, None)) is not None:
                self._kept -= len(ranked.order)
        for gram in trigrams(word.lower()):
            _discard(self._grams, gram, word)

    # Reading

    def search(self, query: str, limit: int) -> TextMatches:
        """Find texts with the query or all of its words in any form, else with most of them.

        Best first. If the query has signs beside its words, texts with the literal query come
        first.
        """
        needle = query.strip().lower()
        literal = is_literal(needle)
        stems = stems_of(query)
        known = [stem for stem in stems if stem in self._stems]
        weights = self._weights(known)
        whole = self._match_all(known, weights) if known and len(known) == len(stems) else 0
        contained = self.find_containing(needle, known=whole)
        relaxed = False
        if not whole and not contained and len(stems) > 2:
            whole = _match_most(weights, len(stems))
            relaxed = bool(whole)
        names: list[str] = []
        for texts in (
            (contained & whole, contained & ~whole, whole & ~contained)
            if literal
            else (whole, contained & ~whole)
        ):
            if texts and len(names) < limit:
                names += self._list_best(texts, whole, known, weights, needle, limit - len(names))
        return TextMatches((whole | contained).bit_count(), names, relaxed)

    def _list_best(
        self,
        texts: int,
        whole: int,
        stems: Sequence[str],
        weights: Sequence[Mapping[int, float]],
        needle: str,
        limit: int,
    ) -> list[str]:
        """Return the best texts: by score if they have all words, else title matches first."""
        if texts & whole:
            leaders = self._best(stems, weights, texts, max(limit, RERANKED))
            return (
                self._phrase_first(leaders, needle)[:limit]
                if len(stems) > 1
                else [name for _, name in leaders[:limit]]
            )
        titled = texts & bits_of(self._match_titles(needle))
        names = self._sort_names(titled, limit)
        return names + self._sort_names(texts & ~titled, limit - len(names))

    def find_matching(self, query: str) -> set[str]:
        """Return the names of every text that `search` would count without relaxing."""
        stems = stems_of(query)
        known = [stem for stem in stems if stem in self._stems]
        whole = (
            self._match_all(known, self._weights(known))
            if known and len(known) == len(stems)
            else 0
        )
        found = whole | self.find_containing(query.strip().lower(), known=whole)
        return {name for slot in numbers_in(found) if (name := self._names[slot]) is not None}

    def find_containing(self, needle: str, known: int = 0) -> int:
        """Return the texts that contain the lower-cased needle.

        Texts in `known` have all its words and count unchecked, unless the needle has signs.
        """
        if not needle:
            return 0
        recent = self._recent.get(needle)
        if recent is None:
            if len(self._recent) >= KEPT_NEEDLES:
                self._recent.pop(next(iter(self._recent)))
            recent = self._recent[needle] = bits_of(
                self._look_for(needle, 0 if is_literal(needle) else known)
            )
        return recent

    def _look_for(self, needle: str, known: int) -> set[int]:
        runs = list(RUN.finditer(needle))
        if len(runs) == 1 and len(runs[0].group()) == len(needle):
            return self._union(self._words_with(needle))
        # lower-casing can split a letter into a part that is not a word character
        if not runs or any(map(unicodedata.combining, needle)):
            candidates = set(self._slots.values())
        else:
            candidates = self._match_run(needle, runs[0])
            for run in runs[1:]:
                if not candidates:
                    return candidates
                candidates &= self._match_run(needle, run)
        names, text_of = self._names, self._text_of
        sure = set(those_in(known, candidates))
        return {slot for slot in candidates if slot in sure or needle in text_of(names[slot] or "")}

    def _match_run(self, needle: str, run: re.Match[str]) -> set[int]:
        """Return slots of texts with a word that this run can be part of.

        A run is a whole word unless it is at an end of the needle.
        """
        piece = run.group()
        if run.start() == 0:
            return self._union(
                word for word in self._words_with(piece) if word.lower().endswith(piece)
            )
        if run.end() == len(needle):
            return self._union(
                word for word in self._words_with(piece) if word.lower().startswith(piece)
            )
        return self._union(word for word in self._words_with(piece) if word.lower() == piece)

    def _match_titles(self, needle: str) -> set[int]:
        """Return roughly the texts whose title has the needle; only used to order ties."""
        runs = RUN.findall(needle)
        if not runs or len(runs[0]) < 3:
            return set()
        found: set[int] = set()
        for word in self._words_with(runs[0]):
            slots = self._title_words.get(word)
            if slots is not None:
                found.update(slots)
        return found

    def _words_with(self, piece: str) -> Iterable[str]:
        """Return the words of the vocabulary that contain the lower-cased piece."""
        if len(piece) < 3:
            return [word for word in self._words if piece in word.lower()]
        fewest: set[str] | None = None
        for gram in trigrams(piece):
            words = self._grams.get(gram)
            if words is None:
                return ()
            if fewest is None or len(words) < len(fewest):
                fewest = words
        return [word for word in fewest or () if piece in word.lower()]

    def _union(self, words: Iterable[str]) -> set[int]:
        found: set[int] = set()
        for word in words:
            found.update(self._words[word])
        return found

    def _weights(self, stems: Sequence[str]) -> list[Mapping[int, float]]:
        """Return, for each stem, its impact in every text that has it."""
        return [self._impacts(stem) for stem in stems]

    def _impacts(self, stem: str) -> Mapping[int, float]:
        ranked = self._ranked.get(stem)
        if ranked is not None:
            return ranked.impacts
        counts: dict[int, int] = {}
        for word in self._stems[stem]:
            in_word = dict.fromkeys(self._words[word], 1)
            in_word.update((repeat >> 8, repeat & 0xFF) for repeat in self._repeats.get(word, ()))
            if counts:
                for slot, count in in_word.items():
                    counts[slot] = counts.get(slot, 0) + count
            else:
                counts = in_word
        impact, norms = WHOLE_TEXTS.impact, self._norms
        impacts = {slot: impact(count, norms[slot]) for slot, count in counts.items()}
        if len(impacts) >= self._ranked_from:
            self._keep(stem, impacts)
        return impacts

    def _keep(self, stem: str, impacts: dict[int, float]) -> None:
        while self._ranked and self._kept + len(impacts) > KEPT_POSTINGS:
            oldest = next(iter(self._ranked))
            self._kept -= len(self._ranked.pop(oldest).order)
        names = self._names
        order = sorted((-impact, names[slot] or "", slot) for slot, impact in impacts.items())
        self._ranked[stem] = _Ranked(order, impacts, bits_of(impacts))
        self._kept += len(impacts)

    def _match_all(self, stems: Sequence[str], weights: Sequence[Mapping[int, float]]) -> int:
        """Return the texts that have all stems; there must be at least one stem."""
        found = -1
        for stem, impacts in zip(stems, weights, strict=True):
            ranked = self._ranked.get(stem)
            found &= ranked.texts if ranked is not None else bits_of(impacts)
        return found

    def _best(
        self, stems: Sequence[str], weights: Sequence[Mapping[int, float]], allowed: int, limit: int
    ) -> Scored:
        """Return the best scores among the allowed texts, (-score, name) ascending."""
        total = len(self._slots)
        idfs = [idf(total, len(impacts)) for impacts in weights]
        if allowed.bit_count() <= 4 * limit or any(stem not in self._ranked for stem in stems):
            return sorted(self._score(numbers_in(allowed), weights, idfs))[:limit]
        if len(stems) == 1 and allowed == self._ranked[stems[0]].texts:
            return [
                (negative * idfs[0], name)
                for negative, name, _ in self._ranked[stems[0]].order[:limit]
            ]
        return self._threshold(stems, weights, idfs, allowed, limit)

    def _score(
        self, slots: Iterable[int], weights: Sequence[Mapping[int, float]], idfs: Sequence[float]
    ) -> Scored:
        names = self._names
        pairs = list(zip(weights, idfs, strict=True))
        return [
            (-sum(impacts.get(slot, 0.0) * idf for impacts, idf in pairs), names[slot] or "")
            for slot in slots
        ]

    def _threshold(
        self,
        stems: Sequence[str],
        weights: Sequence[Mapping[int, float]],
        idfs: Sequence[float],
        allowed: int,
        limit: int,
    ) -> Scored:
        """Walk the rankings side by side until no unvisited text can beat the leaders."""
        orders = [self._ranked[stem].order for stem in stems]
        visited: set[int] = set()
        leaders: Scored = []
        depth, step = 0, 2 * limit
        longest = max(len(order) for order in orders)
        while depth < longest:
            upto = depth + step
            fresh = {entry[2] for order in orders for entry in order[depth:upto]} - visited
            visited |= fresh
            leaders = sorted([*leaders, *self._score(those_in(allowed, fresh), weights, idfs)])[
                :limit
            ]
            depth, step = upto, 2 * step
            if len(leaders) == limit:
                beyond = sum(
                    -order[depth][0] * idf
                    for order, idf in zip(orders, idfs, strict=True)
                    if depth < len(order)
                )
                if -leaders[-1][0] >= beyond:  # ties further down come later by name
                    break
        return leaders

    def _phrase_first(self, leaders: Scored, needle: str) -> list[str]:
        """Move leaders that contain the whole query up by half of the best score."""
        if not leaders or not needle:
            return [name for _, name in leaders]
        bonus = leaders[0][0] * PHRASE_BONUS
        head = sorted(
            (score + (bonus if needle in self._text_of(name) else 0.0), name)
            for score, name in leaders[:RERANKED]
        )
        return [name for _, name in head] + [name for _, name in leaders[RERANKED:]]

    def _sort_names(self, texts: int, limit: int) -> list[str]:
        """Return the first names of some texts: walk if they are many, sort if they are few."""
        if texts.bit_count() * 8 < len(self._ordered):
            return sorted(
                name for slot in numbers_in(texts) if (name := self._names[slot]) is not None
            )[:limit]
        chosen: list[str] = []
        for start in range(0, len(self._ordered), WALKED_AT_ONCE):
            slots = map(self._slots.__getitem__, self._ordered[start : start + WALKED_AT_ONCE])
            chosen += [self._names[slot] or "" for slot in those_in(texts, slots)]
            if len(chosen) >= limit:
                break
        return chosen[:limit]


def _match_most(weights: Sequence[Mapping[int, float]], words: int) -> int:
    """Return texts with at least three fifths of a query's words, and at least two."""
    needed = max(2, math.ceil(0.6 * words))
    matched = Counter(slot for impacts in weights for slot in impacts)
    return bits_of([slot for slot, times in matched.items() if times >= needed])


def _discard(holders: dict[str, set[str]], key: str, word: str) -> None:
    words = holders.get(key)
    if words is not None:
        words.discard(word)
        if not words:
            del holders[key]
