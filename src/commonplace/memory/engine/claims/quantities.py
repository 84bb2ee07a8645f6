"""Find two amounts of one attribute of one subject: a timeout of 5 s and of 30 s."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from commonplace.memory.engine.claims.agreement import ClaimPair
from commonplace.memory.engine.claims.amounts import COUNT, INTERVAL, Amount
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
_MEASURED: Final = frozenset(("time", "size", INTERVAL))  # not counts
_TOTALS: Final = words("total overall altogether")
_ATTRIBUTES: Final = {
    word: name
    for name, listed in {
        "patience": "timeout patience abort aborted timeouts cuts cut drops closes close aborts "
        "gives kills exceeds délai "
        "abandonne abandonné coupé interrompu releases within wait waits idle inactivity "
        "inactivité",
        "lifetime": "expire expires expired expiry valid validity ttl lifetime lasts last lasting "
        "live lives lease expirent expiration keep cached cache deleted deletes delete deletion "
        "removed removes erased erase wiped archived older history durée dure durent valable "
        "valables valide expire périmé effacé effacés effacée effacées effacer supprimés supprimée "
        "supprimées supprimer supprime purgé purgée purge conservation conservée conservées "
        "gardées gardons conservons archivé archivés archivées historique "
        "keeps kept retained retention stored stays stay purged swept dropped "
        "conservés conservé conserve garder gardés gardé garde restent reste supprimé purgés "
        "efface",
        "length": "length sprint sprints cycle cycles long duration notice period probation "
        "préavis période essai warranty garantie window fenêtre deadline lasts durée délai",
        "price": "price prices costs cost fee fees tariff rate rates coûte coûtent prix tarif "
        "allowance budget reimbursed remboursé remboursés indemnité",
        "minimum": "minimum min least oldest lowest minimal minimale requires require required "
        "needs need requis exige target cible plancher",
        "length of text": "characters caractères character digits chiffres column columns wide",
        "limit": "limit quota quotas allow allows allowed allowance may can cannot peut limited "
        "limits most maximum max larger above cap capped size batch batches "
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
    measures = pair.a.amounts.keys() & pair.b.amounts.keys()
    if not measures or any(
        len(claim.amounts.keys() - {INTERVAL}) > MOST_AMOUNTS for claim in (pair.a, pair.b)
    ):
        return
    written_a, written_b = pair.a.written, pair.b.written
    if pair.has_opposed_bounds:
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
    for measure in sorted(measures):
        one, other = pair.a.amounts[measure], pair.b.amounts[measure]
        if not one.differs(other) or (measure == COUNT and not same_attribute):
            continue
        if measure == "time" and not one.is_comparable(other):
            continue  # 350 ms to answer, and four weeks to count them
        rates_a, rates_b = written_a & _RATES.keys(), written_b & _RATES.keys()
        units_a, units_b = ({_RATES[word] for word in rates} for rates in (rates_a, rates_b))
        each_differs = bool(_EACH & written_a) != bool(_EACH & written_b)
        if measure not in _MEASURED and each_differs and not units_a & units_b:
            continue  # three of each, and 24 altogether
        if _states_amount(pair.entry_a, measure, other) or _states_amount(
            pair.entry_b, measure, one
        ):
            continue
        if measure not in _MEASURED and units_a and units_b and not units_a & units_b:
            continue  # 50 a minute, and 300 an hour
        shared = pair.shared
        weight = weigh(shared, pair)
        if weight < ANY_AMOUNT and _have_other_conditions(pair):
            continue
        needed = _find_needed_terms(pair, measure, least)
        if weight >= needed and (weight > ANY_AMOUNT or not pair.is_modified_otherwise(shared)):
            detail = f"{one.written} against {other.written}"
            yield make_opposition("number", pair, detail, shared, 0.5)


def _find_needed_terms(pair: ClaimPair, measure: str, least: int) -> int:
    """Return how many terms must name the subject of two amounts of a measure."""
    least = ANY_AMOUNT if measure == INTERVAL else least
    if not pair.is_covered or measure == COUNT:
        return least
    is_alone = _is_alone(pair.entry_a, measure) and _is_alone(pair.entry_b, measure)
    return min(least, 1 if is_alone else MINIMUM_SHARED)


def _have_other_conditions(pair: ClaimPair) -> bool:
    phases_a, phases_b = pair.a.sentence.phases, pair.b.sentence.phases
    return phases_a & _CONDITIONS != phases_b & _CONDITIONS


def _is_alone(claims: Claims, measure: str) -> bool:
    """Say whether an entry states one amount of a measure only."""
    return sum(measure in c.amounts for c in claims.claims if not c.is_title) == 1


def _states_amount(claims: Claims, measure: str, amount: Amount) -> bool:
    return any(
        measure in claim.amounts and not claim.amounts[measure].differs(amount)
        for claim in claims.claims
    )


def _find_attributes(written: frozenset[str]) -> frozenset[str]:
    return frozenset(_ATTRIBUTES[word] for word in written & _ATTRIBUTES.keys())
