"""Contradictions between rules in other words, on the written pairs."""

from __future__ import annotations

import json

import pytest
from benchmarks.rule_pairs import PAIRS, contradict

ALL = [json.loads(line) for line in PAIRS.read_text("utf-8").splitlines()]


def test_few_contradictions_are_missed_and_fewer_are_invented() -> None:
    named = [pair for pair in ALL if contradict(pair["first"], pair["second"])]
    right = sum(pair["contradicts"] for pair in named)
    assert right >= 0.95 * len(named)
    assert right >= 0.8 * sum(pair["contradicts"] for pair in ALL)


def test_contradictions_are_found_in_both_directions() -> None:
    for pair in ALL:
        found = contradict(pair["first"], pair["second"])
        assert contradict(pair["second"], pair["first"]) == found, pair["id"]


@pytest.mark.parametrize(
    ("first", "second", "is_opposed"),
    [
        ("Use Python 3.9 or newer.", "Use Python 3.12.", False),
        ("Use Python 3.12 or newer.", "Use Python 3.9.", True),
        ("Use Python 3.", "Use Python 3.12.", False),
        ("Use Node 18.", "Use Node.js v20.", True),
        ("Keep coverage above 80%.", "Test coverage is at least 90%.", True),
        ("Use at least 2 reviewers for releases.", "Use at most 5 reviewers for releases.", False),
        ("Put tests in tests/.", "Place all tests under ./tests.", False),
        ("Put tests in tests/.", "Place tests next to their module.", True),
        ("Never use `eval`.", "Use `eval` in templates.", True),
        ("Never catch Exception.", "Catch exceptions at the boundary.", False),
        ("Use LF in scripts, never CRLF.", "Use CRLF.", False),
        ("Use Moq or NSubstitute for mocks.", "Use Moq for mocks.", False),
        ("Fetch data in loaders.", "Use axios for requests.", False),
        ("Use Black to format code.", "Use Ruff to lint code.", False),
        ("Use Black to format code.", "Format code with Ruff.", True),
    ],
)
def test_versions_numbers_places_and_tools_are_told_apart(
    first: str, second: str, is_opposed: bool
) -> None:
    assert contradict(first, second) == is_opposed
    assert contradict(second, first) == is_opposed


def test_a_wrapped_paragraph_is_one_statement() -> None:
    wrapped = (
        "The values that a handler returns are checked by the framework, which may\n"
        "never use tabs in its own messages."
    )
    assert not contradict(wrapped, "Use tabs in its own messages.")
