"""Fusion of words and meaning, judged per query and per document with six parameters.

Both sides give evidence on a fixed scale, so neither list is stretched to fill it: a query that the
words hardly answer gets little lexical evidence whatever ranks first, and a query far from every
text gets little semantic evidence.

    semantic = exp(sharpness * (cosine - PIVOT)) / sharpness
    lexical  = lexical_weight * share * I / (I + prior_terms * ln(1 + N))
               * (1 + coverage_gain * coverage^2)

share = BM25 / its ceiling; I = sum of the idf of the query's terms; coverage = the part of I that
the document's terms have; N = documents. Agreement counts: the query is moved by `consensus`
towards the LEADERS best by that sum, and the cosines are taken again, shifted so that the best one
stays. The score is the sum, mapped to 0..1 so that it reads as the chance that the hit is right;
without a semantic side the same words count for more. A query that the model reads badly (in a
foreign language) gets less semantic evidence: its cosines are as high as any, and say little.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from commonplace.kernel.json_types import JsonObject
from commonplace.search.matched_words import WordMeasure
from commonplace.search.model import (
    MAX_TERMS_OF_PASSAGE,
    NO_WORDS,
    LexicalMatch,
    LexicalResult,
    MatchedWords,
    SearchHit,
)

if TYPE_CHECKING:
    from commonplace.search.model import Vectors

PIVOT = 0.6  # sets the unit of evidence only: another pivot is another lexical_weight
LEADERS = 3
SLOPE = 2.0  # odds grow with the square of the evidence


@dataclass(frozen=True, slots=True)
class Parameters:
    """Fitted by `benchmarks/quality.py --fit`; docs/explanation/search.md says on which data.

    The values here are those of all-MiniLM-L6-v2; `profiles.py` has the other models'.
    """

    lexical_weight: float = 0.27
    prior_terms: float = 2.2  # a query worth this many of the rarest words is half trusted
    sharpness: float = 5.8
    coverage_gain: float = 3.7
    consensus: float = 0.15
    intercept: float = 1.09  # calibration: odds = exp(intercept) * evidence ** SLOPE
    # added to the intercept without a semantic side; calibrated on the same hits
    words_alone: float = 1.6
    abstain_below: float = 0.025  # best score below which probably nothing answers


DEFAULT = Parameters()
SMALL = 30  # passages; in a smaller collection the same evidence says more (ADR 0222)
SMALL_GAIN = 1.05  # log odds that grow with ln(SMALL / passages)
WORDS_SMALL_GAIN = 1.2  # the same without a semantic side


@dataclass(frozen=True, slots=True)
class Calibration:
    """How the evidence of one query becomes scores, for whoever finds more evidence later.

    `unread`: the share of the query that no model read; `prior`: log odds known before.
    """

    parameters: Parameters
    unread: float
    prior: float

    @property
    def full_match(self) -> float:
        """Return the evidence of a document with every word of an informative query."""
        return self.parameters.lexical_weight * (1 + self.parameters.coverage_gain)

    def score(self, evidence: float, log_odds: float = 0.0) -> float:
        return calibrate_score(
            evidence, self.parameters, unread=self.unread, prior=self.prior + log_odds
        )


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights from the settings: each list is stretched to 0..1, and the weighted mean taken."""

    semantic: float
    lexical: float


@dataclass(frozen=True, slots=True)
class _Lexical:
    share: float
    coverage: float
    evidence: float


def semantic_evidence(cosine: float, parameters: Parameters = DEFAULT) -> float:
    return math.exp(parameters.sharpness * (cosine - PIVOT)) / parameters.sharpness


def lexical_evidence(
    share: float,
    coverage: float,
    information: float,
    documents: int,
    parameters: Parameters = DEFAULT,
) -> float:
    prior = parameters.prior_terms * math.log1p(documents)
    informed_share = information / (information + prior) if information > 0 else 0.0
    return (
        parameters.lexical_weight
        * share
        * informed_share
        * (1 + parameters.coverage_gain * coverage * coverage)
    )


def calibrate_score(
    evidence: float, parameters: Parameters = DEFAULT, *, unread: float = 0.0, prior: float = 0.0
) -> float:
    """Return evidence as a chance between 0 and 1; keeps the order.

    `unread`: the share of the query that no model read; `prior`: log odds known before the
    evidence.
    """
    odds = math.exp(parameters.intercept + unread * parameters.words_alone + prior) * math.pow(
        max(evidence, 0.0), SLOPE
    )
    return odds / (1 + odds)


def size_prior(passages: int, *, with_meaning: bool) -> float:
    """Return the log odds that a small collection adds to a hit; 0 if its size is unknown.

    In a large collection some passage is always near; in a small one a near passage is an answer.
    """
    gain = SMALL_GAIN if with_meaning else WORDS_SMALL_GAIN
    return gain * math.log(SMALL / passages) if 0 < passages < SMALL else 0.0


def doubt_about(best: float, parameters: Parameters = DEFAULT) -> str | None:
    """Return a note that probably nothing answers, if the best score is that low."""
    bound = parameters.abstain_below
    return (
        f"no hit reaches a score of {bound:g}: probably nothing here answers this"
        if best < bound
        else None
    )


def fuse(
    lexical: LexicalResult,
    cosines: Mapping[str, float] | None,
    parameters: Parameters = DEFAULT,
    fixed: Weights | None = None,
    vectors: Mapping[str, Vectors] | None = None,
    *,
    legibility: float = 1.0,
    prior: float = 0.0,
    explained: bool = True,
) -> list[SearchHit]:
    """Return every document of either side, best first (ties by key).

    `cosines` None: there was no semantic side. `vectors` are those of the candidates; without them
    there is no consensus. `legibility` says how well the model read the query.
    """
    idf = {term.term: term.idf for term in lexical.terms}
    matches = {match.key: match for match in lexical.matches}
    scale = _WordScale(lexical, parameters)
    found = {key: scale.judge(match) for key, match in matches.items()}
    stretched = _scale_lists(found, cosines or {}) if fixed is not None else {}
    agreed = (
        _apply_consensus(found, cosines, vectors, parameters, legibility)
        if cosines and vectors and fixed is None
        else {}
    )
    unread = 1.0 if cosines is None else 1.0 - legibility
    measure = WordMeasure(lexical)
    hits = []
    for key in found.keys() | (cosines or {}).keys():
        side = found.get(key)
        cosine = cosines.get(key) if cosines is not None else None
        semantic = (
            legibility * semantic_evidence(agreed.get(key, cosine), parameters)
            if cosine is not None
            else 0.0
        )
        words = side.evidence if side is not None else 0.0
        judged = calibrate_score(semantic + words, parameters, unread=unread, prior=prior)
        score = (
            judged if fixed is None else _weighted_mean(stretched[key], fixed, cosines is not None)
        )
        match = matches.get(key)
        explain: JsonObject = {}
        if explained:
            explain = _explain(match, side, cosine, semantic, idf, fixed, lexical.measure)
            _explain_meaning(explain, cosine, agreed.get(key), legibility)
        told = measure.measure(match) if match is not None else NO_WORDS
        hits.append(_make_hit(key, score, side, cosine, match, explain, semantic + words, told))
    hits.sort(key=lambda hit: (-hit.score, hit.key))
    return hits


def _make_hit(
    key: str,
    score: float,
    side: _Lexical | None,
    cosine: float | None,
    match: LexicalMatch | None,
    explain: JsonObject,
    evidence: float,
    words: MatchedWords,
) -> SearchHit:
    return SearchHit(
        key=key,
        score=round(score, 6),
        lexical=None if side is None else round(side.share, 6),
        semantic=None if cosine is None else round(min(1.0, max(0.0, cosine)), 6),
        terms=match.terms if match is not None else (),
        explain=explain,
        evidence=evidence,
        words=words,
    )


def _explain_meaning(
    explain: JsonObject, cosine: float | None, agreed: float | None, legibility: float
) -> None:
    """Add what the leaders and the legibility of the query changed."""
    if cosine is not None and agreed is not None:
        explain["consensus"] = round(agreed - cosine, 4)
    if cosine is not None and legibility < 1:
        explain["legibility"] = round(legibility, 4)


def _apply_consensus(
    found: Mapping[str, _Lexical],
    cosines: Mapping[str, float],
    vectors: Mapping[str, Vectors],
    parameters: Parameters,
    legibility: float,
) -> dict[str, float]:
    """Return cosines with the query moved towards the leaders; the best one stays the same."""
    import numpy as np

    keys = sorted(key for key in cosines if key in vectors)
    if not keys or parameters.consensus <= 0 or legibility <= 0:
        return {}
    words = {key: found[key].evidence if key in found else 0.0 for key in keys}
    first = {
        key: legibility * semantic_evidence(cosines[key], parameters) + words[key] for key in keys
    }
    leaders = sorted(keys, key=lambda key: (-first[key], key))[:LEADERS]
    total = sum(first[key] for key in leaders)
    shares = np.array([first[key] / total for key in leaders])
    centre = shares @ np.stack([vectors[key] for key in leaders])
    towards = np.stack([vectors[key] for key in keys]) @ centre
    near = float(shares @ np.array([cosines[key] for key in leaders]))
    weight = parameters.consensus
    length = math.sqrt(max(1e-12, 1 + 2 * weight * near + weight * weight * float(centre @ centre)))
    moved = (np.array([cosines[key] for key in keys]) + weight * towards) / length
    moved -= moved.max() - max(cosines[key] for key in keys)
    return dict(zip(keys, map(float, moved), strict=True))


def describe(parameters: Parameters = DEFAULT) -> dict[str, float]:
    """Return the parameters in force, for `doctor` and `explain`."""
    return asdict(parameters)


class _WordScale:
    """Judges the matches of one query by their words."""

    def __init__(self, result: LexicalResult, parameters: Parameters) -> None:
        self._ceiling = result.ceiling
        self._documents = result.documents
        self._parameters = parameters
        self._idf = {term.term: term.idf for term in result.terms}
        # most informative first: a passage has room for so many words of a long query
        self._information = sum(term.idf for term in result.terms[:MAX_TERMS_OF_PASSAGE])
        self._coverages: dict[tuple[str, ...], float] = {}  # many texts match the same terms

    def judge(self, match: LexicalMatch) -> _Lexical:
        share = min(1.0, max(0.0, match.score / self._ceiling)) if self._ceiling > 0 else 0.0
        coverage = self._coverages.get(match.terms)
        if coverage is None:
            coverage = self._coverages[match.terms] = self._cover(match.terms)
        evidence = lexical_evidence(
            share, coverage, self._information, self._documents, self._parameters
        )
        return _Lexical(share, coverage, evidence)

    def _cover(self, terms: tuple[str, ...]) -> float:
        """Return the part of the information that some terms have."""
        if self._information <= 0:
            return 0.0
        return min(1.0, sum(self._idf.get(term, 0.0) for term in terms) / self._information)


def _explain(
    match: LexicalMatch | None,
    side: _Lexical | None,
    cosine: float | None,
    semantic: float,
    idf: Mapping[str, float],
    fixed: Weights | None,
    measure: str,
) -> JsonObject:
    """Say why a hit ranks where it does, in numbers a person can add up."""
    explain: JsonObject = {
        "fusion": "judged per query"
        if fixed is None
        else f"fixed {fixed.semantic:g}/{fixed.lexical:g}"
    }
    matched = match.terms if match is not None else ()
    explain["matched"] = list(matched)
    explain["missing"] = [term for term in idf if term not in matched]
    if side is not None and match is not None:
        explain |= {
            measure: round(match.score, 4),
            "coverage": round(side.coverage, 4),
            "lexical_evidence": round(side.evidence, 4),
        }
    if cosine is not None:
        explain |= {"cosine": round(cosine, 4), "semantic_evidence": round(semantic, 4)}
    return explain


def _scale_lists(
    found: Mapping[str, _Lexical], cosines: Mapping[str, float]
) -> dict[str, tuple[float, float]]:
    """Return (semantic, lexical) of every key, each list stretched to 0..1; absent = 0."""
    sides: tuple[Mapping[str, float], Mapping[str, float]] = (
        cosines,
        {key: side.share for key, side in found.items()},
    )
    scaled = []
    for values in sides:
        low, high = (min(values.values()), max(values.values())) if values else (0.0, 0.0)
        scaled.append(
            {
                key: 1.0 if high == low else (value - low) / (high - low)
                for key, value in values.items()
            }
        )
    return {
        key: (scaled[0].get(key, 0.0), scaled[1].get(key, 0.0))
        for key in found.keys() | cosines.keys()
    }


def _weighted_mean(parts: tuple[float, float], fixed: Weights, has_semantic: bool) -> float:
    semantic = fixed.semantic if has_semantic else 0.0
    total = semantic + fixed.lexical
    return (semantic * parts[0] + fixed.lexical * parts[1]) / total if total > 0 else 0.0
