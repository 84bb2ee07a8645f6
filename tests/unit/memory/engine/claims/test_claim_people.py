"""Owners and approvers, in English and in French."""

from __future__ import annotations

import pytest

from commonplace.memory.engine.claims.people import find_people, may_do_the_same


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
        ("Questions about the pier go to Ines, who owns it.", "owner", "ines"),
        ("The owner of the pier is Malik.", "owner", "malik"),
        ("Malik is the lead of the pier.", "owner", "malik"),
        ("The pier lies with the Harbour team.", "owner", "harbour"),
        ("Contact: the Harbour team", "owner", "harbour"),
        ("Demandez d'abord à Ines : c'est elle la responsable.", "owner", "ines"),
        ("Le responsable du quai est Malik.", "owner", "malik"),
        ("Malik en est le référent.", "owner", "malik"),
        ("C'est l'équipe Grues qui est responsable du quai.", "owner", "grues"),
        ("C'est la direction qui valide les remises.", "approver", "direction"),
        ("La remise est validée par le chef d'équipe.", "approver", "chef d'équipe"),
        ("Only pilots may open the lock.", "who may", "only pilots"),
        ("Any skipper can open the lock.", "who may", "any skipper"),
        ("Seuls les pilotes peuvent ouvrir l'écluse.", "who may", "only pilotes"),
        ("L'écluse est réservée aux pilotes.", "who may", "only pilotes"),
    ],
)
def test_owners_and_approvers_are_read(text: str, kind: str, who: str) -> None:
    assert (kind, who) in people(text)


@pytest.mark.parametrize(
    "text",
    [
        "The tide table is printed every morning.",
        "Approval of large refunds takes a day.",
        "Validation des remises",
        "La table des marées est imprimée chaque matin.",
        "Chaque équipe décide seule.",
    ],
)
def test_nobody_is_read_where_nobody_is_named(text: str) -> None:
    assert people(text) == set()


def test_two_acts_are_the_same_if_verb_and_object_are() -> None:
    alone = "Only pilots may open the lock."
    assert may_do_the_same(alone, "Any skipper can open the lock without asking.")
    assert not may_do_the_same(alone, "Any skipper can open a ticket.")
    assert may_do_the_same(
        "L'ouverture du sas est réservée aux pilotes.", "Chacun peut demander l'ouverture du sas."
    )
    assert not may_do_the_same(alone, "The lock is wide.")
