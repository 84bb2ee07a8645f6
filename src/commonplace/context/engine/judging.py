"""Which candidates have enough evidence, and how likely each of them helps.

A section without evidence is left out. Evidence is judged by the topic: the chance by words and
meaning alone that a candidate is about the task. Names in the text of a candidate raise its chance,
but a single common word in the name of a file or function is no evidence (ADR 0321, 0322).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from commonplace.context.engine.topic import LEAST_TOPIC
from commonplace.context.model import ContextCandidate, PackSection, UseWeight
from commonplace.kernel.ref import Ref, RefKind

MOST_CHANCE = 0.9  # of something that is certainly about the task
LEAST_SHARE = 0.01  # of the best chance of a section, that a candidate must have
SMALLEST_ITEM = 40  # tokens of an item that has hardly more than its reference
SHORT_ITEM = 60  # tokens of an item with a line or two of text
LEAST_KEPT = 20  # candidates of a section, however small the budget is
MOST_USE_ODDS = 0.7  # log odds that feedback may add or take
USE_STEP = 0.25  # log odds of the first use


def use_odds(weight: UseWeight) -> float:
    """Return the log odds that feedback adds; bounded, each further use counts less."""
    gained = USE_STEP * (math.log2(1 + weight.used) - math.log2(1 + weight.useless))
    return max(-MOST_USE_ODDS, min(MOST_USE_ODDS, gained))


def judge(
    candidates: Iterable[ContextCandidate], weights: Mapping[str, UseWeight]
) -> list[ContextCandidate]:
    """Return the candidates with enough evidence, the likeliest of each section first."""
    judged = list(candidates)
    about = {candidate.use_key for candidate in judged if _is_about(candidate)}
    by_section: dict[PackSection, list[ContextCandidate]] = {}
    for candidate in judged:
        if candidate.use_key in about:  # of a file with one such passage, the others count too
            by_section.setdefault(candidate.section, []).append(candidate)
    kept: list[ContextCandidate] = []
    for section in PackSection:
        found = by_section.get(section, [])
        if section is not PackSection.RULES:
            found = _scale_to_topic(found)
        found = [_weigh(candidate, weights.get(candidate.use_key)) for candidate in found]
        if section is not PackSection.RULES:
            found = _drop_unlikely(found)
        kept += sorted(
            found, key=lambda candidate: (not candidate.binding, -candidate.chance, candidate.ref)
        )
    return kept


def _drop_unlikely(found: list[ContextCandidate]) -> list[ContextCandidate]:
    """Leave out what is unlikely beside the best candidate, but for other passages of its file.

    The search lowers their scores so that other files are seen; that says nothing about them.
    """
    best = max(found, key=lambda candidate: candidate.chance, default=None)
    if best is None:
        return found
    least = LEAST_SHARE * best.chance
    return [
        candidate
        for candidate in found
        if candidate.chance >= least or candidate.use_key == best.use_key
    ]


def _is_about(candidate: ContextCandidate) -> bool:
    """Tell whether a candidate by itself has enough evidence."""
    return candidate.named or candidate.topic >= LEAST_TOPIC


def _scale_to_topic(found: list[ContextCandidate]) -> list[ContextCandidate]:
    """Bring the chances of a section to the scale of the others; their order stays.

    Scores of different searches rank well and compare badly. The best candidate of a section is as
    likely to help as its section is likely to be about the task.
    """
    best = max((candidate.chance for candidate in found), default=0.0)
    if best <= 0:
        return found
    most = chance_of(max(LEAST_TOPIC, *(candidate.topic for candidate in found)))
    return [replace(candidate, chance=candidate.chance / best * most) for candidate in found]


def chance_of(topic: float) -> float:
    """Return the chance to help of what is about the task: not all of it does."""
    return MOST_CHANCE * topic


def drop_described(candidates: Iterable[ContextCandidate]) -> list[ContextCandidate]:
    """Leave out passages of API descriptions whose operations are candidates themselves."""
    found = list(candidates)
    described = {
        str(replace(Ref.parse(candidate.ref), kind=RefKind.FILE, pointer=""))
        for candidate in found
        if candidate.section is PackSection.OPERATIONS
    }
    return [candidate for candidate in found if candidate.use_key not in described]


def keep_likeliest(
    candidates: Iterable[ContextCandidate], budget: int, shown: int = 0
) -> tuple[list[ContextCandidate], dict[PackSection, int]]:
    """Return the candidates of each section that a budget may have room for, and how many more.

    Candidates come in the order of `judge`. As many binding ones as fit are kept beside the others,
    and `shown` more of each: so many may be left out because the session has them.
    """
    most = {  # binding rules are shown at least by their reference
        True: max(LEAST_KEPT, budget // SMALLEST_ITEM) + shown,
        False: max(LEAST_KEPT, budget // SHORT_ITEM) + shown,
    }
    kept: list[ContextCandidate] = []
    counts: dict[tuple[PackSection, bool], int] = {}
    beyond: dict[PackSection, int] = {}
    for candidate in candidates:
        kind = (candidate.section, candidate.binding)
        if counts.get(kind, 0) < most[candidate.binding]:
            counts[kind] = counts.get(kind, 0) + 1
            kept.append(candidate)
        else:
            beyond[candidate.section] = beyond.get(candidate.section, 0) + 1
    return kept, beyond


def _weigh(candidate: ContextCandidate, weight: UseWeight | None) -> ContextCandidate:
    """Move the chance by what was said about earlier packs."""
    odds = use_odds(weight) if weight is not None else 0.0
    if not odds:
        return candidate
    explain = {**candidate.explain, "feedback": round(odds, 3)}
    return replace(candidate, chance=move_odds(candidate.chance, odds), explain=explain)


def move_odds(chance: float, log_odds: float) -> float:
    """Return a chance moved by log odds; 0 and 1 stay."""
    if chance <= 0 or chance >= 1:
        return chance
    odds = chance / (1 - chance) * math.exp(log_odds)
    return odds / (1 + odds)
