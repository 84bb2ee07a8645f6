"""The fusion formula over arrays, its fit and its calibration: what `benchmarks/quality.py`
reports on.

A collection is indexed as the product does it (files cut into chunks, chunks ranked, a document
ranked by its best chunk). The fit is by likelihood: the formula's evidence, to a power, as odds
among a query's candidates. Unlike a metric of the first ten, it uses every candidate of every query
and is smooth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.retrieval import CUT
from commonplace.search.fusion import LEADERS, PIVOT, SLOPE, Parameters, calibrate_score

FITTED = ("lexical_weight", "prior_terms", "sharpness", "coverage_gain", "consensus")
PRIOR = Parameters(
    lexical_weight=0.25, prior_terms=2.25, sharpness=5.0, coverage_gain=3.5, consensus=0.15
)
PRIOR_POWER = 3.0  # of the evidence as odds among candidates; fitted along and not kept
PRIOR_WEIGHT = 0.3  # of a squared change by e, against nats per query
LOOKUP_WEIGHT = 0.4  # of simulated look-ups, against 1 for judged queries
DISCOUNT = 1 / np.log2(np.arange(CUT) + 2)
DEPTH = 5  # hits of a default call: what the score is calibrated on


@dataclass
class Features:
    """One collection's queries as arrays (query, candidate): everything the fusion formula
    reads.
    """

    name: str
    queries: list[str]
    halves: np.ndarray
    cosine: np.ndarray
    share: np.ndarray
    coverage: np.ndarray
    between: np.ndarray  # (query, candidate, candidate): cosines of the candidates with each other
    information: np.ndarray
    legibility: np.ndarray  # of each query, to the model
    documents: int
    grades: np.ndarray
    present: np.ndarray
    siblings: list[tuple[int, np.ndarray]]  # query, and candidates that are chunks of one document
    ideal: np.ndarray
    answers: np.ndarray
    lexical: np.ndarray  # (query, 2): nDCG@10 and recall@10 of BM25 alone
    semantic: np.ndarray

    def better(self) -> np.ndarray:
        """Per metric, the per-query figures of whichever single retriever is better on average."""
        columns = [max((self.lexical[:, m], self.semantic[:, m]), key=np.mean) for m in (0, 1)]
        return np.stack(columns, axis=1)

    def chosen(self, half: int | None) -> np.ndarray:
        return np.ones(len(self.halves), dtype=bool) if half is None else self.halves == half


def evidence(features: Features, parameters: Parameters) -> np.ndarray:
    """fusion.py's formula over arrays; a test holds the two together. -1 where there is no
    candidate.
    """
    told = features.information / (
        features.information + parameters.prior_terms * math.log1p(features.documents)
    )
    lexical = (
        parameters.lexical_weight
        * features.share
        * told[:, None]
        * (1 + parameters.coverage_gain * features.coverage**2)
    )
    read = features.legibility[:, None]
    first = np.where(
        features.present, lexical + read * _semantic(features.cosine, parameters), -1.0
    )
    if parameters.consensus <= 0:
        return first
    leaders = np.argsort(-first, axis=1, kind="stable")[:, :LEADERS]
    shares = np.maximum(np.take_along_axis(first, leaders, axis=1), 0.0)
    shares = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-12)
    rows = np.arange(len(first))[:, None]
    towards = (features.between[rows, leaders] * shares[:, :, None]).sum(axis=1)
    among = features.between[rows[:, :, None], leaders[:, :, None], leaders[:, None, :]]
    length = (among * shares[:, :, None] * shares[:, None, :]).sum(axis=(1, 2))
    near = (np.take_along_axis(features.cosine, leaders, axis=1) * shares).sum(axis=1)
    weight = parameters.consensus
    moved = (features.cosine + weight * towards) / np.sqrt(
        1 + 2 * weight * near + weight**2 * length
    )[:, None]
    best = np.where(features.present, features.cosine, -1.0).max(axis=1)
    moved -= (np.where(features.present, moved, -1.0).max(axis=1) - best)[:, None]
    return np.where(features.present, lexical + read * _semantic(moved, parameters), -1.0)


def _semantic(cosine: np.ndarray, parameters: Parameters) -> np.ndarray:
    values: np.ndarray = np.exp(parameters.sharpness * (cosine - PIVOT)) / parameters.sharpness
    return values


def ranked(features: Features, values: np.ndarray) -> np.ndarray:
    """(query, 2): nDCG@10 and recall@10 of documents ranked by the best value of their chunks;
    candidates below 0 do not count.
    """
    values = values.copy()
    for query, chunks in features.siblings:
        best = chunks[np.argmax(values[query, chunks])]
        highest = values[query, best]
        values[query, chunks] = -1.0
        values[query, best] = highest
    order = np.argsort(-values, axis=1, kind="stable")[:, :CUT]
    grades = np.take_along_axis(features.grades, order, axis=1) * (
        np.take_along_axis(values, order, axis=1) >= 0
    )
    return np.stack(
        [
            (grades * DISCOUNT).sum(axis=1) / features.ideal,
            (grades > 0).sum(axis=1) / features.answers,
        ],
        axis=1,
    )


def measure(features: Features, parameters: Parameters) -> np.ndarray:
    return ranked(features, evidence(features, parameters))


def surprise(features: Features, parameters: Parameters, power: float, half: int | None) -> float:
    """Mean of -ln of the chance that the formula gives to the right candidates, in nats per
    query.
    """
    values = np.log(np.maximum(evidence(features, parameters), 1e-9)) * power
    values = np.where(features.present, values, -np.inf)
    values -= values.max(axis=1, keepdims=True)
    chances = np.where(
        features.present, values - np.log(np.exp(values).sum(axis=1, keepdims=True)), 0.0
    )
    total = features.grades.sum(axis=1)
    counted = (total > 0) & features.chosen(half)
    return float(-((features.grades * chances).sum(axis=1)[counted] / total[counted]).mean())


def fit(
    judged: Sequence[Features], lookups: Sequence[Features], half: int | None = None
) -> Parameters:
    """Return the likeliest parameters near `PRIOR`; every collection has the same weight."""
    weighted = [(1.0, features) for features in judged] + [
        (LOOKUP_WEIGHT, features) for features in lookups
    ]
    total = sum(weight for weight, _ in weighted)
    centre = np.log([*(getattr(PRIOR, name) for name in FITTED), PRIOR_POWER])

    def cost(logs: np.ndarray) -> float:
        parameters, power = _from_logs(logs)
        told = sum(
            weight * surprise(features, parameters, power, half) for weight, features in weighted
        )
        return told / total + PRIOR_WEIGHT * float(((logs - centre) ** 2).sum())

    return _from_logs(least(cost, centre))[0]


def _from_logs(logs: np.ndarray) -> tuple[Parameters, float]:
    values = np.exp(logs)
    return replace(PRIOR, **dict(zip(FITTED, map(float, values), strict=False))), float(values[-1])


def least(
    cost: Callable[[np.ndarray], float], start: np.ndarray, step: float = 0.3, rounds: int = 250
) -> np.ndarray:
    """The simplex search of Nelder and Mead: six dimensions are few, and it needs no gradient."""
    points = [start, *(start + step * axis for axis in np.eye(len(start)))]
    costs = [cost(point) for point in points]
    for _ in range(rounds):
        order = np.argsort(costs)
        points, costs = [points[at] for at in order], [costs[at] for at in order]
        if costs[-1] - costs[0] < 1e-6:
            break
        centre = np.mean(points[:-1], axis=0)
        reflected = 2 * centre - points[-1]
        reached = cost(reflected)
        trial, value = reflected, reached
        if reached < costs[0]:
            further = 3 * centre - 2 * points[-1]
            found = cost(further)
            if found < reached:
                trial, value = further, found
        elif reached >= costs[-2]:
            trial = (centre + points[-1]) / 2
            value = cost(trial)
            if value >= costs[-1]:
                points = [points[0], *((points[0] + point) / 2 for point in points[1:])]
                costs = [costs[0], *(cost(point) for point in points[1:])]
                continue
        points[-1], costs[-1] = trial, value
    return points[int(np.argmin(costs))]


def calibrate(
    judged: Features, lookups: Sequence[Features], parameters: Parameters, half: int | None = None
) -> Parameters:
    """The intercept that makes the score the chance of being right, over the hits of a default
    call, weighed as in the fit.

    `judged` is a collection where one document is the answer: that is what the score is the chance
    of.
    """
    parts = [(1.0, judged), *((LOOKUP_WEIGHT, features) for features in lookups)]
    tops = [
        (weight, *top(features, parameters, features.chosen(half))) for weight, features in parts
    ]
    logs, right = (np.concatenate([part[at] for part in tops]) for at in (1, 2))
    weights = np.concatenate([np.full(len(part[1]), part[0] / len(part[1])) for part in tops])
    low, high = -20.0, 20.0
    for _ in range(60):
        intercept = (low + high) / 2
        chance = 1 / (1 + np.exp(-intercept - SLOPE * logs))
        low, high = (
            (intercept, high) if float((weights * (right - chance)).sum()) > 0 else (low, intercept)
        )
    return replace(parameters, intercept=intercept)


def words_alone(features: Features) -> Features:
    """Return the same queries by words only, without semantic evidence and candidates."""
    return replace(
        features,
        cosine=np.full_like(features.cosine, -100.0),
        present=features.present & (features.share > 0),
    )


def top(
    features: Features, parameters: Parameters, chosen: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """ln(evidence) of the best hits, and whether each is right."""
    values = evidence(features, parameters)[chosen]
    order = np.argsort(-values, axis=1, kind="stable")[:, :DEPTH]
    logs = np.log(np.maximum(np.take_along_axis(values, order, axis=1), 1e-6)).ravel()
    return logs, (np.take_along_axis(features.grades[chosen], order, axis=1) > 0).astype(
        float
    ).ravel()


def calibration_error(
    features: Features, parameters: Parameters, half: int | None, bins: int = 10
) -> float:
    """Expected calibration error over equally filled bins."""
    logs, right = top(features, parameters, features.chosen(half))
    score = np.array([calibrate_score(math.exp(value), parameters) for value in logs])
    order = np.argsort(score)
    return float(
        sum(
            len(part) / len(logs) * abs(score[part].mean() - right[part].mean())
            for part in np.array_split(order, bins)
        )
    )
