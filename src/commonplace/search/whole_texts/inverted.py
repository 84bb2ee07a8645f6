"""An inverted index in memory: BM25 over stems, and exact substring search.

The vocabulary grows far slower than the texts: a word is stemmed once, its trigrams are stored
once, and a text only adds its words to their postings. The postings of a stem are those of its
words; a substring is looked up among the words that contain it. The result of a query is an integer
with one bit per text, so that large sets intersect in microseconds.

Ranking uses a fixed pivot length instead of the running average, so that a score never depends on
the order of writes.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from commonplace.search.lexical.bm25 import WHOLE_TEXTS
from commonplace.search.lexical.text import analyze
from commonplace.search.whole_texts.bits import bits_of, those_in
from commonplace.search.whole_texts.spelling import SpellingIndex
from commonplace.search.whole_texts.words import RUN, count_words, is_literal, trigrams

PIVOT_WORDS = 170.0
MOST_COUNTED = 255  # occurrences of a word in one text; a byte
KEPT_POSTINGS = 400_000  # of frequent stems, ready for ranking; about 40 MB
KEPT_NEEDLES = 64
FEW_CANDIDATES = 16  # texts that are read rather than asked for one more word
RANKED_FROM = 128  # stems with fewer postings are ranked again for each query


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
class RankedStem:
    """The texts of a frequent stem by impact; kept up to date by writes."""

    order: list[tuple[float, str, int]]  # (-impact, name, slot), ascending
    impacts: dict[int, float]
    texts: int


class InvertedIndex:
    """Texts by name, each with a title and a body.

    `text_of` returns the lower-cased text of a name, for phrases that cross words.
    """

    def __init__(self, text_of: Callable[[str], str], ranked_from: int = RANKED_FROM) -> None:
        self.text_of = text_of
        self._ranked_from = ranked_from
        self.names: list[str | None] = []
        self.norms = array("f")
        self.slots: dict[str, int] = {}
        self._free: list[int] = []
        self.ordered: list[str] = []
        self.words = _Vocabulary(self._learn)
        # word -> slot << 8 | occurrences, where it occurs more than once
        self._repeats: dict[str, array[int]] = {}
        self._title_words: dict[str, array[int]] = {}
        self.stems: dict[str, set[str]] = {}  # stem -> words of the vocabulary
        self._grams: dict[str, set[str]] = {}  # trigram of the lower-cased word -> words
        self.ranked: dict[str, RankedStem] = {}
        self._kept = 0
        self._recent: dict[str, int] = {}  # texts of recent needles, kept up to date by writes
        self._spelling: SpellingIndex | None = None

    def __len__(self) -> int:
        return len(self.slots)

    # Writing

    def put(self, name: str, title: str, body: str, labels: str = "") -> None:
        """Add a text under a new name."""
        slot = self._free.pop() if self._free else len(self.names)
        titled, counts = count_words(title, body, labels)
        norm = WHOLE_TEXTS.norm(counts.total(), PIVOT_WORDS)
        if slot == len(self.names):
            self.names.append(name)
            self.norms.append(norm)
        else:
            self.names[slot] = name
            self.norms[slot] = norm
        self.slots[name] = slot
        insort(self.ordered, name)
        if slot == len(self.names) - 1:  # the hot path of a first index
            for slots in map(self.words.__getitem__, counts):
                slots.append(slot)
        else:
            for slots in map(self.words.__getitem__, counts):
                insort(slots, slot)
        for word, count in counts.items():
            if count > 1:
                insort(
                    self._repeats.setdefault(word, array("Q")), slot << 8 | min(count, MOST_COUNTED)
                )
        for word in titled:
            self._title_words.setdefault(word, array("I")).append(slot)
        for stem, ranked in self.ranked.items():
            if not self.stems[stem].isdisjoint(counts):
                count = sum(min(counts[word], MOST_COUNTED) for word in self.stems[stem])
                impact = WHOLE_TEXTS.impact(count, self.norms[slot])
                ranked.impacts[slot] = impact
                ranked.texts |= 1 << slot
                insort(ranked.order, (-impact, name, slot))
        if self._recent:
            text = self.text_of(name)
            for needle, found in self._recent.items():
                if needle in text:
                    self._recent[needle] = found | 1 << slot

    def drop(self, name: str, title: str, body: str, labels: str = "") -> None:
        """Remove a text that was put with the same title, body and labels."""
        slot = self.slots.pop(name)
        titled, counts = count_words(title, body, labels)
        for ranked in self.ranked.values():
            impact = ranked.impacts.pop(slot, None)
            if impact is not None:
                ranked.texts ^= 1 << slot
                del ranked.order[bisect_left(ranked.order, (-impact, name, slot))]
        for word in counts:
            slots = self.words[word]
            del slots[bisect_left(slots, slot)]
            if not slots:
                del self.words[word]
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
        self.names[slot] = None
        self._free.append(slot)
        del self.ordered[bisect_left(self.ordered, name)]

    def _learn(self, word: str) -> None:
        for stem in analyze(word):
            self.stems.setdefault(stem, set()).add(word)
        for gram in trigrams(word.lower()):
            self._grams.setdefault(gram, set()).add(word)
        if self._spelling is not None:
            self._spelling.add(word.lower())

    def _forget(self, word: str) -> None:
        for stem in set(analyze(word)):
            _discard(self.stems, stem, word)
            if stem not in self.stems and (ranked := self.ranked.pop(stem, None)) is not None:
                self._kept -= len(ranked.order)
        for gram in trigrams(word.lower()):
            _discard(self._grams, gram, word)
        lowered = word.lower()
        if self._spelling is not None and len(lowered) > 2 and not self.forms_of(lowered):
            self._spelling.discard(lowered)

    @property
    def spelling(self) -> SpellingIndex:
        """The vocabulary by spelling, built when the first unknown word is looked up."""
        if self._spelling is None:
            self._spelling = SpellingIndex(word.lower() for word in self.words)
        return self._spelling

    def forms_of(self, word: str) -> list[str]:
        """Return the words of the vocabulary that are this lower-cased word of three letters up."""
        return [form for form in self.words_with(word) if len(form) == len(word)]

    def impacts_of(self, words: Iterable[str]) -> dict[int, float]:
        """Return the impact of some words of the vocabulary, taken as one, in every text."""
        return self._impacts_of_counts(self._count(words))

    def holders(self, words: Iterable[str]) -> int:
        """Return in how many texts one of the words occurs."""
        chosen = list(words)
        return len(self.words[chosen[0]] if len(chosen) == 1 else self._union(chosen))

    # Reading

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
            return self._union(self.words_with(needle))
        # lower-casing can split a letter into a part that is not a word character
        if not runs or any(map(unicodedata.combining, needle)):
            candidates = set(self.slots.values())
        else:
            # longest first: a short piece is in many words, and texts settle the few that are left
            runs.sort(key=lambda run: (-len(run.group()), run.start()))
            candidates = self._match_run(needle, runs[0])
            for run in runs[1:]:
                if len(candidates) <= FEW_CANDIDATES:
                    break
                candidates &= self._match_run(needle, run)
        names, text_of = self.names, self.text_of
        sure = set(those_in(known, candidates))
        return {slot for slot in candidates if slot in sure or needle in text_of(names[slot] or "")}

    def _match_run(self, needle: str, run: re.Match[str]) -> set[int]:
        """Return slots of texts with a word that this run can be part of.

        A run is a whole word unless it is at an end of the needle.
        """
        piece = run.group()
        if run.start() == 0:
            return self._union(
                word for word in self.words_with(piece) if word.lower().endswith(piece)
            )
        if run.end() == len(needle):
            return self._union(
                word for word in self.words_with(piece) if word.lower().startswith(piece)
            )
        return self._union(word for word in self.words_with(piece) if word.lower() == piece)

    def match_titles(self, needle: str) -> set[int]:
        """Return roughly the texts whose title has the needle; only used to order ties."""
        runs = RUN.findall(needle)
        if not runs or len(runs[0]) < 3:
            return set()
        found: set[int] = set()
        for word in self.words_with(runs[0]):
            slots = self._title_words.get(word)
            if slots is not None:
                found.update(slots)
        return found

    def words_with(self, piece: str) -> Iterable[str]:
        """Return the words of the vocabulary that contain the lower-cased piece."""
        if len(piece) < 3:
            return [word for word in self.words if piece in word.lower()]
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
            found.update(self.words[word])
        return found

    def weights(self, stems: Sequence[str]) -> list[Mapping[int, float]]:
        """Return, for each stem, its impact in every text that has it."""
        return [self.impacts(stem) for stem in stems]

    def impacts(self, stem: str) -> Mapping[int, float]:
        ranked = self.ranked.get(stem)
        if ranked is not None:
            return ranked.impacts
        impacts = self.impacts_of(self.stems[stem])
        if len(impacts) >= self._ranked_from:
            self._keep(stem, impacts)
        return impacts

    def _count(self, words: Iterable[str]) -> dict[int, int]:
        counts: dict[int, int] = {}
        for word in words:
            in_word = dict.fromkeys(self.words[word], 1)
            in_word.update((repeat >> 8, repeat & 0xFF) for repeat in self._repeats.get(word, ()))
            if counts:
                for slot, count in in_word.items():
                    counts[slot] = counts.get(slot, 0) + count
            else:
                counts = in_word
        return counts

    def _impacts_of_counts(self, counts: Mapping[int, int]) -> dict[int, float]:
        impact, norms = WHOLE_TEXTS.impact, self.norms
        return {slot: impact(count, norms[slot]) for slot, count in counts.items()}

    def _keep(self, stem: str, impacts: dict[int, float]) -> None:
        while self.ranked and self._kept + len(impacts) > KEPT_POSTINGS:
            oldest = next(iter(self.ranked))
            self._kept -= len(self.ranked.pop(oldest).order)
        names = self.names
        order = sorted((-impact, names[slot] or "", slot) for slot, impact in impacts.items())
        self.ranked[stem] = RankedStem(order, impacts, bits_of(impacts))
        self._kept += len(impacts)

    def match_all(self, stems: Sequence[str], weights: Sequence[Mapping[int, float]]) -> int:
        """Return the texts that have all stems; there must be at least one stem."""
        found = -1
        for stem, impacts in zip(stems, weights, strict=True):
            ranked = self.ranked.get(stem)
            found &= ranked.texts if ranked is not None else bits_of(impacts)
        return found


def _discard(holders: dict[str, set[str]], key: str, word: str) -> None:
    words = holders.get(key)
    if words is not None:
        words.discard(word)
        if not words:
            del holders[key]
