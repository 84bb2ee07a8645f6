"""Count the tokens of a text, never too few.

The count is an upper bound for o200k_base, the vocabulary of current models: whatever fits into a
budget by this count fits into it. English prose and code come out 10 to 40 % above the true count,
other languages further above (ADR 0301).

A text is cut into the pieces that the tokenizer cuts it into. Frequent words and signs are known to
be one token; for another word of n letters the bound follows from the vocabulary: nearly every pair
of letters is a token, so two neighbours are rarely single letters. Any other piece has at most one
token for each byte.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

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
_WORD = re.compile(r"([^A-Za-z]?)(?=[A-Za-z])([A-Z]*)([a-z]*)((?:'[A-Za-z]{1,2})?)")
_NO_PAIRS = re.compile(  # pairs of letters that are no token
    "(?=bq|gk|gq|jv|jz|kq|kz|lq|nq|qf|qg|qj|qk|qv|qz|rj|tq|wq|wz|xg|xj|xk|xq|xv|xw|yq|zj|zq|zv)"
)
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
    extra = 0
    if not text.isascii():
        text, extra = _take_out_other_characters(text)
    costs = _costs()
    if len(costs) > _MOST_KEPT:
        _costs.cache_clear()
        costs = _costs()
    return extra + sum(map(costs.__getitem__, _PIECE.findall(text)))


def _take_out_other_characters(text: str) -> tuple[str, int]:
    """Replace runs with characters outside ASCII by a sign, and count them by character."""
    total = 0

    def replace(run: re.Match[str]) -> str:
        nonlocal total
        if run[0].isascii():
            return run[0]
        total += sum(map(_count_character, run[0]))
        return "\0"

    return _RUN.sub(replace, text), total


def _count_character(character: str) -> int:
    code = ord(character)
    if code < 0x80 or any(first <= code <= last for first, last in _ONE_TOKEN_CHARACTERS):
        return 1
    return 2 if code < 0x800 else 3 if code < 0x10000 else 4


class _PieceCosts(dict[str, int]):
    """Cost of a piece, computed when it is first seen."""

    def __missing__(self, piece: str) -> int:
        cost = self[piece] = self._cost(piece)
        return cost

    def _cost(self, piece: str) -> int:
        if piece.isspace():
            return _count_spaces(piece)
        if piece.isdigit():
            return 1
        word = _WORD.fullmatch(piece)
        if word is None:
            return len(piece)
        prefix, capitals, letters, suffix = word.groups()
        ending = 1 + len(suffix) if suffix else 0
        if prefix in ("", " "):
            return _bound(capitals, letters, after_space=bool(prefix)) + ending
        if not suffix and self.get(capitals + letters) == 1:
            return 2
        return 1 + _bound(capitals, letters) + ending


def _bound(capitals: str, letters: str, *, after_space: bool = False) -> int:
    """Return the most tokens that a word can have."""
    if capitals:
        return len(capitals) + after_space + (_bound("", letters) if letters else 0)
    length = len(letters) + after_space
    rare = len(_NO_PAIRS.findall(letters))
    return min(length, (2 * length + 1 + rare) // 3)


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
    table = resources.files("commonplace.kernel.tokens").joinpath("pieces.txt")
    for line in table.read_text("ascii").splitlines():
        forms, *pieces = line.split(" ")
        if forms == "signs":
            costs.update((piece.encode().decode("unicode_escape"), 1) for piece in pieces)
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
