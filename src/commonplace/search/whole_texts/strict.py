"""Order of texts that have every word of a query: BM25, the phrase first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from commonplace.search.rarity import idf
from commonplace.search.whole_texts.bits import bits_of, numbers_in, those_in
from commonplace.search.whole_texts.inverted import InvertedIndex

PHRASE_BONUS = 0.5  # of the best score, for texts that hold the query word for word
RERANKED = 24  # how many leaders are looked at for the phrase
WALKED_AT_ONCE = 64  # names

Scored = list[tuple[float, str]]  # (-score, name), ascending


class StrictRanking:
    """Ranks texts of an index that match strictly; never visits all of a large set."""

    def __init__(self, index: InvertedIndex) -> None:
        self._index = index

    def list_best(
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
        titled = texts & bits_of(self._index.match_titles(needle))
        names = self._sort_names(titled, limit)
        return names + self._sort_names(texts & ~titled, limit - len(names))

    def _best(
        self, stems: Sequence[str], weights: Sequence[Mapping[int, float]], allowed: int, limit: int
    ) -> Scored:
        """Return the best scores among the allowed texts, (-score, name) ascending."""
        total = len(self._index.slots)
        idfs = [idf(total, len(impacts)) for impacts in weights]
        if allowed.bit_count() <= 4 * limit or any(
            stem not in self._index.ranked for stem in stems
        ):
            return sorted(self._score(numbers_in(allowed), weights, idfs))[:limit]
        if len(stems) == 1 and allowed == self._index.ranked[stems[0]].texts:
            return [
                (negative * idfs[0], name)
                for negative, name, _ in self._index.ranked[stems[0]].order[:limit]
            ]
        return self._threshold(stems, weights, idfs, allowed, limit)

    def _score(
        self, slots: Iterable[int], weights: Sequence[Mapping[int, float]], idfs: Sequence[float]
    ) -> Scored:
        names = self._index.names
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
        orders = [self._index.ranked[stem].order for stem in stems]
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
            (score + (bonus if needle in self._index.text_of(name) else 0.0), name)
            for score, name in leaders[:RERANKED]
        )
        return [name for _, name in head] + [name for _, name in leaders[RERANKED:]]

    def _sort_names(self, texts: int, limit: int) -> list[str]:
        """Return the first names of some texts: walk if they are many, sort if they are few."""
        if texts.bit_count() * 8 < len(self._index.ordered):
            return sorted(
                name for slot in numbers_in(texts) if (name := self._index.names[slot]) is not None
            )[:limit]
        chosen: list[str] = []
        for start in range(0, len(self._index.ordered), WALKED_AT_ONCE):
            slots = map(
                self._index.slots.__getitem__, self._index.ordered[start : start + WALKED_AT_ONCE]
            )
            chosen += [self._index.names[slot] or "" for slot in those_in(texts, slots)]
            if len(chosen) >= limit:
                break
        return chosen[:limit]
