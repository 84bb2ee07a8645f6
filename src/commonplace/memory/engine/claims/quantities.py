"""Find two amounts of one attribute of one subject: a timeout of 5 s and of 30 s."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from commonplace.memory.engine.claims.agreement import ClaimPair
from commonplace.memory.engine.claims.amounts import COUNT, Amount
from commonplace.memory.engine.claims.reading import Claims
from commonplace.memory.engine.claims.verdict import (
    MANY_SHARED,
    MINIMUM_SHARED,
    Opposition,
    make_opposition,
    weigh,
)
from commonplace.memory.engine.lexicon import words

ANY_AMOUNT: Final = 4  # for amounts whose attribute is not known
MOST_AMOUNTS: Final = 2  # in a sentence; where there are more, it is not clear which ones differ
_CONDITIONS: Final = frozenset(("when", "quand", "lorsque"))
_EACH: Final = words("each per every chaque chacun")
_RATES: Final = {
    word: unit
    for unit, listed in {
        "second": "second seconde",
        "minute": "minute",
        "hour": "hour heure",
        "day": "day jour",
        "week": "week semaine",
        "month": "month mois",
    }.items()
    for word in listed.split()
}
# The threshold of an alarm is not a limit of what it watches.
_ALARMS: Final = words("alert alerts alarm alarms warns warning pages alerte alertes alarme")
_TOTALS: Final = words("total overall altogether")
_BOUNDS: Final = {
    True: words("least minimum min below fewer moins"),
    False: words("most maximum max up above plus"),
}
_ATTRIBUTES: Final = {
    word: name
    for name, listed in {
        "patience": "timeout timeouts cuts cut drops closes close aborts gives kills exceeds délai "
        "abandonne abandonné coupé interrompu releases within wait waits idle inactivity "
        "inactivité",
        "lifetime": "expire expires expiry valid ttl lifetime lasts last live lease expirent keep "
        "keeps kept retained retention stored stays stay purged swept dropped "
        "conservés conservé conserve garder gardés gardé garde restent reste supprimé purgés "
        "efface",
        "limit": "limit limited limits most maximum max larger above cap capped size batch batches "
        "refuse refuses refused rejects rejected accepts accept up over beyond plus dépasse "
        "dépasser accepte accepté limite limité limitée plafond",
        "interval": "every interval polls polled poll period toutes intervalle",
        "repeats": "retry retries retried attempts attempted attempt tries tentatives essais rejeu",
        "port": "port ports listens listen écoute",
        "parts": "pool connections connexions workers replicas partitions",
        "approvals": "approvals approval approvers reviewers approbations approbation relecteurs "
        "relecteur validations validation validé validée validated approved approuvée approuvé",
    }.items()
    for word in listed.split()
}


def find_opposed_amounts(pair: ClaimPair) -> Iterator[Opposition]:
    if not 0 < len(pair.a.amounts) <= MOST_AMOUNTS or not 0 < len(pair.b.amounts) <= MOST_AMOUNTS:
        return
    written_a, written_b = pair.a.written, pair.b.written
    bounds_a, bounds_b = _find_bounds(written_a), _find_bounds(written_b)
    if bounds_a and bounds_b and not bounds_a & bounds_b:
        return  # at least 3, at most 12
    if _TOTALS & (written_a | written_b) or pair.a.compares or pair.b.compares:
        return
    if pair.names_two_things or bool(_ALARMS & written_a) != bool(_ALARMS & written_b):
        return
    attributes_a = _find_attributes(written_a)
    attributes_b = _find_attributes(written_b)
    same_attribute = bool(attributes_a & attributes_b)
    least = MINIMUM_SHARED if same_attribute else ANY_AMOUNT
    if bool(attributes_a) != bool(attributes_b) and not (pair.a.tells or pair.b.tells):
        least = min(least, MANY_SHARED)
    for measure in pair.a.amounts.keys() & pair.b.amounts.keys():
        one, other = pair.a.amounts[measure], pair.b.amounts[measure]
        if not one.differs(other) or (measure == COUNT and not same_attribute):
            continue
        if measure == "time" and not one.is_comparable(other):
            continue  # 350 ms to answer, and four weeks to count them
        if measure not in ("time", "size") and bool(_EACH & written_a) != bool(_EACH & written_b):
            continue  # three of each, and 24 altogether
        if _states_amount(pair.entry_a, measure, other) or _states_amount(
            pair.entry_b, measure, one
        ):
            continue
        rates_a, rates_b = written_a & _RATES.keys(), written_b & _RATES.keys()
        units_a, units_b = ({_RATES[word] for word in rates} for rates in (rates_a, rates_b))
        if measure not in ("time", "size") and units_a and units_b and not units_a & units_b:
            continue  # 50 a minute, and 300 an hour
        shared = pair.shared
        weight = weigh(shared, pair)
        if weight < ANY_AMOUNT and _have_other_conditions(pair):
            continue
        if weight >= least and (weight > ANY_AMOUNT or not pair.is_modified_otherwise(shared)):
            detail = f"{one.written} against {other.written}"
            yield make_opposition("number", pair, detail, shared, 0.5)


def _have_other_conditions(pair: ClaimPair) -> bool:
    phases_a, phases_b = pair.a.sentence.phases, pair.b.sentence.phases
    return phases_a & _CONDITIONS != phases_b & _CONDITIONS


def _states_amount(claims: Claims, measure: str, amount: Amount) -> bool:
    return any(
        measure in claim.amounts and not claim.amounts[measure].differs(amount)
        for claim in claims.claims
    )


def _find_bounds(written: frozenset[str]) -> frozenset[bool]:
    return frozenset(is_low for is_low, signs in _BOUNDS.items() if written & signs)


def _find_attributes(written: frozenset[str]) -> frozenset[str]:
    return frozenset(_ATTRIBUTES[word] for word in written & _ATTRIBUTES.keys())
