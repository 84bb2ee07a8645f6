"""Contradictions and look-alikes. The labelled pairs measure the whole; these show each rule by itself."""

from __future__ import annotations

import pytest

from commonplace.memory.engine.contradiction import Statement, find_conflict
from commonplace.memory.engine.subject import different_subjects, different_versions

CONFLICTS = [
    ("number", "The pool holds 20 connections per worker.", "The pool holds 50 connections per worker."),
    ("number", "Sessions of the shop expire after 2 hours.", "Sessions of the shop expire after 30 minutes."),
    ("negation", "The importer validates rows before it writes them.", "The importer does not validate rows before it writes them."),
    ("negation", "Le proxy conserve les en-têtes du client.", "Le proxy ne conserve pas les en-têtes du client."),
    ("opposite", "Compression is enabled for the public API.", "Compression is disabled for the public API."),
    ("setting", "Run the worker with log_level=debug in staging.", "Run the worker with log_level=warning in staging."),
    ("value", "Releases of the client library are cut from trunk.", "Releases of the client library are cut from develop."),
]
AGREEMENTS = [
    ("The cache lives 60 seconds.", "The cache lives 1 minute."),
    ("The pool holds 20 connections.", "The pool holds 20 connections, as before."),
    ("Build 12 failed on the linter step.", "Build 19 failed on the linter step."),
    ("return cache.get(key, default=1)", "return cache.get(key, default=2)"),
]


@pytest.mark.parametrize(("kind", "a", "b"), CONFLICTS)
def test_a_disagreement_is_found_whichever_comes_first(kind: str, a: str, b: str) -> None:
    for first, second in ((a, b), (b, a)):
        conflict = find_conflict(Statement("Note", first), Statement("Note", second))
        assert conflict is not None
        assert conflict.kind == kind
        assert first in conflict.reason
        assert second in conflict.reason


@pytest.mark.parametrize(("a", "b"), AGREEMENTS)
def test_saying_the_same_or_speaking_of_two_things_is_no_disagreement(a: str, b: str) -> None:
    assert find_conflict(Statement("Note", a), Statement("Note", b)) is None


def test_a_template_filled_for_two_things_is_two_subjects() -> None:
    a = ("Memory limit of the api", "The api pods have a memory limit of 512Mi.")
    b = ("Memory limit of the worker", "The worker pods have a memory limit of 2Gi.")
    assert different_subjects(*a, *b)
    assert find_conflict(Statement(*a), Statement(*b)) is None
    assert different_versions("Python 3.8 end of life", "Python 3.9 end of life")


def test_other_words_for_one_thing_are_one_subject() -> None:
    assert not different_subjects("Exit code 137", "killed for memory", "Container killed with 137", "exit code 137")
    assert not different_subjects("Same title", "a", "Same title", "b")
