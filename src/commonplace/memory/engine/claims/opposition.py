"""Find claims about one subject that cannot both hold, however they are worded.

They give a thing two values of one kind, two amounts of one attribute, or two names where one is
the only one; or one denies, forbids, switches off, removes or reorders what the other states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from commonplace.memory.engine.claims.agreement import ClaimPair
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


Rule = Callable[[ClaimPair], Iterator[Opposition]]


def find_opposition(pairs: Sequence[ClaimPair], *, with_denials: bool) -> Opposition | None:
    """Return the strongest opposition among the claims of two entries, or None."""
    rules: list[Rule] = [_find_opposed_values, _find_opposed_amounts, _find_opposed_names]
    if with_denials:
        rules += [_find_denials, _find_removals, _find_opposed_states, _find_opposed_orders]
    found = [opposition for pair in pairs for rule in rules for opposition in rule(pair)]
    return max(found, key=lambda opposition: opposition.strength, default=None)


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


def _make_opposition(
    kind: str, pair: ClaimPair, detail: str, shared: frozenset[str], least: float
) -> Opposition:
    strength = least + 0.05 * len(shared)
    return Opposition(kind, pair.a.sentence, pair.b.sentence, detail, strength)


def _find_opposed_values(pair: ClaimPair) -> Iterator[Opposition]:
    if _name_zones(pair.a) and _name_zones(pair.b):
        return  # 4 h UTC may be 5 h in Paris
    for mention_a in pair.a.mentions:
        for mention_b in pair.b.mentions:
            kind = mention_a.kind
            if kind != mention_b.kind or mention_a.denied or mention_b.denied:
                continue
            stated_a, stated_b = _find_stated(pair.entry_a, kind), _find_stated(pair.entry_b, kind)
            if stated_a & stated_b:
                continue
            values = frozenset().union(*(terms_of_value(kind, v) for v in stated_a | stated_b))
            whole = pair.shared - values
            shared = whole - terms_of_kind(kind)
            least = MINIMUM_SHARED + often_has_several(kind)
            weight = _weigh(shared, pair) + (len(whole) > len(shared))
            enough = shared and weight >= least
            if enough and not pair.is_modified_otherwise(shared, values | terms_of_kind(kind)):
                detail = f"{mention_a.value} against {mention_b.value}"
                yield _make_opposition("value", pair, detail, shared, 0.5)


def _name_zones(claim: Claim) -> bool:
    return {"clock", "zone"} <= {mention.kind for mention in claim.mentions}


def _weigh(shared: frozenset[str], pair: ClaimPair) -> int:
    """Count the terms that name the subject; a name of code, a product or a team counts twice."""
    names = {term for name in pair.a.names & pair.b.names for term in terms_of_name(name)}
    return len(shared) + len(shared & names)


def _find_stated(claims: Claims, kind: str) -> frozenset[str]:
    mentions: list[Mention] = [m for claim in claims.claims for m in claim.mentions]
    return frozenset(m.value for m in mentions if m.kind == kind and not m.denied)


def _find_opposed_amounts(pair: ClaimPair) -> Iterator[Opposition]:
    if not 0 < len(pair.a.amounts) <= MOST_AMOUNTS or not 0 < len(pair.b.amounts) <= MOST_AMOUNTS:
        return
    if pair.a.sentence.phases & _CONDITIONS != pair.b.sentence.phases & _CONDITIONS:
        return
    written_a, written_b = pair.a.written, pair.b.written
    bounds_a, bounds_b = _find_bounds(written_a), _find_bounds(written_b)
    if bounds_a and bounds_b and not bounds_a & bounds_b:
        return  # at least 3, at most 12
    if _TOTALS & (written_a | written_b) or pair.a.compares or pair.b.compares:
        return
    same_attribute = bool(_find_attributes(written_a) & _find_attributes(written_b))
    for measure in pair.a.amounts.keys() & pair.b.amounts.keys():
        one, other = pair.a.amounts[measure], pair.b.amounts[measure]
        if not one.differs(other) or (measure == COUNT and not same_attribute):
            continue
        shared = pair.shared
        if len(shared) >= (
            MINIMUM_SHARED if same_attribute else ANY_AMOUNT
        ) and not pair.is_modified_otherwise(shared):
            detail = f"{one.written} against {other.written}"
            yield _make_opposition("number", pair, detail, shared, 0.5)


def _find_bounds(written: frozenset[str]) -> frozenset[bool]:
    return frozenset(is_low for is_low, signs in _BOUNDS.items() if written & signs)


def _find_attributes(written: frozenset[str]) -> frozenset[str]:
    return frozenset(_ATTRIBUTES[word] for word in written & _ATTRIBUTES.keys())


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
        yield _make_opposition("value", pair, detail, shared, 0.4)


def _find_denials(pair: ClaimPair) -> Iterator[Opposition]:
    denied_a = (pair.a.denied & pair.b.terms) - pair.b.denied
    denied_b = (pair.b.denied & pair.a.terms) - pair.a.denied
    if not denied_a | denied_b or (pair.a.denied and pair.b.denied):
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
    least = MINIMUM_SHARED if _begins_with_shared(denying, other) else MANY_SHARED + 1
    if _weigh(subject, pair) >= least and not pair.is_modified_otherwise(
        shared | denied_a | denied_b
    ):
        detail = "one denies what the other states"
        yield _make_opposition("negation", pair, detail, subject, 0.45)


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
    first = next((token.term for token in claim.phrase.tokens if token.term), "")
    return first in other.terms


def _find_removals(pair: ClaimPair) -> Iterator[Opposition]:
    if pair.has_title:
        return  # a title says too little of when it holds
    if not (_removes(pair.a, pair.b) or _removes(pair.b, pair.a)):
        return
    shared = pair.shared
    if not pair.is_modified_otherwise(shared):
        yield _make_opposition("negation", pair, "one says that it was removed", shared, 0.45)


def _removes(claim: Claim, other: Claim) -> bool:
    """Say whether a sentence says that something was removed that the other one still uses."""
    if len(claim.removed) < MINIMUM_SHARED or other.removed or other.sentence.negations:
        return False
    return claim.removed <= other.terms and not _PAST & other.written


def _find_opposed_states(pair: ClaimPair) -> Iterator[Opposition]:
    """Yield what is on and off, sensitive and insensitive, allowed and forbidden."""
    if pair.a.makes_exception or pair.b.makes_exception:
        return
    if pair.a.sentence.phases != pair.b.sentence.phases:
        return
    shared = pair.shared
    if len(shared) < MINIMUM_SHARED:
        return
    state = _find_opposed_words(pair.a, pair.b) or _find_opposed_words(pair.b, pair.a)
    permission = _is_permission_denied(pair.a, pair.b) or _is_permission_denied(pair.b, pair.a)
    if not state and not (permission and len(shared) >= MANY_SHARED):
        return
    if not pair.is_modified_otherwise(shared):
        detail = state or "allowed against forbidden"
        yield _make_opposition("opposite", pair, detail, shared, 0.45)


def _find_opposed_words(claim: Claim, other: Claim) -> str:
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
        yield _make_opposition("opposite", pair, detail, one.first & other.first, 0.5)
