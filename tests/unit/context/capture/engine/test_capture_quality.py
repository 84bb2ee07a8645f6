"""The mark of capture: precision on 30 transcripts, half of them untouched, and no secret kept."""

from __future__ import annotations

import json

import pytest
from benchmarks.capture import FOLDER, HALVES, LEAST_PRECISION, CaptureScore, score_all


@pytest.fixture(scope="module")
def scores() -> dict[str, CaptureScore]:
    return score_all()


@pytest.mark.parametrize("half", [*HALVES, "all"])
def test_most_proposals_are_right(scores: dict[str, CaptureScore], half: str) -> None:
    score = scores[half]
    assert score.precision >= LEAST_PRECISION, score.wrong
    assert score.recall >= 0.7, score.misses


def test_no_secret_is_kept(scores: dict[str, CaptureScore]) -> None:
    assert scores["all"].kept_secrets == 0


def test_there_are_thirty_transcripts_and_half_of_them_are_untouched() -> None:
    listed = json.loads((FOLDER / "expected.json").read_bytes())
    assert len(listed) == 30
    assert sum(item["half"] == "untouched" for item in listed.values()) == 15
    assert {path.name for path in (FOLDER / "transcripts").iterdir()} == set(listed)
