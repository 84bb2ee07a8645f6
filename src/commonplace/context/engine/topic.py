"""How likely a text is about a task at all, by shared words and by meaning (ADR 0322).

Log odds, fitted to texts that tasks are about and to the nearest texts of tasks about something
else. Both sets had short and long tasks, other languages, single words and stack traces.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from commonplace.kernel.json_types import Json
from commonplace.search.model import MatchedWords

LEAST_TOPIC = 0.5  # a candidate that is less likely about the task is left out
MOST_FURTHER = 1.5  # more words than that say nothing new about the subject


@dataclass(frozen=True, slots=True)
class TopicWeights:
    """Log odds of a unit of each kind of evidence."""

    told: float
    coverage: float
    further: float
    cosine: float
    constant: float


# A model cannot read names that it was not trained on: strong words decide against its doubt.
UNREAD_NAMES = 0.9
BY_WORDS = TopicWeights(told=6.5, coverage=8.0, further=0.5, cosine=0.0, constant=-10.2)
BY_BOTH = TopicWeights(told=3.9, coverage=5.3, further=1.3, cosine=17.7, constant=-12.1)


def judge_topic(words: MatchedWords, cosine: float | None) -> float:
    """Return the chance that a text is about a task, from 0 to 1.

    `cosine` is None where no model read both.
    """
    by_words = _log_odds(BY_WORDS, words, 0.0)
    log_odds = (
        by_words
        if cosine is None
        else max(_log_odds(BY_BOTH, words, cosine), by_words - UNREAD_NAMES)
    )
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, log_odds))))


def _log_odds(weights: TopicWeights, words: MatchedWords, cosine: float) -> float:
    return (
        weights.constant
        + weights.told * words.told
        + weights.coverage * words.coverage
        + weights.further * min(words.further, MOST_FURTHER)
        + weights.cosine * cosine
    )


def explain_topic(words: MatchedWords, cosine: float | None) -> dict[str, Json]:
    """Return the evidence that a topic was judged by."""
    shown: dict[str, Json] = {
        "told": round(words.told, 2),
        "coverage": round(words.coverage, 2),
        "further": round(words.further, 2),
    }
    if cosine is not None:
        shown["cosine"] = round(cosine, 3)
    return shown
