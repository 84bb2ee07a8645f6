"""Count the tokens of a text, never too few.

The count is an upper bound for o200k_base, the vocabulary of current models: whatever fits into a
budget by this count fits into it. English prose, code and JSON come out 5 to 40 % above the true
count, other languages further above (ADR 0301, ADR 0331).

A text is cut into the pieces that the tokenizer cuts it into. The tokens of frequent pieces are
known. For another piece of n characters the bound follows from the pairs of characters that are
tokens: two neighbours of which the pair is a token are never two tokens of one character each, so
that n characters with r other pairs have at most (2n + 1 + r) / 3 tokens.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_PIECE = re.compile(
    r"""
    [^\r\nA-Za-z0-9]?(?:[A-Z]*[a-z]+|[A-Z]+)(?:'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL]{2}))?
    | [0-9]{1,3}
    | [ ]?[^\sA-Za-z0-9]+[\r\n/]*
    | \s*[\r\n]+
    | \s+(?!\S)
    | \s+
    """,
    re.VERBOSE | re.ASCII,
)
_RUN = re.compile(r"\S+", re.ASCII)
_SIGN = r"!-/:-@\[-`{-~"
_BOUNDARY = re.compile(  # inside a run: here a piece ends, whatever other characters are near
    rf"(?<=[A-Za-z])(?=[{_SIGN}])(?!')"
    rf"|(?<=[A-Za-z{_SIGN}])(?=[0-9])|(?<=[0-9])(?=[A-Za-z{_SIGN}])"
    rf"|(?<=[{_SIGN}]{{2}})(?=[A-Za-z])"
)
_AFTER_SIGN = re.compile(r"[^A-Za-z ]([A-Z]*[a-z]*)")
_ONE_TOKEN_CHARACTERS = (  # ranges in which every character is one token
    (0xA0, 0xDA),
    (0xDC, 0x109),
    (0x3B1, 0x3CE),
    (0x410, 0x44F),
    (0x5D0, 0x5EA),
)
_LONGEST_SPACES = 79  # runs of so many spaces, line breaks and tabs are one token
_LONGEST_BREAKS = 10
_LONGEST_TABS = 20
_MOST_KEPT = 100_000  # pieces; a hostile text must not fill the memory


def count_tokens(text: str) -> int:
    """Return how many tokens a text has at most. Linear in its length."""
    costs = _costs()
    if len(costs) > _MOST_KEPT:
        _costs.cache_clear()
        costs = _costs()
    if text.isascii():
        return sum(map(costs.__getitem__, _PIECE.findall(text)))
    text, runs = _take_out_runs(text)
    return sum(map(costs.__getitem__, _PIECE.findall(text))) + sum(
        sum(map(costs.__getitem__, _PIECE.findall(part)))
        if part.isascii()
        else sum(map(_count_character, part))
        for run in runs
        for part in _BOUNDARY.split(run)
    )


def cut_ascii(text: str) -> list[str]:
    """Return the pieces of a text, without runs that have characters outside ASCII."""
    return _PIECE.findall(text if text.isascii() else _take_out_runs(text)[0])


def _take_out_runs(text: str) -> tuple[str, list[str]]:
    """Replace runs with characters outside ASCII by a sign, and return them."""
    runs: list[str] = []

    def replace(run: re.Match[str]) -> str:
        if run[0].isascii():
            return run[0]
        runs.append(run[0])
        return "\0"

    return _RUN.sub(replace, text), runs


def _count_character(character: str) -> int:
    code = ord(character)
    if code < 0x80 or any(first <= code <= last for first, last in _ONE_TOKEN_CHARACTERS):
        return 1
    return 2 if code < 0x800 else 3 if code < 0x10000 else 4


class _PieceCosts(dict[str, int]):
    """Cost of a piece, computed when it is first seen."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs: frozenset[str] = frozenset()  # of characters that are one token

    def __missing__(self, piece: str) -> int:
        cost = self[piece] = self._cost(piece)
        return cost

    def _cost(self, piece: str) -> int:
        if piece.isspace():
            return min(_count_spaces(piece), self._bound(piece))
        if piece.isdigit():
            return 1
        word = _AFTER_SIGN.fullmatch(piece)
        if word is not None and self.get(word[1]) == 1:
            return 2
        return self._bound(piece)

    def _bound(self, piece: str) -> int:
        """Return the most tokens that a piece can have."""
        pairs = self.pairs
        others = sum(piece[at : at + 2] not in pairs for at in range(len(piece) - 1))
        return min(len(piece), (2 * len(piece) + 1 + others) // 3)


def _count_spaces(piece: str) -> int:
    for character, longest in (
        (" ", _LONGEST_SPACES),
        ("\n", _LONGEST_BREAKS),
        ("\t", _LONGEST_TABS),
    ):
        if piece == character * len(piece):
            return 1 if len(piece) <= longest else -(-4 * len(piece) // longest)
    return len(piece)


@cache
def _costs() -> _PieceCosts:
    costs = _PieceCosts()
    table = Path(__file__).with_name("pieces.txt")  # importlib.resources costs a hook 35 ms
    for line in table.read_text("ascii").splitlines():
        forms, *pieces = line.split(" ")
        if forms == "pairs" or forms.isdigit():  # pieces of so many tokens
            texts = [piece.encode().decode("unicode_escape") for piece in pieces]
            if forms == "pairs":
                costs.pairs = frozenset(texts)
            else:
                costs.update(dict.fromkeys(texts, int(forms)))
            continue
        for piece in pieces:
            if "b" in forms:
                costs[piece] = 1
            if "B" in forms:
                costs[f" {piece}"] = 1
            if "c" in forms:
                costs[piece.capitalize()] = 1
            if "C" in forms:
                costs[f" {piece.capitalize()}"] = 1
    return costs
