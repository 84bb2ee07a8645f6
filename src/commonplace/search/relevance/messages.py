"""Texts that may stand in a file as they are: error messages with values where code has holes.

A program prints `cannot open '/tmp/x' (13)` where its source has `cannot open '%s' (%d)`. The words
around the values are what a file can hold, so a run of them may leave out the values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from commonplace.search.lexical.text import query_terms

LEAST_RUN = 0.7  # of a message that must stand in a text
SKIP = 0.85  # of a run of words that is kept where a word is left out
LEAST_TOKENS = 3  # of a message that a run may be a part of
MOST_TOKENS = 60
MOST_PLACES = 8  # of one word in a message: a text that repeats it costs that much per word
MOST_HOLE_TOKENS = 8  # that code has where a message has a value: `{type(value).__name__}`
_TOKEN = re.compile(r"\w+")
_VALUE = re.compile(
    r"(?<!\w)(?:'[^'\n]{1,80}'|\"[^\"\n]{1,80}\"|`[^`\n]{1,80}`|<[^<>\n]{1,80}>)(?!\w)"
    r"|\$?\{[^{}\n]{0,80}\}|%(?:\(\w{1,40}\))?[-+#0-9.]{0,8}[a-zA-Z]\b"
    r"|(?<![\w./\\])(?:[A-Za-z]:|~|\.{1,2})?[/\\][^\s,;:'\"`()\[\]]{1,200}"
    r"|(?<![\w./\\])[\w.-]{1,80}[/\\][\w./\\-]{0,200}\.\w{1,5}\b"
    r"|\[[^\[\]\n]{0,80}\]|(?<![\w.])(?:None|null|nil|undefined|NaN|[Tt]rue|[Ff]alse)\b"
    r"|(?<![\w.-])[A-Za-z_]\w{0,80}(?:\.\w{1,80}){1,8}(?!\w)"  # java.lang.String
    r"|(?<![\w.-])(?=\w{0,80}\d)\w{1,80}(?:[.:,-]\d[\w.:-]{0,80})?"  # 0x7f, eth0, 3.5, 10:30
)


@dataclass(frozen=True, slots=True)
class MessageText:
    """A text of a query, its words without values, and what each of them tells."""

    text: str
    tokens: tuple[str, ...]
    after_value: frozenset[int]  # places of words that a value stands before
    places: Mapping[str, Sequence[int]]
    worths: tuple[float, ...]
    worth: float  # of the whole text
    words_worth: float  # of its words without values
    first: Mapping[str, int]  # where each word stands first
    distinct: float  # worth of the distinct words

    @classmethod
    def read(cls, text: str, rarity: Callable[[str], float]) -> MessageText:
        """Read a message; `rarity` says how telling a text is, from 0 to 1."""
        text = text.strip().strip("\"'`")
        tokens, after_value = _split(text)
        places: dict[str, list[int]] = {}
        for at, token in enumerate(tokens):
            of_token = places.setdefault(token, [])
            if len(of_token) < MOST_PLACES:
                of_token.append(at)
        worths = tuple(0.05 + rarity(token) for token in tokens)
        first = {token: rows[0] for token, rows in places.items()}
        return cls(
            text,
            tokens,
            after_value,
            places,
            worths,
            rarity(text),
            rarity(" ".join(tokens)),
            first,
            sum(worths[at] for at in first.values()),
        )

    def stands_in(self, text: str) -> bool:
        return bool(self.text) and self.text in text

    def share_of(self, text: str) -> float:
        """Return the part of the message that the best run of its words in a text makes up.

        A run may skip a word on either side, and anything short where the message has a value:
        long messages are split over lines.
        """
        if len(self.tokens) < LEAST_TOKENS:
            return 0.0
        lowered = text.lower()
        present = (self.worths[at] for token, at in self.first.items() if token in lowered)
        if sum(present) < LEAST_RUN * self.distinct:
            return 0.0  # most texts: a run cannot be longer than the words that are there
        best = 0.0
        runs: dict[int, tuple[int, float]] = {}  # position in the message: where and how much
        for number, token in enumerate(_TOKEN.findall(lowered)):
            for at in self.places.get(token, ()):
                gained = self.worths[at]
                for back in (1, 2):
                    previous = runs.get(at - back)
                    if previous is None:
                        continue
                    kept = self._kept(at, back, number - previous[0])
                    if kept:
                        gained = max(gained, kept * previous[1] + self.worths[at])
                runs[at] = (number, gained)
                best = max(best, gained)
        return best / sum(self.worths)

    def _kept(self, at: int, back: int, distance: int) -> float:
        """Return how much of a run is kept that continues `distance` words later; 0 if none."""
        if back == 1 and at in self.after_value:
            return 1.0 if distance <= 1 + MOST_HOLE_TOKENS else 0.0
        if distance > 2:
            return 0.0
        return 1.0 if back == distance == 1 else SKIP


def telling_terms(message: str) -> tuple[str, ...]:
    """Return the distinct terms of a message without its values; empty if too few are left."""
    tokens, _ = _split(message)
    return tuple(query_terms(" ".join(tokens))) if len(tokens) >= LEAST_TOKENS else ()


def has_values(message: str) -> bool:
    """Return whether a message has something that its source probably has not."""
    return _VALUE.search(message) is not None


def _split(text: str) -> tuple[tuple[str, ...], frozenset[int]]:
    """Return the words of a message without values, and the places that follow a value."""
    tokens: list[str] = []
    after_value: set[int] = set()
    for part in _VALUE.sub("\0", text).split("\0"):
        if tokens:
            after_value.add(len(tokens))
        tokens += [token.lower() for token in _TOKEN.findall(part)]
    return tuple(tokens[:MOST_TOKENS]), frozenset(after_value)
