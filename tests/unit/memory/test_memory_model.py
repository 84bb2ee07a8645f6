"""Digests, keys and the consolidation score."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest

from commonplace.memory.model import (
    Suggestion,
    SuggestionType,
    consolidation_score,
    digest,
    suggestion_key,
)

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def test_consolidation_is_the_published_formula() -> None:
    assert consolidation_score(0, None, NOW) == 0.0
    expected = 0.6 * min(1, math.log(8) / 5) + 0.4 * math.exp(-15 / 30)
    assert consolidation_score(7, NOW - timedelta(days=15), NOW) == pytest.approx(
        expected, abs=1e-4
    )
    assert consolidation_score(10**6, NOW, NOW) == 1.0


def test_consolidation_decays_without_reads() -> None:
    scores = [
        consolidation_score(5, NOW - timedelta(days=days), NOW) for days in (0, 10, 100, 1000)
    ]
    assert scores == sorted(scores, reverse=True)


def test_the_digest_ignores_white_space() -> None:
    assert digest("bug", "a  b", "c\n\nd", None) == digest("bug", "a b", "c d", None)
    assert digest("bug", "a", "b", None) != digest("bug", "a", "b", "p")
    assert digest("bug", "a", "b", None) != digest("pattern", "a", "b", None)


def test_the_key_of_a_pair_ignores_order_and_type() -> None:
    assert suggestion_key(SuggestionType.LINK, ("B", "A")) == suggestion_key(
        SuggestionType.CONTRADICTION, ("A", "B")
    )
    assert suggestion_key(SuggestionType.GENERALIZE, ("C", "A", "B")) == suggestion_key(
        SuggestionType.GENERALIZE, ("A", "B", "C")
    )


def test_a_suggestion_needs_enough_different_entries() -> None:
    with pytest.raises(ValueError, match="2 or more"):
        Suggestion("S", SuggestionType.LINK, ("A", "A"), 0.8, "", NOW)
    with pytest.raises(ValueError, match="3 or more"):
        Suggestion("S", SuggestionType.GENERALIZE, ("A", "B"), 0.8, "", NOW)
