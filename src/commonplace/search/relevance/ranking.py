"""Ranking of hybrid hits by what their texts and paths add."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from commonplace.kernel.json_types import JsonObject
from commonplace.search.model import Retrieval, SearchHit
from commonplace.search.relevance.evidence import (
    WEIGHTS,
    CandidateText,
    EvidenceReader,
    EvidenceWeights,
    TextFinding,
    add_file_evidence,
)
from commonplace.search.relevance.query import QueryReading, QueryShape

TOPIC = "topic"  # name of the score by words and meaning alone, in what explains a hit
PHRASE_COVERAGE = 0.6  # of a question's terms that a text needs to be searched for its phrases


def keys_to_read(reading: QueryReading, retrieval: Retrieval) -> list[str]:
    """Return the keys of the hits whose texts may change the ranking.

    A question is compared only with texts that hold most of its words, or of a message in it;
    anything else with all.
    """
    if retrieval.scale is None:
        return []
    if reading.shape is not QueryShape.QUESTION:
        return [hit.key for hit in retrieval.hits]
    asked = [frozenset(reading.terms), *map(frozenset, reading.messages)]
    return [
        hit.key
        for hit in retrieval.hits
        if any(
            len(terms.intersection(hit.terms)) >= PHRASE_COVERAGE * len(terms) for terms in asked
        )
    ]


def rank_by_text(
    reading: QueryReading,
    retrieval: Retrieval,
    texts: Mapping[str, CandidateText],
    weights: EvidenceWeights = WEIGHTS,
    definers: Mapping[str, int] | None = None,
) -> tuple[SearchHit, ...]:
    """Return the hits in the order of all evidence; those without a text are judged by path."""
    scale = retrieval.scale
    if scale is None:
        return retrieval.hits
    idf = {term.term: term.idf for term in retrieval.terms}
    reader = EvidenceReader(reading, idf, retrieval.documents, weights, definers)
    paths = {hit.key: hit.key.rpartition("#")[0] for hit in retrieval.hits}
    findings: dict[str, TextFinding] = {}
    evidence: dict[str, float] = {}
    for hit in retrieval.hits:
        text = texts.get(hit.key) or CandidateText(hit.key, paths[hit.key], "")
        finding = findings[hit.key] = reader.judge(text)
        evidence[hit.key] = hit.evidence + scale.full_match * finding.evidence
    # several passages of a long text on one subject make none of them the better answer
    share = 0.0 if reading.shape is QueryShape.QUESTION else weights.same_file
    shared = add_file_evidence(evidence, paths, share)
    ranked = []
    for hit in retrieval.hits:
        finding = findings[hit.key]
        total = evidence[hit.key] + shared[hit.key]
        ranked.append(
            replace(
                hit,
                score=round(scale.score(total, finding.log_odds), 6),
                evidence=total,
                explain={
                    **hit.explain,
                    **_explain(finding, scale.full_match, shared[hit.key]),
                    TOPIC: hit.score,
                },
            )
        )
    ranked.sort(key=lambda hit: (-hit.score, -hit.evidence, hit.key))
    return tuple(ranked)


def _explain(finding: TextFinding, unit: float, shared: float) -> JsonObject:
    """Return the findings and what they added, in the unit of the other evidence."""
    explain: JsonObject = dict(finding.reasons)
    if finding.evidence:
        explain["text_evidence"] = round(unit * finding.evidence, 4)
    if shared > 0:
        explain["file_evidence"] = round(shared, 4)
    if finding.log_odds:
        explain["log_odds"] = round(finding.log_odds, 4)
    return explain
