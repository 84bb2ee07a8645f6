"""Tell whether two entries speak of one subject: what they share, and what tells them apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from commonplace.memory.engine.claims.reading import Claim, Claims, Phrase, Token
from commonplace.memory.engine.lexicon import OPPOSITES_OF, UNITS
from commonplace.memory.engine.subject import find_stated_terms


@dataclass(frozen=True, slots=True)
class ClaimPair:
    """A claim of each of two entries; `shared` are the terms that title and sentence share."""

    entry_a: Claims
    entry_b: Claims
    a: Claim
    b: Claim
    shared: frozenset[str]

    @property
    def has_title(self) -> bool:
        return self.a.is_title or self.b.is_title

    def is_modified_otherwise(
        self, terms: frozenset[str], without: frozenset[str] = frozenset()
    ) -> bool:
        """Say whether one of some terms has another modifier in each entry.

        A title names one of them, or both sentences begin with them. "The Java client" and "the
        Python client" are two things; "rev B" and "rev C" are, too.
        """
        titles = self.entry_a.title.terms | self.entry_b.title.terms
        for part_a, part_b in self._pair_parts():
            for term in terms & part_a.labels.keys() & part_b.labels.keys():
                if not part_a.labels[term] & part_b.labels[term]:
                    return True
            for term in terms & part_a.modifiers.keys() & part_b.modifiers.keys():
                before_a, before_b = part_a.modifiers[term], part_b.modifiers[term]
                own_a = before_a.keys() - self.entry_b.terms - without
                own_b = before_b.keys() - self.entry_a.terms - without
                if not own_a or not own_b or _are_opposites(before_a, before_b):
                    continue
                begin = part_a.first in own_a and part_b.first in own_b
                if begin or (own_a | own_b) & titles:
                    return True
        return False

    def _pair_parts(self) -> Iterator[tuple[Phrase, Phrase]]:
        title_a, title_b = self.entry_a.title, self.entry_b.title
        yield title_a, title_b
        yield self.a.phrase, self.b.phrase
        yield title_a, self.b.phrase
        yield self.a.phrase, title_b


def pair_claims(a: Claims, b: Claims) -> list[ClaimPair]:
    """Return the pairs of claims that share a term, or whose entries share one of the titles."""
    titles_a, titles_b = a.title.terms, b.title.terms
    pairs = []
    for claim_a in a.claims:
        terms = claim_a.terms | titles_a
        for claim_b in b.claims:
            common = terms & (claim_b.terms | titles_b)
            shared = frozenset(t for t in common if t not in UNITS and not t.isdigit())
            if shared:
                pairs.append(ClaimPair(a, b, claim_a, claim_b, shared))
    return pairs


def contents_are_of_two_things(pairs: Sequence[ClaimPair]) -> bool:
    """Say whether sentences behind the titles speak of two things of one name."""
    return any(not pair.has_title and pair.is_modified_otherwise(pair.shared) for pair in pairs)


def _are_opposites(a: Mapping[str, str], b: Mapping[str, str]) -> bool:
    """Say whether modifiers are what is stated: "enable HTTP/2" and "disable HTTP/2"."""
    return any(OPPOSITES_OF.get(word, frozenset()) & set(b.values()) for word in a.values())


def name_two_things(a: Claims, b: Claims) -> bool:
    """Say whether titles differ in one place, in words that only their own entry repeats."""
    words_a = [token for token in a.title.tokens if token.term]
    words_b = [token for token in b.title.tokens if token.term]
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
