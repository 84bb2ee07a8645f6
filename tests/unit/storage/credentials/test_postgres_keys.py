"""Keys while PostgreSQL cannot be reached: last known ones stay valid for a bounded time."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from commonplace.kernel.auth import Scope
from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.credentials.postgres_keys import PostgresKeys
from commonplace.storage.postgres.database import open_database
from commonplace.storage.postgres.migrations import CREDENTIALS, STORAGE, migrate
from servers import Postgres

BOUND_SECONDS = 20.0


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + BOUND_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "the condition was not met in time"
        time.sleep(0.02)


def is_refused_as_unavailable(keys: PostgresKeys, token: str) -> bool:
    try:
        return keys.find(token) is None
    except CommonplaceError as refused:
        return refused.code.name == "STORAGE_UNAVAILABLE" and refused.retryable


def test_an_outage_keeps_known_keys_for_the_grace_period_only() -> None:
    server = Postgres()
    try:
        with open_database(server.url, pool_size=2) as database:
            migrate(database, [STORAGE, CREDENTIALS])
            keys = PostgresKeys(database, grace_seconds=1.5)
            record, token = keys.add("team-a", "alice", Scope.READ)
            keys.start()
            assert keys.find(token) is not None
            server.stop()
            assert keys.find(token) is not None
            wait_until(lambda: is_refused_as_unavailable(keys, token))
            with pytest.raises(CommonplaceError):
                keys.tenants()
            server.start()
            wait_until(lambda: not is_refused_as_unavailable(keys, token))
            keys.revoke(record.id)
            wait_until(lambda: keys.find(token) is None)
            keys.close()
    finally:
        server.close()


def test_a_database_restored_to_an_earlier_state_is_read_again(postgres_url: str) -> None:
    with open_database(postgres_url, pool_size=2) as database:
        keys = PostgresKeys(database)
        keys.start()
        _, token = keys.add("team-a", "alice", Scope.READ)
        keys.add("team-a", "bob", Scope.READ)
        assert keys.find(token) is not None
        with database.connect() as connection:
            connection.execute("DELETE FROM api_key")
            connection.execute("UPDATE api_key_state SET revision = 1")
        wait_until(lambda: keys.find(token) is None)
        keys.close()
