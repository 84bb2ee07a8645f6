"""Each rule by itself; the labelled pairs measure them together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commonplace.memory.engine.contradiction import Statement, find_contradiction
from measuring import runs_within

PAIRS = Path(__file__).parents[3] / "data" / "memory" / "contradictions.jsonl"
CONFLICTS = [
    (
        "number",
        "The pool holds 20 connections per worker.",
        "The pool holds 50 connections per worker.",
    ),
    (
        "number",
        "Sessions of the shop expire after 2 hours.",
        "Sessions of the shop expire after 30 minutes.",
    ),
    (
        "negation",
        "The importer validates rows before it writes them.",
        "The importer does not validate rows before it writes them.",
    ),
    (
        "negation",
        "Le proxy conserve les en-têtes du client.",
        "Le proxy ne conserve pas les en-têtes du client.",
    ),
    (
        "opposite",
        "Compression is enabled for the public API.",
        "Compression is disabled for the public API.",
    ),
    (
        "setting",
        "Run the worker with log_level=debug in staging.",
        "Run the worker with log_level=warning in staging.",
    ),
    (
        "value",
        "Releases of the client library are cut from trunk.",
        "Releases of the client library are cut from develop.",
    ),
]


# One frame with two values.
REPLACED = [
    ("Production runs in eu-west-1.", "Production runs in eu-central-1."),
    ("Python code is formatted with black.", "Python code is formatted with ruff format."),
    ("The cache uses the policy allkeys-lru.", "The cache uses the policy volatile-ttl."),
    ("Features are computed hourly.", "Features are computed daily."),
    ("Le front utilise yarn.", "Le front utilise pnpm."),
    ("A failing check blocks the merge.", "A failing check does not block the merge."),
]


# The same frame, but both may hold.
COMPATIBLE = [
    ("Staging runs in eu-west-1.", "Production runs in eu-central-1."),
    ("The importer is written in Python.", "The importer is written by the data team."),
    ("The outage was caused by a full disk.", "The outage was caused by an expired key."),
    ("The export supports files in CSV.", "The export supports files in Parquet."),
    ("The password is reset in staging.", "The password is reset in production."),
    ("Sessions are kept in Redis.", "Sessions are kept in Redis with two replicas."),
    ("The bug is tracked in PR #466.", "The bug is tracked in PR #467."),
    ("The queue holds 10,000 messages.", "An alert fires when the queue holds 8,000 messages."),
    ("Application logs are kept for 30 days.", "Audit logs are kept for 7 years."),
]


# Titles that state the value themselves, each with a content that repeats it.
STATED = [
    ("number", "API timeout is 30 seconds", "API timeout is 60 seconds"),
    ("number", "Set the pool size to 10", "Set the pool size to 50"),
    ("number", "Rate limit 100 requests per minute", "Rate limit 500 requests per minute"),
    ("number", "JWT expiry is 15 minutes", "JWT expiry is 24 hours"),
    ("number", "Le port de la base est 5432", "Le port de la base est 5433"),
    ("opposite", "Enable HTTP/2 on the proxy", "Disable HTTP/2 on the proxy"),
    ("opposite", "Cache activé en production", "Cache désactivé en production"),
    ("negation", "Always store timestamps in UTC", "Never store timestamps in UTC"),
    ("value", "Use tabs for indentation in Go", "Use spaces for indentation in Go"),
]


TWO_THINGS = [
    ("Python 3.8 support ends in October", "Python 3.9 support ends in November"),
    ("HTTP 502 from the gateway: upstream closed", "HTTP 504 from the gateway: upstream slow"),
    ("Sprint 12 shipped 8 stories", "Sprint 13 shipped 11 stories"),
    ("Incident of 3 May: down for 12 minutes", "Incident of 9 June: down for 40 minutes"),
    ("Disable autovacuum before a bulk load", "Enable autovacuum after a bulk load"),
    ("Keep 7 daily backups", "Keep 12 monthly backups"),
    ("Timeout of the search API is 2 seconds", "Timeout of the export API is 60 seconds"),
    ("Upgrade to PostgreSQL 15 took 2 hours", "Upgrade to PostgreSQL 16 took 40 minutes"),
]


AGREEMENTS = [
    ("The cache lives 60 seconds.", "The cache lives 1 minute."),
    ("The pool holds 20 connections.", "The pool holds 20 connections, as before."),
    ("Build 12 failed on the linter step.", "Build 19 failed on the linter step."),
    ("return cache.get(key, default=1)", "return cache.get(key, default=2)"),
]


@pytest.mark.parametrize(("kind", "a", "b"), CONFLICTS)
def test_a_contradiction_is_found_in_both_orders(kind: str, a: str, b: str) -> None:
    for first, second in ((a, b), (b, a)):
        conflict = find_contradiction(Statement("Note", first), Statement("Note", second))
        assert conflict is not None
        assert conflict.kind == kind
        assert first in conflict.reason
        assert second in conflict.reason


@pytest.mark.parametrize(("a", "b"), REPLACED)
def test_two_values_in_one_frame_contradict(a: str, b: str) -> None:
    for first, second in ((a, b), (b, a)):
        assert find_contradiction(Statement("Note", first), Statement("Memo", second)) is not None


@pytest.mark.parametrize(("a", "b"), COMPATIBLE)
def test_sentences_that_can_both_hold_do_not_contradict(a: str, b: str) -> None:
    for first, second in ((a, b), (b, a)):
        assert find_contradiction(Statement("Note", first), Statement("Memo", second)) is None


def test_most_labelled_pairs_are_told_apart() -> None:
    pairs = [json.loads(line) for line in PAIRS.read_text("utf-8").splitlines()]
    told = [
        find_contradiction(Statement(**pair["a"]), Statement(**pair["b"])) is not None
        for pair in pairs
    ]
    actual = [pair["label"] == "contradiction" for pair in pairs]
    right = sum(found and label for found, label in zip(told, actual, strict=True))
    assert right / sum(actual) >= 0.9
    assert right / sum(told) >= 0.92


@pytest.mark.parametrize(("kind", "a", "b"), STATED)
def test_titles_with_two_values_of_one_thing_contradict(kind: str, a: str, b: str) -> None:
    for first, second in ((a, b), (b, a)):
        conflict = find_contradiction(
            Statement(first, f"{first}."), Statement(second, f"{second}.")
        )
        assert conflict is not None
        assert conflict.kind == kind


def test_entries_with_one_title_contradict_by_their_last_word() -> None:
    a = "Pull requests of the infra repository target develop."
    b = "Pull requests of the infra repository target trunk."
    title = "Branch of the infra repository"
    conflict = find_contradiction(Statement(title, a), Statement(title, b))
    assert conflict is not None
    assert conflict.detail == "develop against trunk"
    a, b = "Letters of the finance desk target Ann.", "Letters of the finance desk target Bob."
    assert find_contradiction(Statement("Note", a), Statement("Note", b)) is None


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Il est interdit de déployer le vendredi.", "Il est permis de déployer le vendredi."),
        ("Il est interdit de déployer le vendredi.", "Il est autorisé de déployer le vendredi."),
        ("Uploads of archives are allowed.", "Uploads of archives are prohibited."),
    ],
)
def test_a_word_may_have_several_opposites(a: str, b: str) -> None:
    for first, second in ((a, b), (b, a)):
        conflict = find_contradiction(Statement("Note", first), Statement("Memo", second))
        assert conflict is not None
        assert conflict.kind == "opposite"


@pytest.mark.parametrize(("a", "b"), TWO_THINGS)
def test_titles_that_name_two_things_do_not_contradict(a: str, b: str) -> None:
    assert find_contradiction(Statement(a, f"{a}."), Statement(b, f"{b}.")) is None


def test_a_verb_before_a_number_does_not_make_it_a_name() -> None:
    a, b = (
        "On the API hosts the server runs with 4 workers.",
        "On the API hosts the server runs with 8 workers.",
    )
    conflict = find_contradiction(Statement("Worker count", a), Statement("Number of workers", b))
    assert conflict is not None
    assert conflict.detail == "4 against 8"


def test_two_decisions_for_one_thing_contradict() -> None:
    a, b = "Use PostgreSQL for storage", "Use MongoDB for storage"
    conflict = find_contradiction(Statement(a, "", decides=True), Statement(b, "", decides=True))
    assert conflict is not None
    assert conflict.kind == "value"


@pytest.mark.parametrize(("a", "b"), AGREEMENTS)
def test_agreeing_or_unrelated_entries_do_not_contradict(a: str, b: str) -> None:
    assert find_contradiction(Statement("Note", a), Statement("Note", b)) is None


# Entries with one title of two words or more.
ONE_TITLE = [
    ("Ktlint formats all Kotlin sources.", "Spotless formats all Kotlin sources."),
    ("Buffers are flushed oldest entries first.", "Buffers are flushed largest entries first."),
    ("Warm the cache before the switch.", "Warm the cache after the switch."),
    ("May guests upload files? Yes.", "May guests upload files? No."),
    ("Les invités ont-ils accès ? Oui.", "Les invités ont-ils accès ? Non."),
]


# One value replaces another, or a thing is not there any more.
OUTDATED = [
    ("Thumbnails are made by ImageMagick.", "ImageMagick was replaced by libvips for thumbnails."),
    ("Staff sign in through Okta.", "We moved the staff sign-in from Okta to Entra ID."),
    ("Les factures passent par SQS.", "SQS a été remplacé par Kafka pour les factures."),
    ("Le portail des clients tourne sous Angular.", "Le portail est passé de Angular à Vue."),
    ("A nightly job archives old orders.", "The nightly job that archives old orders was removed."),
]


ROLES = [
    ("Ines is code owner of the ledger.", "Tom is code owner of the ledger."),
    ("Ines owns the ledger database schema.", "Tom owns the ledger database schema."),
    ("Nora est responsable du module paie.", "Yann est responsable du module paie."),
]


# A subject with a purpose, a condition or a comma before the value.
LONG_SUBJECTS = [
    ("For load tests of the API we rely on k6.", "For load tests of the API we rely on Gatling."),
    ("Pour compiler le noyau, utiliser gcc.", "Pour compiler le noyau, utiliser clang."),
    ("Always vacuum the table before the import.", "Always vacuum the table after the import."),
]


STILL_COMPATIBLE = [
    ("Celery sends the reports.", "Celery was replaced by Dramatiq for thumbnails."),
    ("Before May, jobs were run by Celery.", "Celery was replaced by Dramatiq for all jobs."),
    ("Take a backup before the upgrade.", "Take a backup after the upgrade."),
    ("The merge queue is enabled.", "The merge queue is turned on."),
    ("Preview builds enable the new editor.", "Production builds disable the new editor."),
    ("Ines is code owner of the ledger.", "Tom is code owner of the gateway."),
    ("Redis is used for sessions.", "Redis is used for counters."),
    (
        "Redis holds the job queue.",
        "Sessions were moved from Redis to PostgreSQL for the job queue.",
    ),
    ("The parser reads tokens.", "The old parser was replaced by a faster parser for tokens."),
    ("The proxy caches pages.", "The certificate of the proxy was replaced by one for all pages."),
    ("Date helpers live in utils.", "We moved the slug helper from utils to core."),
    ("Les tests lancent un serveur.", "Le serveur des tests a été remplacé par un conteneur."),
    ("The API does not support XML.", "The API supports JSON."),
    (
        "The endpoint /v1/users was removed in release 4.",
        "The endpoint /v2/users returns all users.",
    ),
    (
        "Le champ fax a été supprimé du formulaire client.",
        "Le champ nom du formulaire client est lu.",
    ),
]


@pytest.mark.parametrize(("a", "b"), ONE_TITLE)
def test_entries_with_one_title_contradict_by_one_word(a: str, b: str) -> None:
    for first, second in ((a, b), (b, a)):
        found = find_contradiction(
            Statement("Comments of guests", first), Statement("Comments of guests", second)
        )
        assert found is not None


@pytest.mark.parametrize(("a", "b"), [*OUTDATED, *ROLES, *LONG_SUBJECTS])
def test_replaced_values_and_roles_contradict(a: str, b: str) -> None:
    for first, second in ((a, b), (b, a)):
        found = find_contradiction(Statement("Note", first), Statement("Memo", second))
        assert found is not None
        assert first in found.quote_a
        assert second in found.quote_b


@pytest.mark.parametrize(("a", "b"), STILL_COMPATIBLE)
def test_replacements_and_orders_of_other_things_do_not_contradict(a: str, b: str) -> None:
    for first, second in ((a, b), (b, a)):
        assert find_contradiction(Statement("Note", first), Statement("Memo", second)) is None


def test_the_reason_names_the_old_value_as_it_is_written() -> None:
    a, b = (
        "Jobs of the shop run in Celery.",
        "Celery was replaced by Dramatiq for jobs of the shop.",
    )
    found = find_contradiction(Statement("Queue", a), Statement("Change", b))
    assert found is not None
    assert found.detail == "Celery was replaced"


def test_what_a_hook_runs_is_not_one_value() -> None:
    a, b = "The commit hook of the shop runs prettier.", "The commit hook of the shop runs eslint."
    assert find_contradiction(Statement("Commit hook", a), Statement("Commit hook", b)) is None


@pytest.mark.parametrize("piece", ["((a", "(1 ", "a: b\n", "UTC ", "was replaced by "])
def test_comparing_hostile_text_takes_linear_time(piece: str) -> None:
    hostile = piece * (64_000 // len(piece))
    first, second = Statement("Pool size", hostile), Statement("Pool size now", f"{hostile} 1")
    assert runs_within(0.6, lambda: find_contradiction(first, second))


def test_values_of_two_components_do_not_contradict() -> None:
    def branch(name: str, value: str) -> Statement:
        return Statement(f"Branch of {name}", f"The default branch of {name} is {value}.")

    service = Statement(
        "Deploy of billing-cron",
        "The billing-cron service listens on port 8003 and its default branch is master.",
    )
    assert find_contradiction(service, branch("billing-api", "main")) is None
    assert find_contradiction(service, branch("catalog-worker", "main")) is None
    assert find_contradiction(service, branch("billing-cron", "main")) is not None
