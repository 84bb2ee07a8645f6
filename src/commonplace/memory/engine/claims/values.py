"""Find two values of one kind for one subject, and values that only one entry denies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from commonplace.memory.engine.claims.agreement import ClaimPair
from commonplace.memory.engine.claims.kinds import (
    Mention,
    is_named,
    often_has_several,
    terms_of_kind,
    terms_of_value,
)
from commonplace.memory.engine.claims.people import ALONE, MAY, may_do_the_same
from commonplace.memory.engine.claims.reading import Claim, Claims
from commonplace.memory.engine.claims.synonyms import read_word
from commonplace.memory.engine.claims.verdict import (
    MINIMUM_SHARED,
    Opposition,
    make_opposition,
    weigh,
)
from commonplace.memory.engine.lexicon import words
from commonplace.memory.engine.terms import terms_of_name

SURE: Final = 3  # terms from which on other modifiers do not matter
COMMON_TERMS: Final = 4  # of two entries, where their sentences share one
CHANGES: Final = frozenset(("~defect", "~support"))  # "it was fixed" tells what holds
_MINIMUM: Final = re.compile(
    r"(?i)\b(?:(?:or|and) (?:later|newer|higher|above|up)|at least|minimum|minimal\w*|oldest|lowest"
    r"|from .{1,20} on(?:wards)?|deployment target|requires?|ou (?:plus|supérieure?|ultérieure?)"
    r"|et (?:plus|suivante?s|ultérieure?s)|au moins|à partir d|dès|exige|demande)\b|\d\+"
)
PEOPLE: Final = frozenset(("owner", "approver"))
# Of these, an entry that names one only says when the thing happens.
_TIMES: Final = frozenset(("weekday", "clock", "day of month", "deadline"))
# One thing may have several values: "it supports CSV", "it supports Parquet".
_SEVERAL: Final = words("support supports supported accept accepts also aussi accepte acceptent")
# Words of titles about a project as a whole; only entries of one project are compared.
_PROJECT: Final = frozenset(
    term
    for word in words(
        "project code base codebase repo company everywhere all our team live use create new add "
        "set choose setup run work style rule policy default standard tool choice which where how "
        "to what projet code dépôt outil choix règle nouveau ajouter créer asked"
    )
    for term in read_word(word)
)


def find_opposed_values(pair: ClaimPair) -> Iterator[Opposition]:
    """Yield two values of one kind for one subject, of which no entry states both."""
    if not pair.a.mentions or not pair.b.mentions:
        return
    if _name_zones(pair.a) and _name_zones(pair.b):
        return  # 4 h UTC may be 5 h in Paris
    for mention_a in pair.a.mentions:
        for mention_b in pair.b.mentions:
            kind = mention_a.kind
            tells = (pair.a.tells or pair.b.tells) and kind not in CHANGES
            if mention_a.said and (tells or pair.names_two_things):
                continue
            if kind != mention_b.kind or mention_a.denied or mention_b.denied:
                continue
            if kind in _TIMES and pair.a.is_title and pair.b.is_title:
                continue  # titles say when something happened
            if is_named(kind) and _SEVERAL & pair.a.written and _SEVERAL & pair.b.written:
                continue
            stated_a, stated_b = _find_stated(pair.entry_a, kind), _find_stated(pair.entry_b, kind)
            if mention_a.value not in stated_a or mention_b.value not in stated_b:
                continue
            if kind == MAY and not _excludes(pair, mention_a, mention_b):
                continue
            if kind in PEOPLE and pair.has_opposed_bounds:
                continue  # who approves small amounts, and who approves large ones
            if kind.startswith("version of ") and _is_above_minimum(pair, mention_a, mention_b):
                continue
            if stated_a & stated_b or (kind in PEOPLE and _share_word(stated_a, stated_b)):
                continue
            shared = _find_subject(pair, mention_a)
            if shared is not None:
                detail = " against ".join(m.said or m.value for m in (mention_a, mention_b))
                name = "opposite" if mention_a.said else "value"
                known = kind if is_named(kind) else ""
                yield make_opposition(name, pair, detail, shared, 0.5, known_kind=known)


def _find_subject(pair: ClaimPair, mention: Mention) -> frozenset[str] | None:
    """Return the terms of the subject of two values of a kind; None if it is not one subject."""
    kind, related = mention.kind, terms_of_kind(mention.kind)
    values = frozenset().union(
        *(
            terms_of_value(other)
            for entry in (pair.entry_a, pair.entry_b)
            for claim in entry.claims
            for other in claim.mentions
            if other.kind == kind
        )
    )
    whole = pair.shared - values
    shared = whole - related
    entries = pair.entry_a, pair.entry_b
    is_many = often_has_several(kind) and not (
        kind in _TIMES and all(len(_find_stated(entry, kind)) == 1 for entry in entries)
    )
    least = MINIMUM_SHARED + is_many
    if is_many and len(shared) < least:
        return None
    is_said = bool(mention.said and pair.shared & values)
    weight = weigh(shared, pair) + (len(whole) > len(shared) or is_said)
    if weight < least and is_named(kind):
        common = (pair.entry_a.terms & pair.entry_b.terms) - values - related
        weight += sum(not term.isdigit() for term in common) >= COMMON_TERMS
    named = values | related
    enough = bool(shared) and weight >= least
    if not enough and whole:
        enough = pair.is_covered
    if not enough and len(whole) > len(shared):
        enough = _is_of_project(pair.entry_a, named) and _is_of_project(pair.entry_b, named)
    if not enough or (weight < SURE and pair.is_modified_otherwise(shared, named)):
        return None
    return shared


def find_denied_values(pair: ClaimPair) -> Iterator[Opposition]:
    """Yield a value of a kind that one entry denies and the other one states."""
    for mention_a in pair.a.mentions:
        for mention_b in pair.b.mentions:
            key_a, key_b = (mention_a.kind, mention_a.value), (mention_b.kind, mention_b.value)
            if key_a != key_b or mention_a.denied == mention_b.denied or mention_a.said:
                continue
            denying, other = (pair.a, pair.b) if mention_a.denied else (pair.b, pair.a)
            if denying.tells or other.sentence.negations:
                continue
            if denying.makes_exception or other.makes_exception:
                continue
            entries = pair.entry_a, pair.entry_b
            if any(_both_states(entry, *key_a) for entry in entries):
                continue
            values = terms_of_value(mention_a)
            shared = pair.shared - values - terms_of_kind(mention_a.kind)
            if weigh(shared, pair) >= MINIMUM_SHARED and not pair.is_modified_otherwise(shared):
                detail = f"{mention_a.value} is denied"
                yield make_opposition("negation", pair, detail, shared, 0.45)


def _both_states(claims: Claims, kind: str, value: str) -> bool:
    """Say whether an entry both states and denies a value."""
    found = {
        mention.denied
        for claim in claims.claims
        for mention in claim.mentions
        if (mention.kind, mention.value) == (kind, value)
    }
    return len(found) > 1


def _is_of_project(claims: Claims, named: frozenset[str]) -> bool:
    """Say whether a title names no subject but the project: "Licence", "Formatting the code"."""
    return not claims.title.terms - named - _PROJECT


def _share_word(values_a: frozenset[str], values_b: frozenset[str]) -> bool:
    return bool(terms_of_name(" ".join(values_a)) & terms_of_name(" ".join(values_b)))


def _name_zones(claim: Claim) -> bool:
    return {"clock", "zone"} <= {mention.kind for mention in claim.mentions}


def _find_stated(claims: Claims, kind: str) -> frozenset[str]:
    """Return what an entry states; a title only names a topic if sentences state a side."""
    found = {
        is_title: frozenset(
            mention.value
            for claim in claims.claims
            if claim.is_title == is_title
            for mention in claim.mentions
            if mention.kind == kind and not mention.denied
        )
        for is_title in (False, True)
    }
    is_topic = kind.startswith("~") and bool(found[False])
    return found[False] if is_topic else found[False] | found[True]


def _excludes(pair: ClaimPair, a: Mention, b: Mention) -> bool:
    """Say whether somebody alone may do what somebody else may do, too."""
    alone = [m.value.startswith(ALONE) for m in (a, b)]
    if not any(alone) or terms_of_name(a.value) & terms_of_name(b.value) - terms_of_name(ALONE):
        return False
    return may_do_the_same(pair.a.sentence.text, pair.b.sentence.text)


def _is_above_minimum(pair: ClaimPair, a: Mention, b: Mention) -> bool:
    """Say whether one version is a minimum, and the other one, which is none, is not below it."""
    is_least_a, is_least_b = (
        bool(_MINIMUM.search(claim.sentence.text)) for claim in (pair.a, pair.b)
    )
    if is_least_a == is_least_b:
        return False
    least, other = (a, b) if is_least_a else (b, a)
    return _read_version(other.value) >= _read_version(least.value)


def _read_version(value: str) -> tuple[int, ...]:
    return tuple(int(part) for part in value.split(".") if part.isdigit())
