"""Entries of one subject in different words; the labelled pairs measure the rules together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commonplace.memory.engine.contradiction import Statement, find_contradiction
from measuring import runs_within

PAIRS = Path(__file__).parents[4] / "data" / "memory" / "worded_contradictions.jsonl"
Side = tuple[str, str]
OPPOSED: list[tuple[str, Side, Side]] = [
    (
        "value",
        ("Formatting the services", "Python code of the tree is formatted with Black."),
        ("Hooks of the tree", "ruff format writes the Python code of the tree, nothing else does."),
    ),
    (
        "value",
        ("Publisher", "Every invoice message of the ledger goes out through Nimbus."),
        ("Where invoice messages go", "Invoice messages of the ledger leave by Quasar only."),
    ),
    (
        "number",
        ("Abandoned carts", "An abandoned cart is purged after 30 days."),
        ("Mail about carts", "Abandoned carts are kept for six months before they go."),
    ),
    (
        "negation",
        ("GeoClient usage", "GeoClient is thread-safe, create a single GeoClient."),
        ("Garbled answers", "GeoClient is not thread-safe, so each worker makes its own."),
    ),
    (
        "opposite",
        ("Rules of the pier", "Lifting wet cargo is forbidden for crane drivers of the pier."),
        ("Wet cargo", "When it rains it is allowed that crane drivers of the pier lift wet cargo."),
    ),
    (
        "opposite",
        ("Règles du quai", "Il est interdit aux grutiers du quai de lever une charge humide."),
        ("Charge humide", "Quand il pleut, les grutiers du quai peuvent lever une charge humide."),
    ),
    (
        "negation",
        ("Quotes", "The v1 quotes API was removed."),
        ("Small carriers", "Small carriers call the v1 quotes API every day."),
    ),
    (
        "opposite",
        ("Login names", "Usernames of the portal are case-insensitive."),
        ("Two accounts", "Usernames of the portal are case-sensitive, so both are valid."),
    ),
    (
        "opposite",
        ("Release branches", "Force-pushing to a release branch is forbidden for maintainers."),
        (
            "Bad release branch",
            "Maintainers are allowed to do a force-pushing to a release branch.",
        ),
    ),
    (
        "opposite",
        ("Publishing an article", "Invalidate the cache before the article is published."),
        ("Old article shown", "The cache is invalidated after the article was published."),
    ),
    (
        "negation",
        ("Daily roll call", "The crane crew has a roll call every morning."),
        ("How the crane crew syncs", "There is no roll call in this crew."),
    ),
    (
        "negation",
        ("Telex", "Orders by telex are still accepted."),
        ("Orders by telex", "We no longer accept orders by telex."),
    ),
    (
        "opposite",
        ("Sunday landings", "Landing on Sundays is forbidden."),
        ("Landing on Sundays", "You may land on Sundays."),
    ),
    (
        "opposite",
        ("Kites at the pier", "Kites are not allowed to fly at the pier."),
        ("Flying of kites", "Kites may fly at the pier."),
    ),
    (
        "negation",
        ("Rust on the crane", "Rust stops the crane."),
        ("Crane and rust", "The crane creaks; it never stops the crane."),
    ),
]
COMPATIBLE: list[tuple[Side, Side]] = [
    (
        ("Skippers and locks", "Skippers cannot open the lock of the pier."),
        ("Pilots and locks", "Pilots can open the lock of the pier."),
    ),
    (
        ("Grutiers et écluse", "Les grutiers ne peuvent pas ouvrir l'écluse du port."),
        ("Pilotes et écluse", "Les pilotes peuvent ouvrir l'écluse du port."),
    ),
    (
        ("Tide sender", "The tide sender works in batches of 45, below the limit for one call."),
        ("Tide returns", "Tide returns come by file. There is no limit on their side."),
    ),
    (
        ("Envoi des marées", "L'envoi des marées tient compte de la limite du port."),
        ("Retours", "Les retours des marées arrivent par fichier. Il n'y a pas de limite."),
    ),
    (
        ("Traffic of the pier", "Traffic of the pier enters by Caddis, every team has its route."),
        ("Closed doors", "All traffic of the pier is closed between rooms except for Mayfly."),
    ),
    (
        ("Gateway floor", "The gateway never has below 3 replicas."),
        ("Gateway ceiling", "The gateway scales up to at most 12 replicas."),
    ),
    (
        ("Import of stock", "The import of stock is planned at 4:00 UTC."),
        ("When stock is fresh", "The import of stock starts at 5:00 Europe/Paris in winter."),
    ),
    (
        ("Access to production", "Developers have no access to the production database."),
        ("Access in an incident", "In case of an incident, developers get access to the database."),
    ),
    (
        ("TLS at the edge", "The public edge accepts TLS 1.2."),
        ("Old scanners", "The public edge does not accept TLS 1.0 of the scanners."),
    ),
    (
        ("Connections of quoting", "Each quoting pod opens 15 connections."),
        ("Budget of quoting", "quoting has 120 connections in total."),
    ),
]


@pytest.mark.parametrize(("kind", "a", "b"), OPPOSED)
def test_opposed_claims_contradict_in_other_words(kind: str, a: Side, b: Side) -> None:
    for first, second in ((a, b), (b, a)):
        found = find_contradiction(Statement(*first), Statement(*second))
        assert found is not None
        assert found.kind == kind


@pytest.mark.parametrize(("a", "b"), COMPATIBLE)
def test_claims_that_can_both_hold_do_not_contradict(a: Side, b: Side) -> None:
    assert find_contradiction(Statement(*a), Statement(*b)) is None
    assert find_contradiction(Statement(*b), Statement(*a)) is None


def test_few_contradictions_between_differently_worded_entries_are_invented() -> None:
    pairs = [json.loads(line) for line in PAIRS.read_text("utf-8").splitlines()]
    pairs = [pair for pair in pairs if pair["split"] == "tuning"]
    told = [_contradicts(pair["a"], pair["b"]) for pair in pairs]
    actual = [pair["label"] == "contradiction" for pair in pairs]
    right = sum(found and label for found, label in zip(told, actual, strict=True))
    assert right / sum(told) >= 0.9
    assert right / sum(actual) >= 0.6


@pytest.mark.parametrize(
    "piece",
    ["a", "A ", "Ab ", "the ", "l'", "only a ", "who is ", "questions to ", "1 ", "a-", "a_a-",
     "owner of ", "responsable de ", "every ", "must ", "no longer ", "réservé à ", "not "],
)  # fmt: skip
def test_a_crafted_text_of_64_kb_is_compared_in_bounded_time(piece: str) -> None:
    text = piece * (65_536 // len(piece))
    crafted = Statement(text, text, decides=True)
    other = Statement("Questions to the pier", "Only pilots may open the lock of the pier.")
    assert runs_within(0.5, lambda: find_contradiction(crafted, other))


def _contradicts(a: dict[str, str], b: dict[str, str]) -> bool:
    first, second = (
        Statement(side["title"], side["content"], side["type"] in ("decision", "config"))
        for side in (a, b)
    )
    return find_contradiction(first, second) is not None
