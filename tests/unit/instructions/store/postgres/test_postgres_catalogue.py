"""Several servers with one catalogue: order of writers, lost answers, outages, restored data."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

from commonplace.bootstrap.team import postgres_components
from commonplace.instructions.engine.codec import prepare_as_written, prepare_change
from commonplace.instructions.engine.normalise import ReadingRules
from commonplace.instructions.errors import CATALOGUE_BUSY
from commonplace.instructions.model import Author, InstructionChange
from commonplace.instructions.store.postgres.catalogue import PostgresCatalogueStore, SharedOptions
from commonplace.instructions.store.postgres.configuration import SharedDocuments
from commonplace.instructions.store.postgres.usage import UsageTable
from commonplace.kernel.clock import iso, utc_now
from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.errors import STORAGE_UNAVAILABLE
from commonplace.storage.postgres.database import PostgresDatabase, open_database
from commonplace.storage.postgres.migrations import migrate
from servers import Postgres, make_database

ANN = Author("local", "ann")
RULES = ReadingRules()
Open = Callable[..., PostgresCatalogueStore]


def change(id_: str, body: str = "Do it.") -> InstructionChange:
    return prepare_change({"id": id_, "title": id_, "body": body}, "add", RULES)


def write(store: PostgresCatalogueStore, id_: str, body: str = "Do it.") -> None:
    with store.exclusive():
        store.commit([change(id_, body)], ANN)


def remove(store: PostgresCatalogueStore, id_: str) -> None:
    with store.exclusive():
        store.commit([InstructionChange(id_, None, None, "remove")], ANN)


def ids(store: PostgresCatalogueStore) -> list[str]:
    store.catch_up().result(10)
    return list(store.catalogue.ids)


def open_store(stack: ExitStack, url: str, **options: Any) -> PostgresCatalogueStore:
    database: PostgresDatabase = stack.enter_context(open_database(url, pool_size=2))
    documents = SharedDocuments()
    rules = ReadingRules(owners=documents.configuration().owners)
    store = PostgresCatalogueStore(
        database,
        rules,
        documents,
        UsageTable(database),
        clock=lambda: iso(utc_now()),
        options=SharedOptions(**{"watch": False, **options}),
    )
    stack.callback(store.close)
    store.open()
    return store


@pytest.fixture
def stores(postgres_url: str) -> Iterator[Open]:
    """Open stores on one database, each as another server would."""
    with ExitStack() as stack:
        yield lambda **options: open_store(stack, postgres_url, **options)


def test_a_change_is_seen_by_the_other_server_at_its_next_question(stores: Open) -> None:
    one, two = stores(), stores()
    for number in range(20):
        write(one, f"a{number}")
        assert f"a{number}" in ids(two)
        assert one.catalogue.hash == two.catalogue.hash
    remove(two, "a3")
    assert "a3" not in ids(one)


def test_a_notification_brings_a_change_without_any_question(stores: Open) -> None:
    one, two = stores(), stores(watch=True)
    arrived = threading.Event()
    two.catalogue.subscribe(lambda before, after: arrived.set())
    write(one, "a")
    assert arrived.wait(20)
    assert two.catalogue.ids == ["a"]


def test_writers_of_several_servers_take_turns(stores: Open) -> None:
    servers = [stores(lock_seconds=30.0) for _ in range(3)]

    def work(number: int) -> None:
        for count in range(8):
            write(servers[number], f"s{number}-{count}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert all(len(ids(server)) == 24 for server in servers)
    assert len({server.catalogue.hash for server in servers}) == 1


def test_a_writer_that_waits_too_long_is_told_to_try_again(stores: Open) -> None:
    one, two = stores(), stores(lock_seconds=0.05)
    with one.exclusive(), pytest.raises(CommonplaceError) as refused:
        write(two, "b")
    assert refused.value.code is CATALOGUE_BUSY
    assert refused.value.retryable
    write(two, "b")
    assert ids(one) == ["b"]


def test_a_writer_that_lost_its_lock_overwrites_nothing(stores: Open, postgres_url: str) -> None:
    one, two = stores(), stores()
    with one.exclusive():
        _end_lock_holders(postgres_url)
        write(two, "b", "From two")
        with pytest.raises(CommonplaceError) as refused:
            one.commit([change("b", "From one")], ANN)
    assert refused.value.code is CATALOGUE_BUSY
    assert ids(one) == ["b"]
    assert one.catalogue.entries["b"].document["body"] == "From two"
    write(one, "c")
    assert ids(two) == ["b", "c"]


def _end_lock_holders(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        ended = connection.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_locks WHERE locktype = 'advisory'"
        ).fetchall()
    assert ended == [(True,)]


def test_all_changes_of_a_commit_are_stored_or_none(stores: Open, postgres_url: str) -> None:
    one = stores()
    with psycopg.connect(postgres_url) as connection:
        connection.execute(
            "ALTER TABLE instruction_entries ADD CONSTRAINT no_b CHECK (id <> 'b') NOT VALID"
        )
    try:
        with one.exclusive(), pytest.raises(psycopg.errors.CheckViolation):
            one.commit([change("a"), change("b")], ANN)
    finally:
        with psycopg.connect(postgres_url) as connection:
            connection.execute("ALTER TABLE instruction_entries DROP CONSTRAINT no_b")
    assert ids(one) == []
    assert one.history("a") == []


def test_history_has_before_and_after_of_every_change(stores: Open) -> None:
    one, two = stores(), stores(agent="claude-7")
    write(one, "a", "First")
    write(two, "a", "Second")
    remove(one, "a")
    recorded = two.history("a")
    assert [(entry.number, entry.action, entry.agent) for entry in recorded] == [
        (1, "add", None),
        (2, "add", "claude-7"),
        (3, "remove", None),
    ]
    assert [(entry.before or {}).get("body") for entry in recorded] == [None, "First", "Second"]
    assert [(entry.after or {}).get("body") for entry in recorded] == ["First", "Second", None]


def test_a_long_history_loses_its_older_part_and_never_its_newest_change(
    stores: Open, postgres_url: str
) -> None:
    one = stores()
    write(one, "small")
    for number in range(8):
        write(one, "a", f"{number}" * 900_000)
    with one.exclusive():
        one.commit([change(f"filler-{number}") for number in range(100)], ANN)
    sizes = sum(len(str(entry.before)) + len(str(entry.after)) for entry in one.history("a"))
    assert 900_000 < sizes < 6_000_000
    assert one.history("a")[-1].after["body"][0] == "7"  # type: ignore[index]
    assert len(one.history("small")) == 1


def test_documents_are_shared_and_owner_rules_apply_to_all_entries(stores: Open) -> None:
    one, two = stores(), stores()
    with one.exclusive():
        plain = prepare_as_written("sec-a", {"id": "sec-a", "body": "Rotate."}, "add", RULES)
        one.commit([plain], ANN)
    rules = b'{"ownership": [{"pattern": "^sec-", "owner": "security"}]}'
    with one.exclusive():
        one.commit_document("owners.json", rules, ANN)
    assert ids(two) == ["sec-a"]
    assert two.documents.get("owners.json") == rules
    assert two.catalogue.entries["sec-a"].document["owner"] == "security"
    assert one.catalogue.hash == two.catalogue.hash
    with two.exclusive():
        two.commit_document("owners.json", None, ANN)
    ids(one)
    assert one.documents.get("owners.json") is None


def test_a_database_restored_to_an_earlier_state_is_read_again(
    stores: Open, postgres_url: str
) -> None:
    one = stores()
    write(one, "a")
    write(one, "b")
    with psycopg.connect(postgres_url) as connection:  # as restoring a backup made before `b`
        connection.execute("DELETE FROM instruction_entries WHERE id = 'b'")
        connection.execute("DELETE FROM instruction_changes WHERE id = 'b'")
    assert ids(one) == ["a"]
    write(one, "c")
    assert ids(one) == ["a", "c"]


@pytest.fixture(scope="module")
def fragile() -> Iterator[Postgres]:
    """A server of its own, to be stopped; it keeps what it acknowledged when it is killed."""
    server = Postgres(fsync="off", full_page_writes="off")
    yield server
    server.close()


@pytest.fixture
def fragile_url(fragile: Postgres) -> str:
    url = make_database(fragile.url)
    with open_database(url, pool_size=1) as database:
        migrate(database, postgres_components())
    return url


def test_an_outage_refuses_writes_and_says_that_reads_are_not_confirmed(
    fragile: Postgres, fragile_url: str
) -> None:
    with ExitStack() as stack:
        store = open_store(stack, fragile_url)
        write(store, "a")
        fragile.stop()
        try:
            with pytest.raises(CommonplaceError) as refused:
                write(store, "b")
            assert refused.value.code is STORAGE_UNAVAILABLE
            assert refused.value.retryable
            with pytest.raises(CommonplaceError) as unconfirmed:
                store.catch_up().result(10)
            assert unconfirmed.value.code is STORAGE_UNAVAILABLE
            assert store.catalogue.ids == ["a"]
            assert store.status().write_problem == "STORAGE_UNAVAILABLE"
        finally:
            fragile.start()
        write(store, "b")
        assert ids(store) == ["a", "b"]
        assert store.status().write_problem == ""


def test_a_commit_whose_answer_was_lost_is_not_in_doubt(
    fragile: Postgres, fragile_url: str, tmp_path: Path
) -> None:
    """Crash the server during commits: each is either acknowledged and there, or absent."""
    with ExitStack() as stack:
        store = open_store(stack, fragile_url)
        acknowledged: list[str] = []
        refused: list[str] = []
        crashed = threading.Event()

        def work() -> None:
            number = 0
            while not crashed.is_set() or number < 40:
                id_ = f"n{number}"
                number += 1
                try:
                    write(store, id_)
                    acknowledged.append(id_)
                except CommonplaceError:
                    refused.append(id_)

        writer = threading.Thread(target=work)
        writer.start()
        for _ in range(3):
            fragile.restart(signal.SIGQUIT)
        crashed.set()
        writer.join(120)
        present = set(ids(open_store(stack, fragile_url)))
        assert set(acknowledged) == present - set(refused)
        assert not present & set(refused)


def test_questions_during_changes_of_the_same_server_disturb_neither(stores: Open) -> None:
    one, two = stores(lock_seconds=30.0), stores(lock_seconds=30.0)
    done = threading.Event()
    problems: list[BaseException] = []

    def ask() -> None:
        while not done.is_set():
            one.catch_up().result(30)

    def write_all(store: PostgresCatalogueStore, name: str) -> None:
        try:
            for number in range(60):
                write(store, f"{name}{number}")
                if number % 3 == 0:
                    remove(store, f"{name}{number}")
                    assert f"{name}{number}" not in store.catalogue.entries
                else:
                    assert f"{name}{number}" in store.catalogue.entries
                if number % 20 == 0:
                    with store.exclusive():
                        owners = f'{{"ownership": [{{"pattern": "^{name}", "owner": "{number}"}}]}}'
                        store.commit_document("owners.json", owners.encode(), ANN)
        except BaseException as error:  # shown by the test below
            problems.append(error)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    writers = [
        threading.Thread(target=write_all, args=(store, name))
        for store, name in ((one, "a"), (two, "b"))
    ]
    for thread in (*threads, *writers):
        thread.start()
    for thread in writers:
        thread.join(180)
    done.set()
    for thread in threads:
        thread.join(30)
    assert problems == []
    assert ids(one) == ids(two)
    assert len(one.catalogue) == 80
    assert one.catalogue.hash == two.catalogue.hash
