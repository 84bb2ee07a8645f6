"""Two values of one kind for one subject, and values that one entry denies."""

from __future__ import annotations

import pytest

from commonplace.memory.engine.contradiction import Statement, find_contradiction

Side = tuple[str, str]
OPPOSED: list[tuple[str, Side, Side]] = [
    (
        "value",
        ("Rota of the pier", "The rota of the pier changes each Monday."),
        ("Who has the pier", "On the pier the rota passes to the next crew on Thursday."),
    ),
    (
        "value",
        ("Roulement du quai", "Le roulement du quai change le lundi."),
        ("Qui a le quai", "Au quai, le roulement passe au suivant le jeudi."),
    ),
    (
        "value",
        ("Berth planner search", "Lookups of the berth planner hit OpenSearch."),
        ("Slow lookups", "The berth planner sends its lookups to Typesense."),
    ),
    (
        "value",
        ("Recherche du planning", "Les recherches du planning des quais passent par Solr."),
        ("Planning lent", "Le planning des quais envoie ses recherches à Meilisearch."),
    ),
    (
        "value",
        ("Crane driver", "The crane driver is looked after by the Harbour team."),
        ("Broken crane", "Crane driver stuck? It belongs to the Logistics team, write to them."),
    ),
    (
        "value",
        ("Pilote de grue", "Le pilote de grue est maintenu par l'équipe Port."),
        ("Grue en panne", "Pilote de grue bloqué : c'est l'équipe Logistique qui s'en charge."),
    ),
    (
        "value",
        ("Licence", "The code is under MPL-2.0."),
        ("Our license", "Everything here is released under BSD-3-Clause."),
    ),
    (
        "value",
        ("Mesh of the yard cluster", "Pods of the yard cluster talk through Linkerd."),
        ("Resets in the yard cluster", "The yard cluster has no service mesh, pods talk directly."),
    ),
    (
        "negation",
        ("Tide jobs", "Tide jobs of the harbour run on Celery."),
        ("Tide jobs stuck", "Tide jobs of the harbour stopped after we uninstalled Celery."),
    ),
    (
        "opposite",
        ("Removing a berth", "A berth that is removed is soft-deleted."),
        ("Berth cannot come back", "Removing a berth deletes it permanently."),
    ),
    (
        "opposite",
        ("Suppression d'un quai", "La suppression d'un quai est une suppression logique."),
        ("Quai perdu", "Un quai supprimé est définitivement effacé de la table."),
    ),
    (
        "value",
        ("Lock of the pier", "Only pilots may open the lock."),
        ("Opening the lock", "Any skipper can open the lock without asking."),
    ),
    (
        "value",
        ("Minimum iOS of the pier app", "The pier app supports iOS 14 and newer."),
        ("Tide widgets", "The pier app needs at least iOS 16, so tide widgets are free to use."),
    ),
    (
        "value",
        ("Crane images", "Our crane images are based on Alpine."),
        ("Base image", "Crane images start from debian-slim."),
    ),
    (
        "value",
        ("Propriétaire du quai", "Malik est responsable du quai."),
        ("Quai", "Pour le quai, adressez-vous à Ines, qui en est la responsable."),
    ),
    (
        "value",
        ("Places d'été", "Les places d'été du quai sont réservées avant le 31 mars."),
        ("Place d'été au quai", "Les places d'été du quai sont réservées avant le 30 avril."),
    ),
    (
        "opposite",
        ("Leak of the pump", "The pump leaks, there is no fix."),
        ("Pump leak", "The leak of the pump was solved in June."),
    ),
    (
        "opposite",
        ("Cranes", "Each crane has its own repository."),
        ("Crane repositories", "All cranes live in one monorepo."),
    ),
]
COMPATIBLE: list[tuple[Side, Side]] = [
    (
        ("Who opens the lock", "Only pilots may open the lock."),
        ("Tickets", "Any skipper can open a ticket."),
    ),
    (
        ("Minimum Android of the pier app", "The pier app needs Android 10 or later."),
        ("Devices of the pier app", "The pier app is tested on a device with Android 14."),
    ),
    (
        ("Large fees", "Fees of more than 5,000 crowns are approved by the harbour master."),
        ("Small fees", "Fees of less than 5,000 crowns are approved by the shift lead."),
    ),
    (
        ("Note on the ledger", "Ines is code owner of the ledger."),
        ("Note on the gateway", "Tom is code owner of the gateway."),
    ),
    (
        ("Beacon in the bay", "The beacon is off by default in the bay."),
        ("Beacon at sea", "Outside the bay the beacon is on by default."),
    ),
    (
        ("middle_name can be null", "In the pier API the middle_name field may be null."),
        ("last_name is never null", "In the pier API last_name is always present and not null."),
    ),
    (
        ("Harbour texts are kept in MongoDB", "They have nested steps."),
        ("Harbour vouchers are kept in MariaDB", "The harbour wants transactions for them."),
    ),
    (
        ("Les brouillons du port sont dans SQLite", "Les brouillons du port sont locaux."),
        (
            "Les avis publiés du port vivent dans CouchDB",
            "Les avis publiés du port sont répliqués.",
        ),
    ),
    (
        ("Grease of the crane", "The crane is greased on Monday, and also on Friday if it rains."),
        ("Crane oil", "The crane gets oil on Thursday."),
    ),
    (
        ("Berth planner search", "Lookups of the berth planner hit OpenSearch."),
        ("Berth planner queue", "The berth planner publishes its lookups to Kafka."),
    ),
    (
        ("Client library", "The Python client of the tide feed is formatted with Black."),
        ("Web client", "The TypeScript client of the tide feed is formatted with Prettier."),
    ),
    (
        ("Export of tides", "The export of tides supports Avro."),
        ("Export of tides for partners", "The export of tides supports Protobuf."),
    ),
    (
        ("Sauvegarde complète du port", "La sauvegarde complète du port part chaque dimanche."),
        ("Sauvegarde incrémentale du port", "La sauvegarde incrémentale du port part chaque nuit."),
    ),
    (
        ("Owner of the crane driver", "The crane driver is owned by the Harbour team."),
        ("Crane driver reviews", "Changes of the crane driver are approved by the safety officer."),
    ),
    (
        ("Tide list", "The tide list was rebuilt by hand after the outage in May."),
        ("Tide list jobs", "The tide list is rebuilt automatically."),
    ),
    (
        ("Dump of the port", "The dump of the port starts at 2 am."),
        ("Port is slow in the night", "The dump of the port starts at 02:00, wait for it."),
    ),
    (
        ("Unloading fails, monday", "Unloading fails because the crane has no grease left."),
        ("Unloading fails, tuesday", "Unloading fails because the crane has no grease left."),
    ),
    (
        ("Le quai est fermé, lundi", "Le quai est fermé à cause du vent."),
        ("Le quai est fermé, jeudi", "Le quai est fermé à cause du vent."),
    ),
]


@pytest.mark.parametrize(("kind", "a", "b"), OPPOSED)
def test_two_values_of_one_kind_contradict(kind: str, a: Side, b: Side) -> None:
    for first, second in ((a, b), (b, a)):
        found = find_contradiction(Statement(*first), Statement(*second))
        assert found is not None
        assert found.kind == kind


@pytest.mark.parametrize(("a", "b"), COMPATIBLE)
def test_values_of_other_things_or_aspects_do_not_contradict(a: Side, b: Side) -> None:
    assert find_contradiction(Statement(*a), Statement(*b)) is None
    assert find_contradiction(Statement(*b), Statement(*a)) is None
