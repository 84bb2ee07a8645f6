"""Statements that take one of two sides, in English and in French."""

from __future__ import annotations

import pytest

from commonplace.memory.engine.claims.phrases import find_statements


def sides(text: str) -> dict[str, str]:
    return {kind: side for kind, side, _ in find_statements(text)}


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("deletion", "members are soft-deleted.", "the row is physically removed."),
        (
            "deletion",
            "un compte est marqué comme supprimé.",
            "la ligne est définitivement effacée.",
        ),
        ("deletion", "a berth is soft-deleted.", "it removes the row of the berth."),
        ("deletion", "un quai est marqué comme supprimé.", "cela efface la ligne du quai."),
        ("retrying", "a failed label is retried.", "a failed label is tried once only."),
        ("way back of migrations", "each has a down script.", "migrations are forward only."),
        (
            "way back of migrations",
            "livrée avec son script d'annulation.",
            "on n'écrit plus de script de retour.",
        ),
        ("signing", "commits must be gpg signed.", "commits need no cryptographic signature."),
        ("signing", "un lot doit être signé.", "le lot passe sans signature."),
        ("waiting", "the label is printed synchronously.", "labels are printed in the background."),
        ("waiting", "un appel synchrone au tarif.", "le tarif est calculé en arrière-plan."),
        ("order of time", "the list is oldest first.", "the list is newest first."),
        ("order of time", "par ordre croissant.", "par ordre décroissant."),
        ("steps", "the index is built before the rollout.", "the index is built after deployment."),
        ("steps", "lancé avant le déploiement.", "lancé après le déploiement."),
        ("need", "pilots must wear a vest.", "pilots do not need a vest."),
        ("need", "le gilet est exigé.", "les pilotes n'ont pas besoin de gilet."),
        ("default", "the beacon is on by default.", "the beacon is opt-in."),
        ("hours", "the quay is open around the clock.", "the quay is open on weekdays."),
        ("hours", "le quai est ouvert 24h/24.", "le quai ouvre de 8 h à 18 h."),
        ("stop", "the crane test must pass.", "the crane test is informative only."),
        ("defect", "the leak is known, there is no fix.", "the leak has been fixed since 3.1."),
        ("defect", "aucun correctif pour la fuite.", "la fuite est corrigée depuis mai."),
        ("layout of repositories", "all cranes share one repo.", "each crane has its own repo."),
        ("pinning", "crane parts are pinned.", "crane parts always follow main."),
        ("support", "the pier still supports Telex.", "support for Telex was dropped."),
        ("charge", "mooring is free of charge.", "mooring is billed."),
        ("rounding up", "tolls are rounded up.", "tolls are truncated."),
        ("approvals", "a pilot must approve it.", "it does not need the approval of a pilot."),
        ("recording", "calls are recorded.", "calls are never recorded."),
    ],
)
def test_the_two_sides_of_a_matter_are_told_apart(kind: str, one: str, other: str) -> None:
    assert {sides(one)[kind], sides(other)[kind]} == {"0", "1"}


def test_a_statement_within_a_longer_one_is_not_meant() -> None:
    assert sides("the code is not unique.")["duplicates"] == "1"
    assert sides("le code n'est pas unique.")["duplicates"] == "1"


def test_a_negation_before_a_statement_turns_it_round() -> None:
    assert sides("they are not cached.")["caching"] == "1"
    assert sides("it is never synchronous.")["waiting"] == "1"
    assert sides("ce n'est pas manuel.")["who starts it"] == "1"


def test_a_sentence_that_takes_both_sides_takes_none() -> None:
    assert "order of time" not in sides("sort it ascending or descending.")
    assert "order of time" not in sides("tri croissant ou décroissant.")
