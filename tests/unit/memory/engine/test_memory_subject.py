"""Entries that fill one template for two things."""

from __future__ import annotations

from commonplace.memory.engine.contradiction import Statement, find_contradiction
from commonplace.memory.engine.subject import different_subjects, different_versions


def test_a_template_filled_for_two_things_has_two_subjects() -> None:
    a = ("Memory limit of the api", "The api pods have a memory limit of 512Mi.")
    b = ("Memory limit of the worker", "The worker pods have a memory limit of 2Gi.")
    assert different_subjects(*a, *b)
    assert find_contradiction(Statement(*a), Statement(*b)) is None
    assert different_versions("Python 3.8 end of life", "Python 3.9 end of life")


def test_other_words_for_one_thing_have_one_subject() -> None:
    assert not different_subjects(
        "Exit code 137", "killed for memory", "Container killed with 137", "exit code 137"
    )
    assert not different_subjects("Same title", "a", "Same title", "b")
