"""How far an entry can be relied on: its strength, its freshness, and what both do to the order.

All of it is computed when it is read. Nothing is stored, hidden or deleted because of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from commonplace.memory.model import Entry, EntryType, EntryUsage

PRIOR_REPORTS = 4.0  # reports that the given confidence counts as
MOST_CONFIDENCE = 5
DAY_SECONDS = 86_400
# Days after which an unused entry counts half: settings change sooner than decisions.
HALF_LIFE_DAYS = {
    EntryType.CONFIG: 90,
    EntryType.BUG: 180,
    EntryType.REFERENCE: 360,
    EntryType.PITFALL: 360,
    EntryType.PATTERN: 720,
    EntryType.DECISION: 720,
}
LEAST_WEIGHT = 0.8  # the order of results changes by a fifth at most
WEIGHT_DIGITS = 2  # a difference of hours is no difference


@dataclass(frozen=True, slots=True)
class Reliability:
    """The strength and freshness of an entry, each 0 to 1, and its weight in the order."""

    strength: float
    freshness: float
    weight: float


def find_strength(confidence: int, confirmed: int, refuted: int) -> float:
    """Return the given confidence, moved by reports of use: 0 to 1.

    It is the share of confirmations, in which the confidence counts as four reports. So it
    approaches 1 or 0 and never leaves them, whatever the order of the reports.
    """
    prior = PRIOR_REPORTS * confidence / MOST_CONFIDENCE
    return round((prior + confirmed) / (PRIOR_REPORTS + confirmed + refuted), 4)


def find_freshness(entry: Entry, usage: EntryUsage, now: datetime) -> float:
    """Return 1 for an entry that was used or changed just now, halved with each half-life."""
    moments = (entry.updated_at, usage.last_accessed, usage.last_confirmed)
    last = max(moment for moment in moments if moment is not None)
    days = max(0.0, (now - last).total_seconds() / DAY_SECONDS)
    return round(float(0.5 ** (days / HALF_LIFE_DAYS[entry.type])), 4)


def rate_reliability(entry: Entry, usage: EntryUsage, now: datetime) -> Reliability:
    """Rate an entry.

    Age lowers its weight, and so do refutations beyond confirmations; a low confidence that
    nobody refuted does not.
    """
    strength = find_strength(entry.confidence, usage.confirmed, usage.refuted)
    given = find_strength(entry.confidence, 0, 0)
    standing = min(1.0, strength / given) if given else 1.0
    freshness = find_freshness(entry, usage, now)
    weight = LEAST_WEIGHT + (1 - LEAST_WEIGHT) * freshness * standing
    return Reliability(strength, freshness, round(weight, WEIGHT_DIGITS))
