"""Sentences that set another thing apart from the subject of their entry."""

from __future__ import annotations

import pytest

from commonplace.memory.engine.claims.asides import sets_another_apart
from commonplace.memory.engine.claims.reading import read_claims


@pytest.mark.parametrize(
    "text",
    [
        "The crane panel has its own library.",
        "Reading the reply is governed by another key.",
        "Unlike the harbour plan, the river plan is billed at the end.",
        "Cette règle ne concerne pas les dossiers.",
        "Les correctifs de la base suivent un autre calendrier.",
    ],
)
def test_a_sentence_that_tells_another_thing_apart_is_recognised(text: str) -> None:
    assert sets_another_apart(text)


@pytest.mark.parametrize(
    "text",
    [
        "No other tool has its own library.",
        "Use the harbour plan instead of another rule.",
        "The crane panel has a library.",
        "Aucun autre outil n'est à part.",
        "Les dossiers sont gardés deux ans.",
    ],
)
def test_a_sentence_about_the_subject_is_no_aside(text: str) -> None:
    assert not sets_another_apart(text)


def test_words_of_an_aside_are_no_words_of_its_entry() -> None:
    claims = read_claims("Tide log", "The tide log is kept a year. The crane log has its own rule.")
    assert "crane" not in claims.terms
    assert [claim.is_aside for claim in claims.claims] == [False, False, True]


def test_what_each_of_all_has_of_its_own_is_a_claim_and_what_holds_elsewhere_is_none() -> None:
    assert not sets_another_apart("Each crane has its own repository.")
    assert not sets_another_apart("Chaque grue suit sa propre règle, à part.")
    assert sets_another_apart("Outside the harbour the lamp is on.")
    assert sets_another_apart("Ailleurs, la lampe reste allumée.")
