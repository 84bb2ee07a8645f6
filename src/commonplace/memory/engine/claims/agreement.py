"""Tell whether two entries speak of one subject: what they share, and what tells them apart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from commonplace.memory.engine.claims.amounts import is_quantity
from commonplace.memory.engine.claims.contrasts import are_contrasted
from commonplace.memory.engine.claims.people import MAY
from commonplace.memory.engine.claims.reading import Claim, Claims, Phrase, Token
from commonplace.memory.engine.claims.synonyms import read_word
from commonplace.memory.engine.lexicon import OPPOSITES_OF, UNITS, words
from commonplace.memory.engine.subject import find_stated_terms

_COMPOUND: Final = re.compile(r"[^\W\d_][\w.]*(?:[-_/][\w.]+)+")
_MOST_WORDS: Final = 3  # in which titles of one form differ
# Words of titles that say what is stated of the subject, or nothing.
_GENERAL: Final = words(
    "our the which what where how who why often long when much many may can must does do we "
    "team project store platform service system tool tools tooling stack backend provider "
    "engine solution choice policy rule rules setting "
    "settings default current standard setup usage overview note notes decision convention "
    "conventions guideline guidelines preference layout place location kind type format formats "
    "time times length lengths duration period interval frequency rhythm cadence schedule limit "
    "limits maximum minimum max min size number amount quota rate retention lifetime expiry "
    "timeout timeouts version versions owner owners ownership lead contact contacts responsible "
    "approval approvals approving requirement requirements name names naming "
    "status state history value values level day days hours date quel quelle qui où comment "
    "combien choix "
    "outil outils règle règles politique durée délai limite taille nombre fréquence rythme "
    "version responsable propriétaire référent contact format lieu jour jours horaires seuil "
    "validation approbation conservation plafond storage stored stockage stockés stockées kept "
    "hosting "
    "hébergement référente pilote"
)
_BOUNDS: Final = {
    True: words("least minimum min below fewer under less moins"),
    False: words("most maximum max up above over more plus"),
}
_GENERAL_TERMS: Final = frozenset(term for word in _GENERAL for term in read_word(word))
_EXTENDED: Final = re.compile(r"(\w+(?:[-_.]\w+)*)[-_.]([a-z]\w*)")  # a name and its last part
_PART: Final = re.compile(
    r"(?i) (?:of|for|in|on|de|du|des|pour|en) (?:the |la |le |les |our )?(\w+)$"
)
_SUBJECT_WORDS: Final = 2  # of a title, behind what it shares with the other one


@dataclass(frozen=True, slots=True)
class ClaimPair:
    """A claim of each of two entries; `shared` are the terms that title and sentence share."""

    entry_a: Claims
    entry_b: Claims
    a: Claim
    b: Claim
    shared: frozenset[str]
    is_covered: bool  # each entry says what the title of the other one names

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

    @property
    def names_two_things(self) -> bool:
        """Say whether each sentence has a name of its own: the connector Alpha, the one of Beta."""
        own_a = {name for name in self.a.names if not read_terms(name) & self.entry_b.terms}
        own_b = {name for name in self.b.names if not read_terms(name) & self.entry_a.terms}
        return bool(own_a and own_b)

    @property
    def begin_otherwise(self) -> bool:
        """Say whether each sentence begins with who or what only its own entry speaks of."""
        first_a, first_b = self.a.phrase.first, self.b.phrase.first
        return bool(
            first_a
            and first_b
            and first_a not in self.entry_b.terms
            and first_b not in self.entry_a.terms
        )

    @property
    def has_opposed_bounds(self) -> bool:
        """Say whether one sentence has a lower bound, and the other one an upper one."""
        bounds_a, bounds_b = _find_bounds(self.a.written), _find_bounds(self.b.written)
        return bool(bounds_a and bounds_b and not bounds_a & bounds_b)

    @property
    def is_contrasted(self) -> bool:
        """Say whether each entry names another one of two things: the reader and the editor."""
        all_a, all_b = self.entry_a.contrasts, self.entry_b.contrasts
        title_a, title_b = self.entry_a.title_contrasts, self.entry_b.title_contrasts
        # What a title states is often told in full behind it: "on the team plan".
        part_a = all_a if self.a.is_title else self.a.contrasts | title_a
        part_b = all_b if self.b.is_title else self.b.contrasts | title_b
        return are_contrasted(title_a, part_b, all_a, all_b) or are_contrasted(
            part_a, title_b, all_a, all_b
        )

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
    is_covered = cover_titles(a, b)
    for claim_a in a.claims:
        if claim_a.is_aside:
            continue
        terms = claim_a.terms | titles_a
        for claim_b in b.claims:
            if claim_b.is_aside:
                continue
            common = terms & (claim_b.terms | titles_b)
            shared = frozenset(t for t in common if t not in UNITS and not t.isdigit())
            if shared:
                pairs.append(ClaimPair(a, b, claim_a, claim_b, shared, is_covered))
    return pairs


def contents_are_of_two_things(pairs: Sequence[ClaimPair]) -> bool:
    """Say whether sentences behind the titles speak of two things of one name."""
    return any(not pair.has_title and pair.is_modified_otherwise(pair.shared) for pair in pairs)


def _find_bounds(written: frozenset[str]) -> frozenset[bool]:
    return frozenset(is_low for is_low, signs in _BOUNDS.items() if written & signs)


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
    if max(len(other_a), len(other_b)) > _MOST_WORDS:  # two sentences: compare their subjects
        other_a, other_b = other_a[:_SUBJECT_WORDS], other_b[:_SUBJECT_WORDS]
    if any(part[0].written.endswith("ing") for part in (other_a, other_b)):
        return False  # what is done with the subject: "Retrying refunds"
    mentions = (m for claims in (a, b) for claim in claims.claims for m in claim.mentions)
    values = {mention.value for mention in mentions if mention.kind != MAY}
    return _repeats_own(other_a, a, b, values) and _repeats_own(other_b, b, a, values)


def name_whole_and_part(a: Claims, b: Claims) -> bool:
    """Say whether one entry is about something named after what the other one is about.

    "shipments" and "shipments-dlq" are two queues, "the pool" and "the pool of the replica" are two
    pools.
    """
    return any(
        _extends_name(own, other) or _extends_title(own, other) for own, other in ((a, b), (b, a))
    )


def _extends_name(own: Claims, other: Claims) -> bool:
    others = {token.written for token in other.title.tokens}
    for token in own.title.tokens:
        match = _EXTENDED.fullmatch(token.written)
        if match is None or match[1] not in others or token.written in _all_written(other):
            continue
        if match[2] not in _all_written(other):
            return True
    return False


def _all_written(claims: Claims) -> frozenset[str]:
    return frozenset().union(*(claim.written for claim in claims.claims))


def _extends_title(own: Claims, other: Claims) -> bool:
    """Say whether a title is that of the other entry, and a part of it: "of the replica"."""
    if not other.title.terms or not other.title.terms < own.title.terms:
        return False
    match = _PART.search(own.title_text)
    if match is None or other.title.terms & read_terms(match[1]):
        return False
    part = read_terms(match[1]) - _GENERAL_TERMS
    return bool(part & own.content) and not part & other.terms


def are_contrasted_by_titles(a: Claims, b: Claims) -> bool:
    """Say whether titles name two things that words tell apart, even if an entry names both."""
    title_a, title_b = a.title_contrasts, b.title_contrasts
    return are_contrasted(title_a, title_b, title_a, title_b)


def cover_titles(a: Claims, b: Claims) -> bool:
    """Say whether each entry says what the title of the other one names, but for a word.

    Of a title one word may be unsaid if its own entry does not repeat it, either.
    """
    unsaid_a, unsaid_b = _find_unsaid(a, b), _find_unsaid(b, a)
    if unsaid_a is None or unsaid_b is None or (unsaid_a and unsaid_b):
        return False
    more = [*unsaid_a, *unsaid_b]
    return not more or (len(more) == 1 and not set(more[0].terms) & (a if unsaid_a else b).content)


def _find_unsaid(own: Claims, other: Claims) -> list[Token] | None:
    """Return what a title names and the other entry does not say; None if it says nothing."""
    said = other.terms | own.values | find_stated_terms(own.title_text)
    named = [
        token
        for token in own.title.tokens
        if token.term and token.written not in _GENERAL and not is_quantity(token.written)
    ]
    unsaid = [token for token in named if said.isdisjoint(token.terms)]
    return unsaid if len(unsaid) < len(named) else None


def have_other_subjects(a: Claims, b: Claims) -> bool:
    """Say whether each title has a word that its entry repeats and the other one never says.

    "Metrics are kept 18 months" and "Traces expire after 72 hours" are about two things, whatever
    else they share. A word that the other entry only sets apart counts as not said; values and
    words that say no more than their kind do not count.
    """
    stated = a.values | b.values
    return _has_own_subject(a, b, stated) and _has_own_subject(b, a, stated)


def name_other_components(a: Claims, b: Claims) -> bool:
    """Say whether each title has a compound name of its own: billing-cron and billing-api.

    Its entry repeats it and the other one never says it, so whatever both state is of two things.
    """
    stated = a.values | b.values
    return _has_own_component(a, b, stated) and _has_own_component(b, a, stated)


def titles_have_other_subjects(a: Claims, b: Claims) -> bool:
    """Say whether titles go on otherwise behind a word they share: recipe texts, recipe orders."""
    values = a.values | b.values
    for term in a.title.followers.keys() & b.title.followers.keys():
        own_a = a.title.followers[term].keys() - b.terms - values
        own_b = b.title.followers[term].keys() - a.terms - values
        if own_a and own_b:
            return True
    return False


def _has_own_subject(own: Claims, other: Claims, values: frozenset[str]) -> bool:
    """Say whether a title names what only its own entry speaks of."""
    without = other.terms | values | find_stated_terms(own.title_text)
    return any(
        token.term in own.content
        and not without & set(token.terms)
        and not is_quantity(token.written)
        and token.written not in OPPOSITES_OF
        for token in own.title.tokens
        if token.term
    )


def _has_own_component(own: Claims, other: Claims, values: frozenset[str]) -> bool:
    without = other.terms | values | find_stated_terms(own.title_text)
    return any(
        _COMPOUND.fullmatch(token.written) is not None and token.term in own.content - without
        for token in own.title.tokens
    )


def _repeats_own(other: Sequence[Token], own: Claims, theirs: Claims, values: set[str]) -> bool:
    stated = find_stated_terms(own.title_text)
    return any(
        word.term in own.content - theirs.terms - stated - UNITS.keys()
        and word.written not in values
        and word.written not in OPPOSITES_OF
        and not word.written[0].isdigit()
        for word in other
    )


def read_terms(name: str) -> frozenset[str]:
    """Return the terms of a name."""
    return frozenset(read_word(name.casefold()))
