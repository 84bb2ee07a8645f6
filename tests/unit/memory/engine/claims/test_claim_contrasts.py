"""Words that tell two things of one name apart."""

from __future__ import annotations

import pytest

from commonplace.memory.engine.claims.contrasts import are_contrasted, find_contrasts


def contrasted(a: str, b: str) -> bool:
    found_a, found_b = (find_contrasts(text.split()) for text in (a, b))
    return are_contrasted(found_a, found_b, found_a, found_b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("access token", "refresh token"),
        ("client for python", "client for java"),
        ("full backup", "incremental backup"),
        ("feed v1", "feed v3"),
        ("sauvegarde complète", "sauvegarde incrémentale"),
        ("réseau interne", "réseau externe"),
        ("limits of the team plan", "limits of the enterprise plan"),
        ("listing in the app store", "listing in the play store"),
        ("rights of editors", "rights of publishers"),
        ("rows of orders-dlq dlq", "rows of the main queue"),
    ],
)
def test_another_word_of_a_row_names_another_thing(a: str, b: str) -> None:
    assert contrasted(a, b)
    assert contrasted(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("access token", "token of the app"),
        ("prod cluster", "production cluster"),
        ("base préprod", "base staging"),
        ("python client", "python and java client"),
    ],
)
def test_words_that_say_the_same_name_one_thing(a: str, b: str) -> None:
    assert not contrasted(a, b)
