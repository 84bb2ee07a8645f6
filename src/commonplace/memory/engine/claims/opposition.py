"""Find claims about one subject that cannot both hold, however they are worded.

They give a thing two values of one kind, two amounts of one attribute, or two names where one is
the only one; or one denies, forbids, switches off, removes or reorders what the other states.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from commonplace.memory.engine.claims.agreement import (
    ClaimPair,
    are_contrasted_by_titles,
    have_other_subjects,
    name_other_components,
    titles_have_other_subjects,
)
from commonplace.memory.engine.claims.parallels import are_of_two_things, find_other_names
from commonplace.memory.engine.claims.quantities import find_opposed_amounts
from commonplace.memory.engine.claims.reading import NOTHING, WITHOUT, Claim, Claims
from commonplace.memory.engine.claims.values import find_denied_values, find_opposed_values
from commonplace.memory.engine.claims.verdict import (
    MANY_SHARED,
    MINIMUM_SHARED,
    Opposition,
    make_opposition,
    weigh,
)
from commonplace.memory.engine.frames import OBLIGATIONS
from commonplace.memory.engine.lexicon import words
from commonplace.memory.engine.terms import terms_of_name

LEAST_WORD: Final = 5  # letters of a word with a denying prefix
_STRONG: Final = re.compile(
    r"(?i)\b(?:allowed|permitted|fine|welcome|ok|okay|free|autorisée?s?|permise?s?|forbidden"
    r"|prohibited|banned|disallowed|refuses?|may not|must not|mustn['\u2019]t|interdite?s?)\b"
)
_STILL: Final = words("still encore toujours")
_PAST: Final = words("was were had used until étaient était avait")
# "On" and "off" are states behind some words only: "on merge" and "off the shelf" are none.
_STATE: Final = r"\b(?:is|are|be|it|stays?|remains?|turned|switched|set|left|kept|mode|now|flag)"
_ON: Final = re.compile(
    r"\b(?:enabled?|enables|true|active|activated|activée?s?|actif|allumée?)\b"
    rf"|{_STATE} on\b|\bon (?:in|for|at|by default)\b|\bon\.?$"
)
_OFF: Final = re.compile(
    r"\b(?:disabled?|disables|false|inactive|deactivated|désactivée?s?|inactif|coupée?)\b"
    rf"|{_STATE} off\b|\boff (?:in|for|at|by default)\b|\boff\.?$"
)


Rule = Callable[[ClaimPair], Iterator[Opposition]]


def find_opposition(pairs: Sequence[ClaimPair], *, with_denials: bool) -> Opposition | None:
    """Return the strongest opposition among the claims of two entries, or None."""
    rules: list[Rule] = [
        find_opposed_values,
        find_opposed_amounts,
        find_other_names,
        _find_opposed_names,
    ]
    if with_denials:
        rules += [
            find_denied_values,
            _find_denials,
            _find_removals,
            _find_opposed_states,
            _find_opposed_orders,
        ]
    found = [
        opposition
        for pair in pairs
        if not pair.is_contrasted
        for rule in rules
        for opposition in rule(pair)
        if not are_of_two_things(pair, opposition.kind)
    ]
    if found:
        found = _keep_of_one_subject(found, pairs[0].entry_a, pairs[0].entry_b)
    return max(found, key=lambda opposition: opposition.strength, default=None)


def _keep_of_one_subject(found: list[Opposition], a: Claims, b: Claims) -> list[Opposition]:
    """Return the oppositions that hold although titles may name two things.

    Two values of a table say more than other claims, unless both titles state one or an entry
    sets the other thing apart.
    """
    if are_contrasted_by_titles(a, b) or name_other_components(a, b):
        return []
    in_titles = _find_kinds(a) & _find_kinds(b)
    if have_other_subjects(a, b):
        is_apart = any(claim.is_aside for entry in (a, b) for claim in entry.claims)
        return [
            one for one in found if one.known_kind and not (is_apart or one.known_kind in in_titles)
        ]
    if in_titles and titles_have_other_subjects(a, b):
        return [one for one in found if one.known_kind and one.known_kind not in in_titles]
    return found


def _find_kinds(claims: Claims) -> frozenset[str]:
    """Return the kinds of which a title states a value."""
    mentions = (mention for claim in claims.claims if claim.is_title for mention in claim.mentions)
    return frozenset(mention.kind for mention in mentions)


def denies_other(a: Claim, b: Claim) -> bool:
    """Say whether one sentence denies something that the other one says.

    "No." alone denies all of it; "Without a key, ..." is a condition.
    """
    denying, other = (a, b) if a.sentence.negations else (b, a)
    if _have_other_numbers(a, b):
        return False
    if not denying.denied:
        return not (denying.phrase.tokens and denying.phrase.tokens[0].written in WITHOUT)
    return bool(denying.denied & other.terms)


def _have_other_numbers(a: Claim, b: Claim) -> bool:
    """Say whether two sentences are about two numbers: TLS 1.0 and TLS 1.2."""
    numbers_a, numbers_b = ({q.value for q in claim.sentence.numbers} for claim in (a, b))
    return bool(numbers_a and numbers_b and not numbers_a & numbers_b)


def _find_opposed_names(pair: ClaimPair) -> Iterator[Opposition]:
    """Yield sentences with a name of their own each, of which one says that it is the only one."""
    if pair.has_title:
        return  # in a title most words have capitals
    if not (pair.a.is_exclusive or pair.b.is_exclusive):
        return
    for claim in (pair.a, pair.b):
        if claim.makes_exception or claim.tells or claim.sentence.negations:
            return
    own_a = {name for name in pair.a.names if not terms_of_name(name) & pair.entry_b.terms}
    own_b = {name for name in pair.b.names if not terms_of_name(name) & pair.entry_a.terms}
    if not own_a or not own_b:
        return
    names = terms_of_name(" ".join(own_a | own_b))
    shared = pair.shared - names
    if len(shared) >= MANY_SHARED and not pair.is_modified_otherwise(shared, names):
        detail = f"{min(own_a)} against {min(own_b)}"
        yield make_opposition("value", pair, detail, shared, 0.4)


def _find_denials(pair: ClaimPair) -> Iterator[Opposition]:
    denied_a = (pair.a.denied & pair.b.terms) - pair.b.denied
    denied_b = (pair.b.denied & pair.a.terms) - pair.a.denied
    if not denied_a | denied_b or (denied_a and denied_b) or pair.begin_otherwise:
        return
    if pair.a.makes_exception or pair.b.makes_exception:
        return
    denying, other = (pair.a, pair.entry_b) if denied_a else (pair.b, pair.entry_a)
    if denying.tells:
        return
    if _have_other_numbers(pair.a, pair.b) or _have_other_objects(
        pair.a, pair.b, denied_a | denied_b
    ):
        return
    shared = pair.shared
    subject = shared - denied_a - denied_b
    if not denying.is_title and not subject & pair.a.terms & pair.b.terms:
        return  # "There is no limit on their side": nothing but what it denies is common
    least = MINIMUM_SHARED if _begins_with_shared(denying, other) else MANY_SHARED + 1
    least -= pair.is_covered
    if weigh(subject, pair) >= least and not pair.is_modified_otherwise(
        shared | denied_a | denied_b
    ):
        detail = "one denies what the other states"
        yield make_opposition("negation", pair, detail, subject, 0.45)


def _have_other_objects(a: Claim, b: Claim, verbs: frozenset[str]) -> bool:
    """Say whether a denied word has another object: "supports JSON", "does not support XML"."""
    objects_a, objects_b = _find_objects(a, verbs) - b.terms, _find_objects(b, verbs) - a.terms
    return bool(objects_a and objects_b)


def _find_objects(claim: Claim, verbs: frozenset[str]) -> set[str]:
    return {
        behind.term for token, behind in pairwise(claim.phrase.tokens) if token.term in verbs
    } - {""}


def _begins_with_shared(claim: Claim, other: Claims) -> bool:
    """Say whether the subject of a sentence, its first word that counts, is one of the other's."""
    tokens = claim.phrase.tokens
    first = next(
        (token.term for token in tokens if token.term and token.written not in NOTHING), ""
    )
    return first in other.terms


def _find_removals(pair: ClaimPair) -> Iterator[Opposition]:
    if pair.has_title:
        return  # a title says too little of when it holds
    if not (_removes(pair.a, pair.b) or _removes(pair.b, pair.a)):
        return
    shared = pair.shared
    removed = pair.a.removed | pair.b.removed
    if not pair.is_modified_otherwise(shared - removed):
        yield make_opposition("negation", pair, "one says that it was removed", shared, 0.45)


def _removes(claim: Claim, other: Claim) -> bool:
    """Say whether a sentence says that something was removed that the other one still uses."""
    if len(claim.removed) < MINIMUM_SHARED or other.removed:
        return False
    if other.sentence.negations and not _STILL & other.written:
        return False
    return claim.removed <= other.terms and not _PAST & other.written


def _find_opposed_states(pair: ClaimPair) -> Iterator[Opposition]:
    """Yield what is on and off, sensitive and insensitive, allowed and forbidden."""
    if pair.a.makes_exception or pair.b.makes_exception:
        return
    shared = pair.shared
    if pair.a.sentence.phases != pair.b.sentence.phases and len(shared) <= MANY_SHARED:
        return
    if len(shared) < MINIMUM_SHARED:
        return
    state = _find_opposed_words(pair.a, pair.b) or _find_opposed_words(pair.b, pair.a)
    permission = _is_permission_denied(pair.a, pair.b) or _is_permission_denied(pair.b, pair.a)
    texts = pair.a.sentence.text, pair.b.sentence.text
    least = MANY_SHARED + (not all(_STRONG.search(text) for text in texts))
    least = MINIMUM_SHARED if pair.is_covered else least
    if not state and (pair.begin_otherwise or not (permission and len(shared) >= least)):
        return
    if not state and pair.a.amounts and pair.b.amounts:
        return  # never below 3, and up to 12
    if not pair.is_modified_otherwise(shared):
        detail = state or "allowed against forbidden"
        yield make_opposition("opposite", pair, detail, shared, 0.45)


def _find_opposed_words(claim: Claim, other: Claim) -> str:
    """Return how a sentence and one with the opposite word differ; empty if they do not."""
    if claim.sentence.negations or other.sentence.negations or claim.tells or other.tells:
        return ""
    ours, theirs = claim.written, other.written
    text, other_text = claim.sentence.text.casefold(), other.sentence.text.casefold()
    is_on = _ON.search(text) and not _OFF.search(text)
    if is_on and _OFF.search(other_text) and not _ON.search(other_text):
        return "on against off"
    for word in ours - theirs:
        head, hyphen, tail = word.rpartition("-")
        for prefix in ("in", "un", "im", "non-"):
            opposite = f"{head}{hyphen}{prefix}{tail}"
            if len(tail) >= LEAST_WORD and opposite in theirs:
                return f"{word} against {opposite}"
    return ""


def _is_permission_denied(claim: Claim, other: Claim) -> bool:
    return claim.permits and not claim.forbids and other.forbids and not other.permits


def _find_opposed_orders(pair: ClaimPair) -> Iterator[Opposition]:
    """Yield one step before another, and after it, if that is a rule or titles share a subject."""
    one, other = pair.a.order, pair.b.order
    if pair.a.sentence.opposites != pair.b.sentence.opposites:
        return  # two steps: switched off before, and on after
    if one is None or other is None or one.first_is_earlier == other.first_is_earlier:
        return
    if not (
        pair.entry_a.title.terms & pair.entry_b.title.terms
        or OBLIGATIONS & (pair.a.written | pair.b.written)
    ):
        return
    if one.first & other.first and one.second & other.second and not one.first & other.second:
        detail = "before against after"
        yield make_opposition("opposite", pair, detail, one.first & other.first, 0.5)
