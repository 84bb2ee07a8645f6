"""Owners and approvers, in English and in French."""

from __future__ import annotations

import pytest

from commonplace.memory.engine.claims.people import find_people


def people(text: str) -> set[tuple[str, str]]:
    return {(kind, who) for kind, who, _, _ in find_people(text)}


@pytest.mark.parametrize(
    ("text", "kind", "who"),
    [
        ("The rota is run by the Harbour team.", "owner", "harbour"),
        ("Harbour Tools looks after the crane driver.", "owner", "harbour tools"),
        ("Ask Ines before you touch it.", "owner", "ines"),
        ("A refund is approved by the shift lead.", "approver", "shift lead"),
        ("Le quai est géré par l'équipe Port.", "owner", "port"),
        ("Le planning, c'est l'équipe Grues.", "owner", "grues"),
        ("Adressez-vous à Malik.", "owner", "malik"),
        ("L'équipe Grues a la charge du quai.", "owner", "grues"),
        ("Les demandes sur le quai vont à l'équipe Port.", "owner", "port"),
        ("La remise est validée par le chef de rayon.", "approver", "chef de rayon"),
    ],
)
def test_owners_and_approvers_are_read(text: str, kind: str, who: str) -> None:
    assert (kind, who) in people(text)


@pytest.mark.parametrize(
    "text",
    [
        "The tide table is printed every morning.",
        "Approval of large refunds takes a day.",
        "La table des marées est imprimée chaque matin.",
        "Chaque équipe décide seule.",
    ],
)
def test_nobody_is_read_where_nobody_is_named(text: str) -> None:
    assert people(text) == set()
