"""Find citations in a text: `[01HX123] Fix CORS Safari`, the format of `rekall_help`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

SHORTEST_ID = 4  # the guide itself cites [01HX]
_BRACKETS = re.compile(r"\[([^\[\]]{4,400})\]")
# An id starts with its time, so with 0 for the next centuries; a year or a footnote does not.
# Letters that ids do not have, and more than their length, are found too: an invented id often has
# them. Small letters are those of a whole id. Numbers such as 0XFF are code.
_ID = re.compile(
    r"(?:memory:)?(?!0X[0-9A-F]+\Z|0B[01]+\Z)"
    r"(0(?=[0-9A-Z]{0,39}[A-Z])[0-9A-Z]{3,39}|0(?=[0-9]{0,24}[A-Za-z])[0-9A-Za-z]{25})"
)
_COMMA = re.compile(r"\s*[,;]\s*")
_SEPARATORS = " \t*_|\u2013\u2014-"  # between an id and its title, also in a table
_MARKUP = re.compile(r"[*_`\"'«»“”]+")
_END = re.compile(r"[,.;:!?](?=[\s.]|$)|[()\[\]…|]")  # not the dot of `Store.add`
_SHORTENED = re.compile(r"\s*(?:\.\.\.|…)")
TITLE_CHARACTERS = 200  # of what follows a citation
LEAST_WORDS = 2  # of a shortened title


@dataclass(frozen=True, slots=True)
class Citation:
    """An id in a text, where it is, and what follows it on the line."""

    reference: str
    line: int
    column: int
    following: str

    @property
    def claimed_title(self) -> str:
        """Return the title that seems to be claimed; empty if the text only goes on."""
        words = _clean(_END.split(self.following, maxsplit=1)[0]).split()
        is_title = bool(words) and not words[0][0].islower()
        return " ".join(words) if is_title else ""

    def names(self, title: str) -> bool:
        """Say whether the title, or the beginning of it, follows; also if no title does."""
        claimed, wanted = self.claimed_title.casefold(), _clean(title).casefold()
        if not claimed:
            return True
        if _clean(self.following).casefold().startswith(wanted):
            return True
        is_word_cut = wanted[len(claimed) :][:1].isalnum()
        is_beginning = wanted.startswith(claimed) and not is_word_cut
        cut = _END.search(self.following)
        is_cut = cut is not None and _SHORTENED.match(self.following, cut.start()) is not None
        return (is_beginning and len(claimed.split()) >= LEAST_WORDS) or (
            is_cut and wanted.startswith(claimed)
        )


def find_citations(text: str) -> Iterator[Citation]:
    """Yield the citations of a text in order, lines and columns from 1.

    Several ids in the same brackets are as many citations, and claim no title.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        for found in _BRACKETS.finditer(line):
            parts = _COMMA.split(found[1].strip())
            following = line[found.end() : found.end() + TITLE_CHARACTERS].lstrip(_SEPARATORS)
            for part in parts:
                if (id_ := _ID.fullmatch(part)) is not None:
                    title = following if len(parts) == 1 else ""
                    yield Citation(id_[1], number, found.start() + 1, title)


def _clean(text: str) -> str:
    return " ".join(_MARKUP.sub("", text).split()).lstrip(_SEPARATORS)
