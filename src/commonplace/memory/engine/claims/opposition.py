"""Find claims about one subject that cannot both hold, however they are worded.

They give a thing two values of one kind, two amounts of one attribute, or two names where one is
the only one; or one denies, forbids, switches off, removes or reorders what the other states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from commonplace.memory.engine.claims.agreement import (
    is_modified_otherwise,
    name_two_things,
    shared_subject,
)
from commonplace.memory.engine.claims.amounts import COUNT
from commonplace.memory.engine.claims.kinds import (
    Mention,
    often_has_several,
    terms_of_kind,
    terms_of_value,
)
from commonplace.memory.engine.claims.reading import WITHOUT, Claim, Claims
from commonplace.memory.engine.frames import OBLIGATIONS
from commonplace.memory.engine.lexicon import words
from commonplace.memory.engine.sentences import Sentence
from commonplace.memory.engine.terms import terms_of_name

MINIMUM_SHARED: Final = 2  # terms that name the subject
MANY_SHARED: Final = 3  # where the claims themselves say less
ANY_AMOUNT: Final = 4  # for amounts whose attribute is not known
MOST_AMOUNTS: Final = 2  # in a sentence; where there are more, it is not clear which ones differ
LEAST_WORD: Final = 5  # letters of a word with a denying prefix
_CONDITIONS: Final = frozenset(("when", "quand", "lorsque"))
_TOTALS: Final = words("total overall altogether")
_BOUNDS: Final = {
    True: words("least minimum min below fewer moins"),
    False: words("most maximum max up above plus"),
}
_PAST: Final = words("was were had used until étaient était avait")
_ON: Final = words(
    "on enabled enable enables true active activated activé activée activés activées actif allumé"
)
_OFF: Final = words(
    "off disabled disable disables false inactive deactivated désactivé désactivée désactivés "
    "désactivées inactif coupé"
)
_ATTRIBUTES: Final = {
    word: name
    for name, listed in {
        "patience": "timeout timeouts délai abandonne abandonné coupé interrompu",
        "lifetime": "expire expires expiry valid ttl lifetime lasts last live lease expirent",
        "retention": "keep keeps kept retained retention stored stays stay purged swept dropped "
        "conservés conservé conserve garder gardés gardé garde restent reste supprimé purgés "
        "efface",
        "limit": "limit limited limits most maximum max larger above cap capped size batch batches "
        "limite limité limitée plafond",
        "interval": "every interval polls polled poll period toutes intervalle",
        "repeats": "retry retries retried attempts attempted attempt tries tentatives essais rejeu",
        "port": "port ports",
        "parts": "pool connections connexions workers replicas partitions",
        "approvals": "approvals approvers reviewers approbations",
    }.items()
    for word in listed.split()
}


@dataclass(frozen=True, slots=True)
class Opposition:
    """Two sentences that cannot both hold: number, value, opposite or negation."""

    kind: str
    a: Sentence
    b: Sentence
    detail: str
    strength: float


Rule = Callable[[Claims, Claims, Claim, Claim], Iterator[Opposition]]


def find_opposition(a: Claims, b: Claims) -> Opposition | None:
    """Return the strongest opposition of two entries, or None."""
    if name_two_things(a, b):
        return None
    rules: list[Rule] = [_opposed_values, _opposed_amounts, _opposed_names]
    if not a.has_exception and not b.has_exception:
        rules += [_denials, _removals, _opposed_states, _opposed_orders]
    found = [
        opposition
        for claim_a in a.claims
        for claim_b in b.claims
        for opposition in _oppositions(rules, a, b, claim_a, claim_b)
    ]
    return max(found, key=lambda opposition: opposition.strength, default=None)


def _oppositions(
    rules: list[Rule], a: Claims, b: Claims, claim_a: Claim, claim_b: Claim
) -> Iterator[Opposition]:
    for rule in rules:
        yield from rule(a, b, claim_a, claim_b)


def denies_other(a: Claim, b: Claim) -> bool:
    """Say whether one sentence denies something that the other one says.

    "No." alone denies all of it; "Without a key, ..." is a condition.
    """
    denying, other = (a, b) if a.sentence.negations else (b, a)
    if _have_other_numbers(a, b):
        return False
    if not denying.denied:
        return not (denying.tokens and denying.tokens[0].written in WITHOUT)
    return bool(denying.denied & other.terms)


def _have_other_numbers(a: Claim, b: Claim) -> bool:
    """Say whether two sentences are about two numbers: TLS 1.0 and TLS 1.2."""
    numbers_a, numbers_b = ({q.value for q in claim.sentence.numbers} for claim in (a, b))
    return bool(numbers_a and numbers_b and not numbers_a & numbers_b)


def _oppose(
    kind: str, claim_a: Claim, claim_b: Claim, detail: str, shared: frozenset[str], least: float
) -> Opposition:
    strength = least + 0.05 * len(shared)
    return Opposition(kind, claim_a.sentence, claim_b.sentence, detail, strength)


def _opposed_values(a: Claims, b: Claims, claim_a: Claim, claim_b: Claim) -> Iterator[Opposition]:
    if _name_zones(claim_a) and _name_zones(claim_b):
        return  # 4 h UTC may be 5 h in Paris
    for mention_a in claim_a.mentions:
        for mention_b in claim_b.mentions:
            kind = mention_a.kind
            if kind != mention_b.kind or mention_a.denied or mention_b.denied:
                continue
            stated_a, stated_b = _stated(a, kind), _stated(b, kind)
            if stated_a & stated_b:
                continue
            values = frozenset().union(*(terms_of_value(kind, v) for v in stated_a | stated_b))
            whole = shared_subject(a, b, claim_a, claim_b, values)
            shared = whole - terms_of_kind(kind)
            least = MINIMUM_SHARED + often_has_several(kind)
            weight = _weight(shared, claim_a, claim_b) + (len(whole) > len(shared))
            enough = shared and weight >= least
            if enough and not is_modified_otherwise(
                a, b, claim_a, claim_b, shared, values | terms_of_kind(kind)
            ):
                detail = f"{mention_a.value} against {mention_b.value}"
                yield _oppose("value", claim_a, claim_b, detail, shared, 0.5)


def _name_zones(claim: Claim) -> bool:
    return {"clock", "zone"} <= {mention.kind for mention in claim.mentions}


def _weight(shared: frozenset[str], claim_a: Claim, claim_b: Claim) -> int:
    """Count the terms that name the subject; a name of code, a product or a team counts twice."""
    names = {term for name in claim_a.names & claim_b.names for term in terms_of_name(name)}
    return len(shared) + len(shared & names)


def _stated(claims: Claims, kind: str) -> frozenset[str]:
    mentions: list[Mention] = [m for claim in claims.claims for m in claim.mentions]
    return frozenset(m.value for m in mentions if m.kind == kind and not m.denied)


def _opposed_amounts(a: Claims, b: Claims, claim_a: Claim, claim_b: Claim) -> Iterator[Opposition]:
    if not 0 < len(claim_a.amounts) <= MOST_AMOUNTS or not 0 < len(claim_b.amounts) <= MOST_AMOUNTS:
        return
    if claim_a.sentence.phases & _CONDITIONS != claim_b.sentence.phases & _CONDITIONS:
        return
    written_a, written_b = claim_a.written, claim_b.written
    bounds_a, bounds_b = _bounds(written_a), _bounds(written_b)
    if bounds_a and bounds_b and not bounds_a & bounds_b:
        return  # at least 3, at most 12
    if _TOTALS & (written_a | written_b) or claim_a.compares or claim_b.compares:
        return
    same_attribute = bool(_attributes(written_a) & _attributes(written_b))
    for measure in claim_a.amounts.keys() & claim_b.amounts.keys():
        one, other = claim_a.amounts[measure], claim_b.amounts[measure]
        if not one.differs(other) or (measure == COUNT and not same_attribute):
            continue
        shared = shared_subject(a, b, claim_a, claim_b)
        if len(shared) >= (
            MINIMUM_SHARED if same_attribute else ANY_AMOUNT
        ) and not is_modified_otherwise(a, b, claim_a, claim_b, shared):
            detail = f"{one.written} against {other.written}"
            yield _oppose("number", claim_a, claim_b, detail, shared, 0.5)


def _bounds(written: frozenset[str]) -> frozenset[bool]:
    return frozenset(is_low for is_low, signs in _BOUNDS.items() if written & signs)


def _attributes(written: frozenset[str]) -> frozenset[str]:
    return frozenset(_ATTRIBUTES[word] for word in written & _ATTRIBUTES.keys())


def _opposed_names(a: Claims, b: Claims, claim_a: Claim, claim_b: Claim) -> Iterator[Opposition]:
    """Yield sentences with a name of their own each, of which one says that it is the only one."""
    if claim_a.is_title or claim_b.is_title:
        return  # in a title most words have capitals
    if not (claim_a.is_exclusive or claim_b.is_exclusive):
        return
    for claim in (claim_a, claim_b):
        if claim.makes_exception or claim.tells or claim.sentence.negations:
            return
    own_a = {name for name in claim_a.names if not terms_of_name(name) & b.terms}
    own_b = {name for name in claim_b.names if not terms_of_name(name) & a.terms}
    if not own_a or not own_b:
        return
    names = terms_of_name(" ".join(own_a | own_b))
    shared = shared_subject(a, b, claim_a, claim_b, names)
    if len(shared) >= MANY_SHARED and not is_modified_otherwise(
        a, b, claim_a, claim_b, shared, names
    ):
        detail = f"{min(own_a)} against {min(own_b)}"
        yield _oppose("value", claim_a, claim_b, detail, shared, 0.4)


def _denials(a: Claims, b: Claims, claim_a: Claim, claim_b: Claim) -> Iterator[Opposition]:
    denied_a = (claim_a.denied & claim_b.terms) - claim_b.denied
    denied_b = (claim_b.denied & claim_a.terms) - claim_a.denied
    if not denied_a | denied_b or (claim_a.denied and claim_b.denied):
        return
    if claim_a.makes_exception or claim_b.makes_exception:
        return
    denying, other = (claim_a, b) if denied_a else (claim_b, a)
    if denying.tells:
        return
    if _have_other_numbers(claim_a, claim_b) or _have_other_objects(
        claim_a, claim_b, denied_a | denied_b
    ):
        return
    shared = shared_subject(a, b, claim_a, claim_b)
    subject = shared - denied_a - denied_b
    least = MINIMUM_SHARED if _begins_with_shared(denying, other) else MANY_SHARED + 1
    if _weight(subject, claim_a, claim_b) >= least and not is_modified_otherwise(
        a, b, claim_a, claim_b, shared | denied_a | denied_b
    ):
        detail = "one denies what the other states"
        yield _oppose("negation", claim_a, claim_b, detail, subject, 0.45)


def _have_other_objects(a: Claim, b: Claim, verbs: frozenset[str]) -> bool:
    """Say whether a denied word has another object: "supports JSON", "does not support XML"."""
    objects_a, objects_b = _objects(a, verbs) - b.terms, _objects(b, verbs) - a.terms
    return bool(objects_a and objects_b)


def _objects(claim: Claim, verbs: frozenset[str]) -> set[str]:
    return {behind.term for token, behind in pairwise(claim.tokens) if token.term in verbs} - {""}


def _begins_with_shared(claim: Claim, other: Claims) -> bool:
    """Say whether the subject of a sentence, its first word that counts, is one of the other's."""
    first = next((token.term for token in claim.tokens if token.term), "")
    return first in other.terms


def _removals(a: Claims, b: Claims, claim_a: Claim, claim_b: Claim) -> Iterator[Opposition]:
    if claim_a.is_title or claim_b.is_title:
        return  # a title says too little of when it holds
    if not (_removes(claim_a, claim_b) or _removes(claim_b, claim_a)):
        return
    shared = shared_subject(a, b, claim_a, claim_b)
    if not is_modified_otherwise(a, b, claim_a, claim_b, shared):
        yield _oppose("negation", claim_a, claim_b, "one says that it was removed", shared, 0.45)


def _removes(claim: Claim, other: Claim) -> bool:
    """Say whether a sentence says that something was removed that the other one still uses."""
    if len(claim.removed) < MINIMUM_SHARED or other.removed or other.sentence.negations:
        return False
    return claim.removed <= other.terms and not _PAST & other.written


def _opposed_states(a: Claims, b: Claims, claim_a: Claim, claim_b: Claim) -> Iterator[Opposition]:
    """Yield what is on and off, sensitive and insensitive, allowed and forbidden."""
    if claim_a.makes_exception or claim_b.makes_exception:
        return
    if claim_a.sentence.phases != claim_b.sentence.phases:
        return
    shared = shared_subject(a, b, claim_a, claim_b)
    if len(shared) < MINIMUM_SHARED:
        return
    state = _opposed_words(claim_a, claim_b) or _opposed_words(claim_b, claim_a)
    permission = _is_permission_denied(claim_a, claim_b) or _is_permission_denied(claim_b, claim_a)
    if not state and not (permission and len(shared) >= MANY_SHARED):
        return
    if not is_modified_otherwise(a, b, claim_a, claim_b, shared):
        detail = state or "allowed against forbidden"
        yield _oppose("opposite", claim_a, claim_b, detail, shared, 0.45)


def _opposed_words(claim: Claim, other: Claim) -> str:
    """Return how a sentence and one with the opposite word differ; empty if they do not."""
    if claim.sentence.negations or other.sentence.negations or claim.tells or other.tells:
        return ""
    ours, theirs = claim.written, other.written
    if ours & _ON and theirs & _OFF and not (ours & _OFF or theirs & _ON):
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


def _opposed_orders(a: Claims, b: Claims, claim_a: Claim, claim_b: Claim) -> Iterator[Opposition]:
    """Yield one step before another, and after it, if that is a rule or titles share a subject."""
    one, other = claim_a.order, claim_b.order
    if claim_a.sentence.opposites != claim_b.sentence.opposites:
        return  # two steps: switched off before, and on after
    if one is None or other is None or one.first_is_earlier == other.first_is_earlier:
        return
    if not (a.title_terms & b.title_terms or OBLIGATIONS & (claim_a.written | claim_b.written)):
        return
    if one.first & other.first and one.second & other.second and not one.first & other.second:
        detail = "before against after"
        yield _oppose("opposite", claim_a, claim_b, detail, one.first & other.first, 0.5)
