"""The secret that all servers of an installation share: one body over file and PostgreSQL."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.credentials.server_secret import (
    ServerSecret,
    read_secret_file,
    read_secret_row,
)

OpenSecret = Callable[[], ServerSecret]


@pytest.fixture(params=["file", "postgres"])
def open_secret(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenSecret]:
    """What a server does to get the secret; each call stands for another server."""
    if request.param == "file":
        yield lambda: ServerSecret(lambda: read_secret_file(tmp_path / "data"))
        return
    from commonplace.storage.postgres.database import open_database

    with open_database(request.getfixturevalue("postgres_url"), pool_size=4) as database:
        yield lambda: ServerSecret(lambda: read_secret_row(database))


def test_every_server_derives_the_same_key(open_secret: OpenSecret) -> None:
    first, second = open_secret(), open_secret()
    assert first.derive("console") == second.derive("console")
    assert len(first.derive("console")) == 32


def test_keys_of_different_purposes_differ(open_secret: OpenSecret) -> None:
    secret = open_secret()
    assert secret.derive("console") != secret.derive("sessions")


def test_servers_that_start_together_agree(open_secret: OpenSecret) -> None:
    with ThreadPoolExecutor(8) as threads:
        keys = {
            future.result()
            for future in [
                threads.submit(lambda: open_secret().derive("console")) for _ in range(16)
            ]
        }
    assert len(keys) == 1


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    read_secret_file(tmp_path)
    assert stat.S_IMODE((tmp_path / "server.secret").stat().st_mode) == 0o600


def test_two_installations_have_different_secrets(tmp_path: Path) -> None:
    assert read_secret_file(tmp_path / "a") != read_secret_file(tmp_path / "b")


def test_a_damaged_file_is_reported_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "server.secret").write_text("not a secret")
    with pytest.raises(CommonplaceError) as refused:
        read_secret_file(tmp_path)
    assert refused.value.code.name == "INVALID_CONFIG"
    assert "remove it" in (refused.value.hint or "")


def test_the_secret_is_read_once(tmp_path: Path) -> None:
    reads: list[int] = []

    def read() -> bytes:
        reads.append(1)
        return b"s" * 32

    secret = ServerSecret(read)
    secret.derive("console")
    secret.derive("console")
    assert len(reads) == 1
