"""Words that say the same are read as one."""

from __future__ import annotations

import pytest

from commonplace.memory.engine.claims.synonyms import join_words, read_word


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("kept", "retention"),
        ("repo", "repositories"),
        ("sign-in", "login"),
        ("front-end", "frontend"),
        ("conservés", "garde"),
        ("dépôt", "dépôts"),
        ("sauvegardée", "sauvegarde"),
    ],
)
def test_forms_and_synonyms_share_a_term(a: str, b: str) -> None:
    assert set(read_word(a)) & set(read_word(b))


def test_other_words_keep_their_terms() -> None:
    assert not set(read_word("harbour")) & set(read_word("crane"))
    assert not set(read_word("quai")) & set(read_word("grue"))


def test_a_verb_and_its_particle_are_one_word() -> None:
    assert join_words("signs", "in") == read_word("login")[0]
    assert join_words("pull", "requests") == read_word("pr")[0]
    assert join_words("signs", "the") == ""
