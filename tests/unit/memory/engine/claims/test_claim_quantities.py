"""Two amounts of one attribute, in digits and words, English and French."""

from __future__ import annotations

import pytest

from commonplace.memory.engine.contradiction import Statement, find_contradiction

Side = tuple[str, str]
OPPOSED: list[tuple[Side, Side]] = [
    (
        ("Tide records", "Tide records are kept ninety days."),
        ("Old tide records", "Tide records older than fourteen days are purged."),
    ),
    (
        ("Relecture du pilote", "Le pilote de grue demande deux approbations."),
        ("Fusion du pilote", "Pour le pilote de grue, une seule approbation suffit."),
    ),
]
OPPOSED += [
    (
        ("Crane permits", "The crane permit of the pier is valid for 15 days."),
        ("How long a crane permit stays", "A crane permit of the pier stays open for two months."),
    ),
    (
        ("Permis de grue", "Le permis de grue du quai est gardé 24 heures."),
        ("Durée du permis", "Le permis de grue du quai est conservé trois jours."),
    ),
    (
        (
            "Retries of the crane",
            "When the crane feed fails, it is retried five times by the pier.",
        ),
        ("Crane feed", "The pier tries the crane feed that fails again fourteen times."),
    ),
    (
        ("Tide refunds", "Tide refunds take five days."),
        ("Refunds of the tide", "A tide refund takes 15 days."),
    ),
    (("Refunds", "Refunds take five days."), ("Refund rules", "A refund takes 15 days.")),
    (
        ("Crane checks", "The crane is checked every two weeks."),
        ("How often the crane is checked", "Checks of the crane are monthly."),
    ),
    (
        ("Pier passes", "Pier passes are valid for two years."),
        ("Validity of pier passes", "Pier passes never expire."),
    ),
    (
        ("Crane API", "The crane API allows 100 calls per minute per key."),
        ("Calls of the crane API", "A key of the crane API may make 600 calls a minute."),
    ),
]
COMPATIBLE: list[tuple[Side, Side]] = [
    (
        ("Tide queue", "The queue of tide messages holds at most 9,000 messages."),
        (
            "Tide queue alert",
            "An alert fires when the queue of tide messages holds 7,000 messages.",
        ),
    ),
    (
        ("File des marées", "La file des marées contient au plus 9000 messages."),
        ("Alerte de la file", "Une alerte part si la file des marées contient 7000 messages."),
    ),
    (
        ("Tide feed", "The tide feed allows fifty calls per minute."),
        ("Tide feed budget", "The tide feed allows 3000 calls per hour."),
    ),
    (
        ("Relevés gardés", "Les relevés de marée sont gardés trois mois."),
        ("Purge des relevés", "Les relevés de marée sont purgés après 90 jours."),
    ),
    (
        ("Connecteur Alpha", "Le délai du connecteur Alpha est de 4 s."),
        ("Connecteur Omega", "Le délai du connecteur Omega est de 9 s."),
    ),
    (
        ("Tide queue crane", "Messages of crane are kept 4 days."),
        ("Tide queue crane-dlq", "Messages of crane-dlq are kept 14 days."),
    ),
    (
        ("Mooring pool", "The mooring pool has 20 places."),
        ("Mooring pool of the marina", "The mooring pool of the marina has 50 places."),
    ),
    (
        ("Mooring pass carried over", "Up to five days are carried over to the next pass."),
        ("Mooring pass", "A mooring pass has 28 days."),
    ),
    (
        ("Berth numbers", "A berth number has eight digits. With its check it has nine digits."),
        ("Berth number on labels", "The berth number on labels has nine digits."),
    ),
]


@pytest.mark.parametrize(("a", "b"), OPPOSED)
def test_two_amounts_of_one_attribute_contradict(a: Side, b: Side) -> None:
    for first, second in ((a, b), (b, a)):
        found = find_contradiction(Statement(*first), Statement(*second))
        assert found is not None
        assert found.kind == "number"


@pytest.mark.parametrize(("a", "b"), COMPATIBLE)
def test_amounts_that_agree_or_measure_other_things_do_not(a: Side, b: Side) -> None:
    assert find_contradiction(Statement(*a), Statement(*b)) is None
    assert find_contradiction(Statement(*b), Statement(*a)) is None
