"""An inverted index in memory: BM25 over stems, and an exact answer to "which texts contain these characters".

Postings are compact arrays sorted by slot and updated in place. Substrings are found through the vocabulary: trigrams of the
distinct words (which grow far slower than the texts) say which words contain a piece, their postings say where.

Ranking uses a fixed pivot length instead of the running average, so that a score never depends on the order of writes."""

from __future__ import annotations

import math
import re
from array import array
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field

from commonplace.search.text import analyze, query_terms

K1 = 1.2
B = 0.5
PIVOT_TERMS = 160.0
TITLE_WEIGHT = 4
IMPACT_SCALE = 96  # a quantised impact fits a byte: (k1 + 1) * scale < 256
PHRASE_BONUS = 0.5  # of the best score, for texts that hold the query word for word
RERANKED = 64  # how many leaders are looked at for the phrase
KEPT_RANKINGS = 128
KEPT_NEEDLES = 64

_RUN = re.compile(r"\w+")
Ranking = list[tuple[int, str, int]]  # (-impact, name, slot), ascending
_FEW = 256  # postings below this are cheaper to read again than to keep


@dataclass(slots=True)
class _Posting:
    slots: array[int] = field(default_factory=lambda: array("I"))
    impacts: array[int] = field(default_factory=lambda: array("B"))

    def impact(self, slot: int) -> int:
        at = bisect_left(self.slots, slot)
        return self.impacts[at] if at < len(self.slots) and self.slots[at] == slot else 0


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A frequent term's postings in order of impact and as a set; writes keep both true."""

    order: Ranking
    slots: set[int]


@dataclass(frozen=True, slots=True)
class Found:
    """How many texts match, and the best of them in order."""

    count: int
    names: list[str]
    relaxed: bool = False  # no text holds every word of the query: these hold some


class InvertedIndex:
    """Texts by name, each a title and a body. `text_of` gives back the lower-cased text of a name, for phrases that cross words."""

    def __init__(self, text_of: Callable[[str], str]) -> None:
        self._text_of = text_of
        self._names: list[str | None] = []
        self._slots: dict[str, int] = {}
        self._free: list[int] = []
        self._ordered: list[str] = []
        self._terms: dict[str, _Posting] = {}
        self._words: dict[str, array[int]] = {}
        self._title_words: dict[str, array[int]] = {}
        self._grams: dict[str, set[str]] = {}
        self._rankings: dict[str, _Ranked] = {}
        self._recent: dict[str, set[int]] = {}  # needles asked for lately; writes keep them true

    def __len__(self) -> int:
        return len(self._slots)

    # Writing

    def put(self, name: str, title: str, body: str) -> None:
        """Add a text under a new name."""
        slot = self._free.pop() if self._free else len(self._names)
        if slot == len(self._names):
            self._names.append(name)
        else:
            self._names[slot] = name
        self._slots[name] = slot
        insort(self._ordered, name)
        for term, impact in _impacts(title, body):
            posting = self._terms.get(term)
            if posting is None:
                posting = self._terms[term] = _Posting()
            at = bisect_left(posting.slots, slot)
            posting.slots.insert(at, slot)
            posting.impacts.insert(at, impact)
            ranked = self._rankings.get(term)
            if ranked is not None:
                insort(ranked.order, (-impact, name, slot))
                ranked.slots.add(slot)
        title_words, words = _words(title), _words(body)
        for word in title_words:
            _insert(self._title_words, word, slot)
        for word in words | title_words:
            if _insert(self._words, word, slot):
                for gram in _trigrams(word):
                    self._grams.setdefault(gram, set()).add(word)
        text = self._text_of(name)
        for needle, found in self._recent.items():
            if needle in text:
                found.add(slot)

    def drop(self, name: str, title: str, body: str) -> None:
        """Take out a text that was put with the same title and body."""
        slot = self._slots.pop(name)
        self._names[slot] = None
        self._free.append(slot)
        del self._ordered[bisect_left(self._ordered, name)]
        for term, impact in _impacts(title, body):
            posting = self._terms[term]
            at = bisect_left(posting.slots, slot)
            del posting.slots[at], posting.impacts[at]
            ranked = self._rankings.get(term)
            if ranked is not None:
                del ranked.order[bisect_left(ranked.order, (-impact, name, slot))]
                ranked.slots.discard(slot)
            if not posting.slots:
                del self._terms[term]
                self._rankings.pop(term, None)
        title_words, words = _words(title), _words(body)
        for word in title_words:
            _delete(self._title_words, word, slot)
        for word in words | title_words:
            if _delete(self._words, word, slot):
                for gram in _trigrams(word):
                    holders = self._grams[gram]
                    holders.discard(word)
                    if not holders:
                        del self._grams[gram]
        for found in self._recent.values():
            found.discard(slot)

    # Reading

    def search(self, query: str, limit: int) -> Found:
        """Texts that contain the query, or all of its words in any form; failing both, those with some of its words. Best first."""
        needle = query.strip().lower()
        terms = query_terms(query)
        postings = [(term, self._terms[term]) for term in terms if term in self._terms]
        whole: Set[int] = self._with_all(postings) if postings and len(postings) == len(terms) else frozenset()
        contained = self.containing(needle, known=whole)
        relaxed = not whole and not contained and len(postings) > 0
        if relaxed:
            whole = {slot for _, posting in postings for slot in posting.slots}
        leaders = self._best(postings, whole, max(limit, RERANKED)) if whole else []
        names = self._phrase_first(leaders, needle)[:limit] if len(terms) > 1 else [name for _, name in leaders[:limit]]
        only = contained - whole if whole else contained
        if only and len(names) < limit:
            titled = only & self._in_titles(needle)
            names += self._in_order(titled, limit - len(names))
            if len(names) < limit:
                names += self._in_order(only - titled, limit - len(names))
        return Found(len(whole) + len(only), names, relaxed)

    def matching(self, query: str) -> set[str]:
        """Names of every text that `search` would count, strictly: no relaxing."""
        needle = query.strip().lower()
        terms = query_terms(query)
        postings = [(term, self._terms[term]) for term in terms if term in self._terms]
        whole: Set[int] = self._with_all(postings) if postings and len(postings) == len(terms) else frozenset()
        names = self._names
        return {name for slot in whole | self.containing(needle, known=whole) if (name := names[slot]) is not None}

    def containing(self, needle: str, known: Set[int] = frozenset()) -> Set[int]:
        """Slots of the texts that contain the lower-cased needle. Those in `known` hold all its words already and count unchecked."""
        if not needle:
            return set()
        recent = self._recent.get(needle)
        if recent is None:
            if len(self._recent) >= KEPT_NEEDLES:
                self._recent.pop(next(iter(self._recent)))
            recent = self._recent[needle] = self._look_for(needle, known)
        return recent

    def _look_for(self, needle: str, known: Set[int]) -> set[int]:
        runs = list(_RUN.finditer(needle))
        if len(runs) == 1 and len(runs[0].group()) == len(needle):
            return self._union(self._words_with(needle))
        if not runs:
            candidates = set(self._slots.values())
        else:
            candidates = self._with_run(needle, runs[0])
            for run in runs[1:]:
                if not candidates:
                    return candidates
                candidates &= self._with_run(needle, run)
        names, text_of = self._names, self._text_of
        return {slot for slot in candidates if slot in known or needle in text_of(names[slot] or "")}

    def _with_run(self, needle: str, run: re.Match[str]) -> set[int]:
        """Slots of texts with a word that this run of the needle can be part of: the whole word unless it stands at an end."""
        piece = run.group()
        if run.start() == 0:
            return self._union(word for word in self._words_with(piece) if word.endswith(piece))
        if run.end() == len(needle):
            return self._union(word for word in self._words_with(piece) if word.startswith(piece))
        return set(self._words.get(piece, ()))

    def _in_titles(self, needle: str) -> set[int]:
        """Roughly the texts whose title holds the needle; only used to order equals."""
        runs = _RUN.findall(needle)
        if not runs or len(runs[0]) < 3:
            return set()
        found: set[int] = set()
        for word in self._words_with(runs[0]):
            slots = self._title_words.get(word)
            if slots is not None:
                found.update(slots)
        return found

    def _words_with(self, piece: str) -> Iterable[str]:
        """Vocabulary words that contain the piece."""
        if len(piece) < 3:
            return [word for word in self._words if piece in word]
        holders = [self._grams.get(gram) for gram in _trigrams(piece)]
        if any(words is None for words in holders):
            return ()
        fewest = min((words for words in holders if words is not None), key=len)
        return [word for word in fewest if piece in word]

    def _union(self, words: Iterable[str]) -> set[int]:
        found: set[int] = set()
        for word in words:
            found.update(self._words[word])
        return found

    def _with_all(self, postings: Sequence[tuple[str, _Posting]]) -> Set[int]:
        by_size = sorted(postings, key=lambda item: len(item[1].slots))
        found: Set[int] = self._slots_of(*by_size[0])
        for term, posting in by_size[1:]:
            found = found & self._slots_of(term, posting)
        return found

    def _slots_of(self, term: str, posting: _Posting) -> Set[int]:
        return set(posting.slots) if len(posting.slots) < _FEW else self._ranked(term, posting).slots

    def _best(self, postings: Sequence[tuple[str, _Posting]], allowed: Set[int], limit: int) -> list[tuple[float, str]]:
        """The best scores among the allowed slots, (-score, name) ascending."""
        total = len(self._slots)
        weighted = [(term, posting, _idf(len(posting.slots), total)) for term, posting in postings]
        if len(allowed) <= 4 * limit:
            return sorted(self._scored(allowed, weighted))[:limit]
        if len(weighted) == 1:
            term, posting, idf = weighted[0]
            return [(-idf * -negative, name) for negative, name, _ in self._ranked(term, posting).order[:limit]]
        return self._threshold(weighted, allowed, limit)

    def _scored(self, slots: Iterable[int], weighted: Sequence[tuple[str, _Posting, float]]) -> Iterator[tuple[float, str]]:
        for slot in slots:
            yield -sum(idf * posting.impact(slot) for _, posting, idf in weighted), self._names[slot] or ""

    def _threshold(self, weighted: Sequence[tuple[str, _Posting, float]], allowed: Set[int], limit: int) -> list[tuple[float, str]]:
        """Walk the rankings side by side until nothing unseen can beat the leaders."""
        lists = [(self._ranked(term, posting).order, idf) for term, posting, idf in weighted]
        seen: set[int] = set()
        leaders: list[tuple[float, str]] = []
        depth, step = 0, 2 * limit
        longest = max(len(ranking) for ranking, _ in lists)
        while depth < longest:
            upto = depth + step
            fresh = {entry[2] for ranking, _ in lists for entry in ranking[depth:upto]} - seen
            seen |= fresh
            leaders = sorted([*leaders, *self._scored(fresh & allowed, weighted)])[:limit]
            depth, step = upto, 2 * step
            if len(leaders) == limit:
                beyond = sum(-ranking[depth][0] * idf for ranking, idf in lists if depth < len(ranking))
                if -leaders[-1][0] >= beyond:  # equals further down come later by name
                    break
        return leaders

    def _ranked(self, term: str, posting: _Posting) -> _Ranked:
        ranked = self._rankings.get(term)
        if ranked is None:
            if len(self._rankings) >= KEPT_RANKINGS:
                self._rankings.pop(next(iter(self._rankings)))
            names = self._names
            order = sorted((-impact, names[slot] or "", slot) for slot, impact in zip(posting.slots, posting.impacts, strict=True))
            ranked = self._rankings[term] = _Ranked(order, set(posting.slots))
        return ranked

    def _phrase_first(self, leaders: list[tuple[float, str]], needle: str) -> list[str]:
        """Leaders that hold the query word for word move up by half of the best score."""
        if not leaders or not needle:
            return [name for _, name in leaders]
        bonus = leaders[0][0] * PHRASE_BONUS
        head = sorted((score + (bonus if needle in self._text_of(name) else 0.0), name) for score, name in leaders[:RERANKED])
        return [name for _, name in head] + [name for _, name in leaders[RERANKED:]]

    def _in_order(self, slots: Set[int], limit: int) -> list[str]:
        """The first names of some slots: a walk where they are many, a sort where they are few."""
        if len(slots) * 8 < len(self._ordered):
            return sorted(name for slot in slots if (name := self._names[slot]) is not None)[:limit]
        chosen: list[str] = []
        for name in self._ordered:
            if self._slots[name] in slots:
                chosen.append(name)
                if len(chosen) == limit:
                    break
        return chosen


def _idf(holders: int, total: int) -> float:
    return math.log(1 + (total - holders + 0.5) / (holders + 0.5))


def _impacts(title: str, body: str) -> list[tuple[str, int]]:
    """Each term with its quantised BM25 weight; a word of the title counts as several."""
    counts = Counter(analyze(body))
    for term, times in Counter(analyze(title)).items():
        counts[term] += times * TITLE_WEIGHT
    norm = K1 * (1 - B + B * counts.total() / PIVOT_TERMS)
    by_times = {times: max(1, round(IMPACT_SCALE * times * (K1 + 1) / (times + norm))) for times in set(counts.values())}
    return [(term, by_times[times]) for term, times in counts.items()]


def _words(text: str) -> set[str]:
    return set(_RUN.findall(text.lower()))


def _trigrams(word: str) -> set[str]:
    return {word[at : at + 3] for at in range(len(word) - 2)}


def _insert(postings: dict[str, array[int]], key: str, slot: int) -> bool:
    """Whether the key is new."""
    slots = postings.get(key)
    if slots is None:
        postings[key] = array("I", (slot,))
        return True
    if slot > slots[-1]:
        slots.append(slot)
    else:
        slots.insert(bisect_left(slots, slot), slot)
    return False


def _delete(postings: dict[str, array[int]], key: str, slot: int) -> bool:
    """Whether the key is gone."""
    slots = postings[key]
    del slots[bisect_left(slots, slot)]
    if slots:
        return False
    del postings[key]
    return True
