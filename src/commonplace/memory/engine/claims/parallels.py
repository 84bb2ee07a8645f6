"""Compare sentences of one form: about two things, or alike but for one place.

"60 calls per minute per user" and "300 calls per minute per address" are two limits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from commonplace.memory.engine.claims.agreement import ClaimPair
from commonplace.memory.engine.claims.amounts import is_quantity, is_unit
from commonplace.memory.engine.claims.reading import Claims, Token
from commonplace.memory.engine.claims.verdict import Opposition, make_opposition
from commonplace.memory.engine.lexicon import OPPOSITES_OF
from commonplace.search.lexical.text import is_stop_word

_LEAST_ALIKE: Final = 0.6  # of the shorter sentence: below it, they are not of one form
_MOST_WORDS: Final = 2  # of a place in which they differ
_LEAST_TERMS: Final = 4  # around the only place in which they differ
_LABEL: Final = re.compile(r"[a-z]\d{0,2}")  # "the S panel", "API v2"
_NAME: Final = re.compile(r"[A-ZÉ][a-zé]+")


@dataclass(frozen=True, slots=True)
class Change:
    """A place in which two sentences of one form differ; a side is empty if it says more."""

    a: tuple[Token, ...]
    b: tuple[Token, ...]

    @property
    def is_short(self) -> bool:
        """Say whether a few words of one stand where a few words of the other one do."""
        return bool(self.a and self.b) and max(len(self.a), len(self.b)) <= _MOST_WORDS

    @property
    def is_label(self) -> bool:
        """Say whether one label stands for another one: v1 and v2."""
        return all(_LABEL.fullmatch(token.written) for token in self.a + self.b)


def are_of_two_things(pair: ClaimPair, kind: str) -> bool:
    """Say whether sentences that disagree in a number or a value differ in their subject, too."""
    if kind not in ("number", "value"):
        return False
    changes = [change for change in _compare_words(pair) if change.is_short]
    if any(change.is_label for change in changes):
        return True
    values = {word for entry in (pair.entry_a, pair.entry_b) for word in _list_value_words(entry)}
    subjects = sum(
        _names_something(change.a, pair.entry_b, values)
        and _names_something(change.b, pair.entry_a, values)
        for change in changes
    )
    return subjects > (kind == "value")  # one of the places is that of the value


def state_one_subject(pair: ClaimPair) -> bool:
    """Say whether two sentences are the same but for numbers, and say enough of their subject."""
    changes = _compare_words(pair)
    if len(pair.a.terms & pair.b.terms) < _LEAST_TERMS or not changes:
        return False
    return all(_is_measured(token.written) for change in changes for token in change.a + change.b)


def find_other_names(pair: ClaimPair) -> Iterator[Opposition]:
    """Yield two names of one place of a sentence, in entries of one title: who does something."""
    title, terms = pair.entry_a.title.terms, pair.a.terms & pair.b.terms
    if pair.has_title or title != pair.entry_b.title.terms or not title & terms:
        return
    names = [c for c in _compare_words(pair) if all(token.term for token in c.a + c.b)]
    if len(names) != 1 or len(names[0].a) != 1 or len(names[0].b) != 1:
        return
    (name_a,), (name_b,) = names[0].a, names[0].b
    written = [
        _find_name(claim.sentence.text, name.written)
        for claim, name in ((pair.a, name_a), (pair.b, name_b))
    ]
    if all(written) and len(terms) >= _LEAST_TERMS:
        yield make_opposition("value", pair, " against ".join(written), pair.shared, 0.5)


def _compare_words(pair: ClaimPair) -> list[Change]:
    """Return the places in which two sentences of one form differ; none if they are of two."""
    words_a, words_b = (
        [token for token in claim.phrase.tokens if token.written[0].isalnum()]
        for claim in (pair.a, pair.b)
    )
    changes = SequenceMatcher(
        None, [t.written for t in words_a], [t.written for t in words_b], autojunk=False
    ).get_opcodes()
    alike = sum(end - start for change, start, end, _, _ in changes if change == "equal")
    if alike < _LEAST_ALIKE * min(len(words_a), len(words_b)):
        return []
    return [
        Change(tuple(words_a[start_a:end_a]), tuple(words_b[start_b:end_b]))
        for change, start_a, end_a, start_b, end_b in changes
        if change != "equal"
    ]


def _list_value_words(entry: Claims) -> set[str]:
    """Return the words of the values that an entry states or denies."""
    return {
        word
        for claim in entry.claims
        for mention in claim.mentions
        for word in mention.value.split()
    }


def _names_something(part: Sequence[Token], other: Claims, values: set[str]) -> bool:
    """Say whether a part names something that is no value and that the other entry never says."""
    return any(
        token.term
        and other.terms.isdisjoint(token.terms)
        and token.written not in values
        and token.written not in OPPOSITES_OF
        and not is_stop_word(token.written)
        and not _is_measured(token.written)
        for token in part
    )


def _is_measured(word: str) -> bool:
    return is_quantity(word) or is_unit(word)


def _find_name(text: str, written: str) -> str:
    """Return a word as written in a sentence if it is a capitalised name; else an empty string."""
    for name in _NAME.findall(text):
        if name.casefold() == written:
            return str(name)
    return ""
