"""Servers share a database; a command that needs it alone is refused while any serves."""

from __future__ import annotations

import threading
import time

import pytest

from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.postgres.database import open_database
from commonplace.storage.postgres.serving import claim_database, share_database


def test_a_claim_is_refused_while_servers_share(postgres_url: str) -> None:
    with open_database(postgres_url, pool_size=1) as database:
        with share_database(database), share_database(database):
            with pytest.raises(CommonplaceError) as refused, claim_database(database):
                pass
            assert refused.value.code.name == "DATA_IN_USE"
            assert refused.value.details == {"servers": 2}
        with claim_database(database):
            pass


def test_a_server_waits_for_a_command_that_has_the_database(postgres_url: str) -> None:
    with open_database(postgres_url, pool_size=1) as database:
        started = threading.Event()

        def serve() -> None:
            with share_database(database):
                started.set()

        thread = threading.Thread(target=serve)
        with claim_database(database):
            thread.start()
            assert not started.wait(0.3)
        assert started.wait(10)
        thread.join(10)


def test_the_lock_is_taken_again_after_its_connection_was_lost(postgres_url: str) -> None:
    with open_database(postgres_url, pool_size=1) as database, share_database(database):
        with database.connect() as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_locks "
                "WHERE locktype = 'advisory' AND pid <> pg_backend_pid()"
            )

        def is_refused() -> bool:
            try:
                with claim_database(database):
                    return False
            except CommonplaceError:
                return True

        deadline = time.monotonic() + 20
        while not is_refused():
            assert time.monotonic() < deadline
            time.sleep(0.05)
