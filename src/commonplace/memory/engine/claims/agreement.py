"""Tell whether two entries speak of one subject: what they share, and what tells them apart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Final

from commonplace.memory.engine.claims.reading import Claim, Claims, Token
from commonplace.memory.engine.lexicon import OPPOSITES_OF, UNITS, words
from commonplace.memory.engine.subject import find_stated_terms

_LABEL: Final = re.compile("[b-z]")
# Words before a noun that do not tell it from another of its name.
_PLAIN: Final = words(
    "use uses using run runs keep keeps call calls set sets write writes read reads need needs "
    "make makes take takes add adds see work works want new old every each any all only same one "
    "two first last next still now should would chaque même seul seule encore nouveau nouvelle"
)

Parts = tuple[Sequence[Token], Sequence[Token]]


def shared_subject(
    a: Claims, b: Claims, claim_a: Claim, claim_b: Claim, without: frozenset[str] = frozenset()
) -> frozenset[str]:
    """Return the terms that both title and sentence share with the other's."""
    terms_a = claim_a.terms | a.title_terms
    terms_b = claim_b.terms | b.title_terms
    return frozenset(
        term for term in (terms_a & terms_b) - without if term not in UNITS and not term.isdigit()
    )


def is_modified_otherwise(
    a: Claims,
    b: Claims,
    claim_a: Claim,
    claim_b: Claim,
    shared: frozenset[str],
    without: frozenset[str] = frozenset(),
) -> bool:
    """Say whether a shared word has another modifier in each entry.

    A title names one of them, or both sentences begin with them.
    "The Java client" and "the Python client" are two things; "rev B" and "rev C" are, too.
    """
    titles = a.title_terms | b.title_terms
    for part_a, part_b in _parts(a, b, claim_a, claim_b):
        for term in shared:
            labels_a, labels_b = _labels(part_a, term), _labels(part_b, term)
            if labels_a and labels_b and not labels_a & labels_b:
                return True
            modifiers_a, modifiers_b = _modifiers(part_a, term), _modifiers(part_b, term)
            if _are_opposites(modifiers_a, modifiers_b):
                continue
            own_a = modifiers_a.keys() - b.terms - without
            own_b = modifiers_b.keys() - a.terms - without
            if not own_a or not own_b:
                continue
            begin = part_a[0].term in own_a and part_b[0].term in own_b
            if begin or (own_a | own_b) & titles:
                return True
    return False


def contents_are_of_two_things(a: Claims, b: Claims) -> bool:
    """Say whether sentences behind the titles speak of two things of one name."""
    return any(
        is_modified_otherwise(a, b, claim_a, claim_b, shared_subject(a, b, claim_a, claim_b))
        for claim_a in a.claims
        for claim_b in b.claims
        if not claim_a.is_title and not claim_b.is_title
    )


def _parts(a: Claims, b: Claims, claim_a: Claim, claim_b: Claim) -> Iterator[Parts]:
    yield a.title, b.title
    yield claim_a.tokens, claim_b.tokens
    yield a.title, claim_b.tokens
    yield claim_a.tokens, b.title


def _labels(tokens: Sequence[Token], term: str) -> set[str]:
    """Return the letters right behind a term."""
    return {
        behind.written
        for token, behind in pairwise(tokens)
        if token.term == term and _LABEL.fullmatch(behind.written)
    }


def _modifiers(tokens: Sequence[Token], term: str) -> dict[str, str]:
    """Return the words right before a term as they are written, by their terms."""
    return {
        before.term: before.written
        for before, token in pairwise(tokens)
        if token.term == term
        and before.term not in ("", term)
        and before.written not in _PLAIN
        and not before.term.isdigit()
    }


def _are_opposites(a: Mapping[str, str], b: Mapping[str, str]) -> bool:
    """Say whether modifiers are what is stated: "enable HTTP/2" and "disable HTTP/2"."""
    return any(OPPOSITES_OF.get(word, frozenset()) & set(b.values()) for word in a.values())


def name_two_things(a: Claims, b: Claims) -> bool:
    """Say whether titles differ in one place, in words that only their own entry repeats."""
    words_a = [token for token in a.title if token.term]
    words_b = [token for token in b.title if token.term]
    terms_a, terms_b = [token.term for token in words_a], [token.term for token in words_b]
    if not set(terms_a) & set(terms_b):
        return False
    changes = [
        change
        for change in SequenceMatcher(None, terms_a, terms_b, autojunk=False).get_opcodes()
        if change[0] != "equal"
    ]
    if len(changes) != 1 or changes[0][0] != "replace":
        return False
    _, start_a, end_a, start_b, end_b = changes[0]
    other_a, other_b = words_a[start_a:end_a], words_b[start_b:end_b]
    if any(part[0].written.endswith("ing") for part in (other_a, other_b)):
        return False  # what is done with the subject: "Retrying refunds"
    values = {m.value for claims in (a, b) for claim in claims.claims for m in claim.mentions}
    return _repeats_own(other_a, a, b, values) and _repeats_own(other_b, b, a, values)


def _repeats_own(other: Sequence[Token], own: Claims, theirs: Claims, values: set[str]) -> bool:
    stated = find_stated_terms(own.title_text)
    return any(
        word.term in own.content - theirs.terms - stated - UNITS.keys()
        and word.written not in values
        and word.written not in OPPOSITES_OF
        and not word.written[0].isdigit()
        for word in other
    )
